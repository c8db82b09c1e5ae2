// Fast parsing of the numbers in matrix files: indices, and decimal values rounded exactly.
#pragma once

#include <cstdint>
#include <limits>

namespace waco::matrix {

enum class NumberStatus {
  kOk,
  kNotANumber,
  kOutOfRange,  ///< an index beyond 64 bits, or a finite value beyond the largest double
};

/// Whether `c` may follow a number. The texts parsed here end in '\n', so that no parser runs over their end.
inline bool ends_number(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/// Everything the fast path of parse_value leaves: long mantissas, big exponents, signs, inf and nan.
NumberStatus parse_value_slowly(const char*& p, double& value);

/// The whole number at `p`, without a sign; `p` moves behind it.
inline NumberStatus parse_index(const char*& p, int64_t& value) {
  constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
  const char* const start = p;
  uint64_t result = 0;
  bool overflow = false;
  for (;; ++p) {
    const auto digit = static_cast<uint64_t>(static_cast<unsigned char>(*p)) - '0';
    if (digit > 9) break;
    if (p - start >= 18 && result > (kMax - digit) / 10) overflow = true;
    result = result * 10 + digit;
  }
  if (p == start || !ends_number(*p)) return NumberStatus::kNotANumber;
  if (overflow) return NumberStatus::kOutOfRange;
  value = static_cast<int64_t>(result);
  return NumberStatus::kOk;
}

/// The decimal number at `p`, `p` moves behind it. Accepts what C and Fortran write: a sign, "1.", ".5", the
/// exponents "1e3", "1E3", "1d3", "1D3" and "1.0-100", and inf, infinity and nan in any case. The result is
/// the nearest double; underflow rounds to zero or a subnormal, a finite number above the largest is
/// kOutOfRange.
inline NumberStatus parse_value(const char*& p, double& value) {
  constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const char* q = p;
  const bool negative = *q == '-';
  q += negative;
  uint64_t mantissa = 0;
  const char* const digits = q;
  const auto is_digit = [](char c) { return static_cast<unsigned char>(c - '0') <= 9; };
  for (; is_digit(*q); ++q) mantissa = mantissa * 10 + static_cast<uint64_t>(*q - '0');
  int64_t num_digits = q - digits;
  int64_t exponent = 0;
  if (*q == '.') {
    const char* const fraction = ++q;
    for (; is_digit(*q); ++q) mantissa = mantissa * 10 + static_cast<uint64_t>(*q - '0');
    exponent = fraction - q;
    num_digits -= exponent;
  }
  if ((*q | 0x20) == 'e' && num_digits > 0) {
    const char* e = q + 1;
    const bool negative_exponent = *e == '-';
    e += negative_exponent || *e == '+';
    int64_t written = 0;
    const char* const first = e;
    for (; is_digit(*e) && e - first < 4; ++e) written = written * 10 + (*e - '0');
    if (e == first) return parse_value_slowly(p, value);
    exponent += negative_exponent ? -written : written;
    q = e;
  }
  // Both factors are exact doubles here, so that one operation rounds correctly (Clinger 1990).
  const bool exact = mantissa <= (uint64_t{1} << 53) && exponent >= -22 && exponent <= 22;
  if (num_digits == 0 || num_digits > 19 || !exact || !ends_number(*q)) return parse_value_slowly(p, value);
  const auto whole = static_cast<double>(mantissa);
  const double result = exponent < 0 ? whole / kPowers[-exponent] : whole * kPowers[exponent];
  value = negative ? -result : result;
  p = q;
  return NumberStatus::kOk;
}

}  // namespace waco::matrix
