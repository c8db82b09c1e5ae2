// The uncommon forms of decimal numbers.
#include "waco/matrix/number.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

namespace waco::matrix {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Rewrites Fortran's exponents ("1D3", "1.5-100") as C's.
std::string with_c_exponent(std::string_view token) {
  std::string text(token);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == 'd' || c == 'D'; }, 'e');
  // Fortran drops the letter of an exponent of three digits; it never drops the point.
  const size_t sign = text.find_first_of("+-", text.find('.'));
  if (sign != std::string::npos && (is_digit(text[sign - 1]) || text[sign - 1] == '.')) {
    text.insert(sign, 1, 'e');
  }
  return text;
}

/// Whether a decimal number out of the range of doubles is too large rather than too small.
bool is_large(std::string_view token) {
  const size_t e = std::min(token.find_first_of("eE"), token.size());
  const std::string_view mantissa = token.substr(0, e);
  const size_t point = std::min(mantissa.find('.'), mantissa.size());
  const size_t leading = mantissa.find_first_of("123456789");
  if (leading == std::string_view::npos) return false;
  const int64_t magnitude = static_cast<int64_t>(point) - static_cast<int64_t>(leading);
  std::string_view exponent = token.substr(std::min(e + 1, token.size()));
  if (!exponent.empty() && exponent.front() == '+') exponent.remove_prefix(1);
  int32_t written = 0;
  const auto [end, error] = std::from_chars(exponent.data(), exponent.data() + exponent.size(), written);
  if (error == std::errc::result_out_of_range) return exponent.front() != '-';
  return written + magnitude > 0;
}

}  // namespace

NumberStatus parse_value_slowly(const char*& p, double& value) {
  const char* end = p;
  while (!ends_number(*end)) ++end;
  std::string_view token(p, static_cast<size_t>(end - p));
  if (token.size() > 1 && token.front() == '+' && token[1] != '-') token.remove_prefix(1);
  double result = 0;
  auto [stop, error] = std::from_chars(token.data(), end, result);
  const bool not_finite_word = !token.empty() && (is_digit(token.back()) || token.back() == '.');
  if (stop != end && error != std::errc::invalid_argument && not_finite_word) {
    const std::string text = with_c_exponent(token);
    const auto again = std::from_chars(text.data(), text.data() + text.size(), result);
    stop = again.ptr == text.data() + text.size() ? end : p;
    error = again.ec;
    if (error == std::errc::result_out_of_range && stop == end && is_large(text)) {
      return NumberStatus::kOutOfRange;
    }
  } else if (error == std::errc::result_out_of_range && stop == end && is_large(token)) {
    return NumberStatus::kOutOfRange;
  }
  if (stop != end || error == std::errc::invalid_argument) return NumberStatus::kNotANumber;
  if (error == std::errc::result_out_of_range) result = token.front() == '-' ? -0.0 : 0.0;
  value = result;
  p = end;
  return NumberStatus::kOk;
}

}  // namespace waco::matrix
