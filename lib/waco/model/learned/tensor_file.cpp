// Tensors in memory, from and to the safetensors layout.
#include "waco/model/learned/tensor_file.hpp"

#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "waco/base/error.hpp"
#include "waco/base/file_replacement.hpp"
#include "waco/base/mapped_file.hpp"
#include "waco/model/learned/tensor_layout.hpp"

namespace waco::model {
namespace {

/// Of the data in the file, by spaces after the header: a mapped file is used where it is.
constexpr size_t kAlignment = 64;

}  // namespace

TensorFile TensorFile::read(const std::filesystem::path& file) {
  TensorFile result;
  result.source_ = file.string();
  std::error_code error;
  if (std::filesystem::is_directory(file, error))
    throw InputError(result.source_, 0, "is a folder, not weights");
  MappedFile content;
  try {
    content = MappedFile(file);
  } catch (const EnvironmentError& unreadable) {
    throw Error(ExitCode::kInput, unreadable.what());  // the message names the file
  }
  return parse(std::move(result.source_), content.content());
}

TensorFile TensorFile::parse(std::string source, std::string_view content) {
  TensorFile result;
  result.source_ = std::move(source);
  for (auto& [name, place] : tensor_layout(result.source_, content)) {
    NamedTensor& tensor = result.tensors_[name];
    tensor.shape = std::move(place.shape);
    tensor.data.resize(place.bytes.size() / sizeof(float));
    if (!tensor.data.empty()) std::memcpy(tensor.data.data(), place.bytes.data(), place.bytes.size());
  }
  return result;
}

std::string TensorFile::content() const {
  nlohmann::json header = nlohmann::json::object();
  uint64_t at = 0;
  for (const auto& [name, tensor] : tensors_) {
    const uint64_t bytes = tensor.data.size() * sizeof(float);
    header[name] = {{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {at, at + bytes}}};
    at += bytes;
  }
  std::string text = header.dump();
  text.append((kAlignment - (sizeof(uint64_t) + text.size()) % kAlignment) % kAlignment, ' ');
  const uint64_t length = text.size();
  std::string content(sizeof(length), '\0');
  std::memcpy(content.data(), &length, sizeof(length));
  content += text;
  content.reserve(content.size() + at);
  for (const auto& [name, tensor] : tensors_)
    content.append(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size() * sizeof(float));
  return content;
}

void TensorFile::write(const std::filesystem::path& file) const {
  write_file_atomically(file, content());
}

void TensorFile::set(std::string name, std::vector<int64_t> shape, std::vector<float> data) {
  int64_t size = 1;
  for (const int64_t dim : shape) size *= dim;
  WACO_ASSERT(size == static_cast<int64_t>(data.size()));
  tensors_[std::move(name)] = {std::move(shape), std::move(data)};
}

bool TensorFile::contains(std::string_view name) const {
  return tensors_.find(name) != tensors_.end();
}

const NamedTensor& TensorFile::get(std::string_view name, const std::vector<int64_t>& shape) const {
  const auto at = tensors_.find(name);
  if (at == tensors_.end()) fail_missing(source_, name, shape);
  check_shape(source_, name, at->second.shape, shape);
  return at->second;
}

}  // namespace waco::model
