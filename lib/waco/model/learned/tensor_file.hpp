// Named float tensors in a safetensors file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace waco::model {

struct NamedTensor {
  std::vector<int64_t> shape;
  std::vector<float> data;  ///< row-major, product(shape) values
};

class TensorFile {
 public:
  /// Throws InputError when the file is not in the layout, is truncated, or holds other types than F32.
  static TensorFile read(const std::filesystem::path& file);
  /// The same of a file's content; `source` names it in errors.
  static TensorFile parse(std::string source, std::string_view content);
  /// What the file holds; the same tensors always give the same bytes.
  std::string content() const;
  /// In one step (write_file_atomically).
  void write(const std::filesystem::path& file) const;

  void set(std::string name, std::vector<int64_t> shape, std::vector<float> data);
  bool contains(std::string_view name) const;
  /// Throws InputError naming the tensor and both shapes when it is missing or has another shape; -1 in
  /// `shape` stands for any size.
  const NamedTensor& get(std::string_view name, const std::vector<int64_t>& shape) const;
  const std::map<std::string, NamedTensor, std::less<>>& tensors() const { return tensors_; }

 private:
  std::map<std::string, NamedTensor, std::less<>> tensors_;
  std::string source_ = "weights";  ///< named in errors
};

}  // namespace waco::model
