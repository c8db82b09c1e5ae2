// The safetensors layout: length, JSON header, data. Nothing in a file is trusted: every offset is checked
// before it is used.
#include "waco/model/learned/tensor_file.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "waco/base/error.hpp"
#include "waco/base/files.hpp"

namespace waco::model {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors are little-endian");

constexpr uint64_t kLengthBytes = 8;
constexpr uint64_t kMaxHeaderBytes = 16 << 20;
constexpr size_t kAlignment = 8;  // of the data, by spaces after the header

std::string text_of(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

/// Where a tensor's values stand in the data.
struct Entry {
  std::string name;
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0;  ///< bytes
};

class Reader {
 public:
  Reader(std::string source, std::string_view content) : source_(std::move(source)), content_(content) {}

  std::map<std::string, NamedTensor, std::less<>> tensors() const {
    const std::string_view header = split_header();
    const std::string_view data = content_.substr(kLengthBytes + header.size());
    std::vector<Entry> entries = parse_header(header);
    std::sort(entries.begin(), entries.end(),
              [](const Entry& a, const Entry& b) { return a.begin < b.begin; });
    std::map<std::string, NamedTensor, std::less<>> result;
    uint64_t at = 0;
    for (Entry& entry : entries) {
      if (entry.begin != at)
        fail(fmt::format("tensor {} does not begin where the one before ends", entry.name));
      if (entry.end > data.size())
        fail(fmt::format("is truncated: tensor {} ends at byte {} of {} of data", entry.name, entry.end,
                         data.size()));
      at = entry.end;
      NamedTensor& tensor = result[entry.name];
      tensor.shape = std::move(entry.shape);
      tensor.data.resize((entry.end - entry.begin) / sizeof(float));
      if (!tensor.data.empty())
        std::memcpy(tensor.data.data(), data.data() + entry.begin, entry.end - entry.begin);
    }
    if (at != data.size()) fail(fmt::format("has {} bytes that belong to no tensor", data.size() - at));
    return result;
  }

 private:
  [[noreturn]] void fail(const std::string& message) const { throw InputError(source_, 0, message); }

  std::string_view split_header() const {
    uint64_t length = 0;
    if (content_.size() < kLengthBytes) fail("is truncated: not a safetensors file");
    std::memcpy(&length, content_.data(), sizeof(length));
    if (length > kMaxHeaderBytes || length > content_.size() - kLengthBytes)
      fail(fmt::format("its header is said to have {} bytes: truncated, or not a safetensors file", length));
    return content_.substr(kLengthBytes, length);
  }

  std::vector<Entry> parse_header(std::string_view header) const {
    const nlohmann::json json = nlohmann::json::parse(header, nullptr, false);
    if (!json.is_object()) fail("its header is not a JSON object; not a safetensors file");
    std::vector<Entry> entries;
    for (const auto& [name, value] : json.items()) {
      if (name == "__metadata__") continue;
      try {
        entries.push_back(parse_entry(name, value));
      } catch (const nlohmann::json::exception&) {
        fail(fmt::format("tensor {}: its dtype, shape or data_offsets are missing or malformed", name));
      }
    }
    return entries;
  }

  Entry parse_entry(const std::string& name, const nlohmann::json& value) const {
    if (value.at("dtype").get<std::string>() != "F32")
      fail(fmt::format("tensor {} is of type {}; only F32 is read", name,
                       value.at("dtype").get<std::string>()));
    Entry entry{name, {}, 0, 0};
    const auto& offsets = value.at("data_offsets");
    if (offsets.size() != 2 || !offsets[0].is_number_unsigned() || !offsets[1].is_number_unsigned())
      fail(fmt::format("tensor {}: data_offsets are not two byte offsets", name));
    entry.begin = offsets[0].get<uint64_t>();
    entry.end = offsets[1].get<uint64_t>();
    if (!value.at("shape").is_array()) fail(fmt::format("tensor {}: its shape is not a list", name));
    uint64_t bytes = sizeof(float);
    for (const auto& dim : value.at("shape")) {
      uint64_t product = 0;
      if (!dim.is_number_unsigned() || __builtin_mul_overflow(bytes, dim.get<uint64_t>(), &product) ||
          dim.get<uint64_t>() > INT64_MAX)
        fail(fmt::format("tensor {}: impossible shape", name));
      bytes = product;
      entry.shape.push_back(dim.get<int64_t>());
    }
    if (entry.begin > entry.end || entry.end - entry.begin != bytes)
      fail(fmt::format("tensor {}: shape {} needs {} bytes, data_offsets give [{}, {})", name,
                       text_of(entry.shape), bytes, entry.begin, entry.end));
    return entry;
  }

  std::string source_;
  std::string_view content_;
};

}  // namespace

TensorFile TensorFile::read(const std::filesystem::path& file) {
  TensorFile result;
  result.source_ = file.string();
  std::error_code error;
  if (std::filesystem::is_directory(file, error))
    throw InputError(result.source_, 0, "is a folder, not weights");
  std::string content;
  try {
    content = read_file(file);
  } catch (const EnvironmentError& unreadable) {
    throw Error(ExitCode::kInput, unreadable.what());  // the message names the file
  }
  return parse(std::move(result.source_), content);
}

TensorFile TensorFile::parse(std::string source, std::string_view content) {
  TensorFile result;
  result.source_ = std::move(source);
  result.tensors_ = Reader(result.source_, content).tensors();
  return result;
}

std::vector<float> TensorFile::take(std::string_view name, const std::vector<int64_t>& shape) {
  get(name, shape);
  return std::move(tensors_.find(name)->second.data);
}

void TensorFile::write(const std::filesystem::path& file) const {
  nlohmann::json header = nlohmann::json::object();
  uint64_t at = 0;
  for (const auto& [name, tensor] : tensors_) {
    const uint64_t bytes = tensor.data.size() * sizeof(float);
    header[name] = {{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {at, at + bytes}}};
    at += bytes;
  }
  std::string text = header.dump();
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  const uint64_t length = text.size();
  std::string content(kLengthBytes, '\0');
  std::memcpy(content.data(), &length, sizeof(length));
  content += text;
  content.reserve(content.size() + at);
  for (const auto& [name, tensor] : tensors_)
    content.append(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size() * sizeof(float));
  write_file_atomically(file, content);
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
  if (at == tensors_.end())
    throw InputError(source_, 0, fmt::format("tensor {} of shape {} is missing", name, text_of(shape)));
  const std::vector<int64_t>& found = at->second.shape;
  const auto fits = [](int64_t is, int64_t wanted) { return wanted == -1 || is == wanted; };
  if (!std::equal(found.begin(), found.end(), shape.begin(), shape.end(), fits))
    throw InputError(
        source_, 0, fmt::format("tensor {} has shape {}, expected {}", name, text_of(found), text_of(shape)));
  return at->second;
}

}  // namespace waco::model
