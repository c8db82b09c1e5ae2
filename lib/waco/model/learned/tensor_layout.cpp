// Nothing in a file is trusted: every offset is checked before it is used.
#include "waco/model/learned/tensor_layout.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "waco/base/error.hpp"

namespace waco::model {
namespace {

constexpr uint64_t kLengthBytes = 8;
constexpr uint64_t kMaxHeaderBytes = 16 << 20;

std::string text_of(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

/// A tensor as the header has it; bytes are counted from the begin of the data.
struct Entry {
  std::string name;
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0;
};

class Reader {
 public:
  Reader(const std::string& source, std::string_view content) : source_(source), content_(content) {}

  TensorLayout layout() const {
    const std::string_view header = split_header();
    const std::string_view data = content_.substr(kLengthBytes + header.size());
    std::vector<Entry> entries = parse_header(header);
    std::sort(entries.begin(), entries.end(),
              [](const Entry& a, const Entry& b) { return a.begin < b.begin; });
    TensorLayout result;
    uint64_t at = 0;
    for (Entry& entry : entries) {
      if (entry.begin != at)
        fail(fmt::format("tensor {} does not begin where the one before ends", entry.name));
      if (entry.end > data.size())
        fail(fmt::format("is truncated: tensor {} ends at byte {} of {} of data", entry.name, entry.end,
                         data.size()));
      at = entry.end;
      result[entry.name] = {std::move(entry.shape), data.substr(entry.begin, entry.end - entry.begin)};
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

  const std::string& source_;
  std::string_view content_;
};

}  // namespace

TensorLayout tensor_layout(const std::string& source, std::string_view content) {
  return Reader(source, content).layout();
}

void check_shape(const std::string& source, std::string_view name, const std::vector<int64_t>& shape,
                 const std::vector<int64_t>& expected) {
  const auto fits = [](int64_t is, int64_t wanted) { return wanted == -1 || is == wanted; };
  if (!std::equal(shape.begin(), shape.end(), expected.begin(), expected.end(), fits))
    throw InputError(
        source, 0,
        fmt::format("tensor {} has shape {}, expected {}", name, text_of(shape), text_of(expected)));
}

void fail_missing(const std::string& source, std::string_view name, const std::vector<int64_t>& expected) {
  throw InputError(source, 0, fmt::format("tensor {} of shape {} is missing", name, text_of(expected)));
}

}  // namespace waco::model
