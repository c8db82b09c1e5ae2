// Fast parsing of the numbers in matrix files: indices, and decimal values rounded exactly.
#pragma once

#include <cstdint>
#include <cstring>
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

/// The double nearest to `mantissa` * 10^`exponent`, by way of the 64-bit mantissas of x87; false where they
/// are missing or can't tell.
inline bool round_extended(uint64_t mantissa, int64_t exponent, double& value) {
#if defined(__x86_64__) && __LDBL_MANT_DIG__ == 64
  // 10^27 = 5^27 * 2^27, and 5^27 < 2^63: exact, as `mantissa` is.
  static constexpr long double kPowers[] = {
      1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,  1e8L,  1e9L,  1e10L, 1e11L, 1e12L, 1e13L,
      1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};
  if (exponent < -27 || exponent > 27) return false;
  const auto whole = static_cast<long double>(mantissa);
  const long double rounded = exponent < 0 ? whole / kPowers[-exponent] : whole * kPowers[exponent];
  // Rounding again is harmless unless the first rounding ended halfway between two doubles.
  uint64_t bits = 0;
  std::memcpy(&bits, &rounded, sizeof bits);
  if ((bits & 0x7ff) == 0x400) return false;
  value = static_cast<double>(rounded);
  return true;
#else
  static_cast<void>(mantissa), static_cast<void>(exponent), static_cast<void>(value);
  return false;
#endif
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
  const bool exact = mantissa <= (uint64_t{1} << 53) && exponent >= -22 && exponent <= 22;
  if (!exact && num_digits > 0 && num_digits <= 19 && ends_number(*q) &&
      round_extended(mantissa, exponent, value)) {
    if (negative) value = -value;
    p = q;
    return NumberStatus::kOk;
  }
  // Both factors are exact doubles here, so that one operation rounds correctly (Clinger 1990).
  if (num_digits == 0 || num_digits > 19 || !exact || !ends_number(*q)) return parse_value_slowly(p, value);
  const auto whole = static_cast<double>(mantissa);
  const double result = exponent < 0 ? whole / kPowers[-exponent] : whole * kPowers[exponent];
  value = negative ? -result : result;
  p = q;
  return NumberStatus::kOk;
}

}  // namespace waco::matrix
