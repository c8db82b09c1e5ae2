// Large tensors of a safetensors file, used where they stand in it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "waco/base/mapped_file.hpp"
#include "waco/model/learned/tensor_layout.hpp"

namespace waco::model {

/// Copies share the file.
class TensorViews {
 public:
  /// `source` names the file in errors. Throws InputError as TensorFile::read does, and when a tensor does
  /// not begin where a float may.
  TensorViews(std::string source, MappedFile file);

  /// Values, row-major, valid as long as a copy of this lives. Throws InputError as TensorFile::get does.
  std::span<const float> get(std::string_view name, const std::vector<int64_t>& shape) const;

 private:
  std::string source_;
  MappedFile file_;
  TensorLayout layout_;
};

}  // namespace waco::model
