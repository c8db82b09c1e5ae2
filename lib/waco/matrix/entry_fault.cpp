// Says what is wrong with a line that isn't an entry. Slow and careful: called once for a file.
#include <vector>

#include "waco/base/error.hpp"
#include "waco/matrix/entry_parser.hpp"
#include "waco/matrix/line.hpp"
#include "waco/matrix/number.hpp"

namespace waco::matrix {
namespace {

bool is_binary(std::string_view line) {
  for (const char c : line) {
    if (static_cast<unsigned char>(c) < ' ' && c != '\t' && c != '\r') return true;
  }
  return false;
}

std::string mode_name(int order, int mode) {
  if (order == 2) return mode == 0 ? "row" : "column";
  return fmt::format("mode-{}", mode + 1);
}

/// Of a token that is an index.
int64_t index_of(std::string_view token) {
  const std::string text = std::string(token) + '\n';
  const char* p = text.c_str();
  int64_t index = 0;
  parse_index(p, index);
  return index;
}

/// Of a token that is a value.
double value_of(std::string_view token) {
  const std::string text = std::string(token) + '\n';
  const char* p = text.c_str();
  double value = 0;
  parse_value(p, value);
  return value;
}

/// The fault of one index, "" when it has none.
std::string index_fault(std::string_view token, const EntryFormat& format, int mode) {
  const std::string name = mode_name(format.order, mode);
  const int64_t dim = format.dims[static_cast<size_t>(mode)];
  const std::string text = std::string(token) + '\n';
  const char* p = text.c_str();
  int64_t index = 0;
  switch (parse_index(p, index)) {
    case NumberStatus::kNotANumber:
      return fmt::format("{} index {} is not a whole number from 1; correct the line", name,
                         in_quotes(token));
    case NumberStatus::kOutOfRange:
      return fmt::format("{} index {} does not fit in 64 bits; correct the line", name, in_quotes(token));
    case NumberStatus::kOk:
      break;
  }
  if (index == 0) return fmt::format("{} index 0: indices count from 1; add 1 to every index", name);
  if (index > dim) {
    return fmt::format("{} index {} is outside of the {} {}s declared; correct it or the size line", name,
                       index, dim, name);
  }
  return "";
}

/// The fault of the value, "" when it has none.
std::string value_fault(std::string_view token) {
  const std::string text = std::string(token) + '\n';
  const char* p = text.c_str();
  double value = 0;
  switch (parse_value(p, value)) {
    case NumberStatus::kNotANumber:
      return fmt::format("value {} is not a number; correct the line", in_quotes(token));
    case NumberStatus::kOutOfRange:
      return fmt::format("value {} is beyond the largest double; scale the matrix", in_quotes(token));
    case NumberStatus::kOk:
      break;
  }
  return "";
}

}  // namespace

std::string in_quotes(std::string_view text) {
  constexpr size_t kLongest = 40;
  std::string result = "'";
  for (const char c : text.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    result += byte < ' ' || byte >= 127 ? '?' : c;
  }
  return result + (text.size() > kLongest ? "...'" : "'");
}

std::string describe_fault(std::string_view line, const EntryFormat& format) {
  if (is_binary(line))
    return "binary data where a line of numbers is expected; the file is damaged or not text";
  const std::vector<std::string_view> tokens = words_of(line);
  const auto order = static_cast<size_t>(format.order);
  const size_t expected = order + (format.has_value ? 1 : 0);
  if (tokens.size() < expected) {
    return fmt::format("{} of {} numbers: {} is incomplete; the file is cut off or damaged", tokens.size(),
                       expected, in_quotes(line));
  }
  for (size_t mode = 0; mode < order; ++mode) {
    std::string fault = index_fault(tokens[mode], format, static_cast<int>(mode));
    if (!fault.empty()) return fault;
  }
  if (format.has_value) {
    std::string fault = value_fault(tokens[order]);
    if (!fault.empty()) return fault;
  }
  if (tokens.size() > expected) {
    return fmt::format("{} follows the {} numbers of an entry; correct the line{}",
                       in_quotes(tokens[expected]), expected,
                       format.has_value ? "" : ", or write 'real' for 'pattern' in the first line");
  }
  if (format.symmetry == Symmetry::kSkewSymmetric && index_of(tokens[0]) == index_of(tokens[1]) &&
      value_of(tokens[order]) != 0) {
    return "a diagonal entry in a skew-symmetric matrix; remove it, or write 'general' and both triangles";
  }
  return "";
}

}  // namespace waco::matrix
