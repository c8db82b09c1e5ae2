// Arithmetic of sizes, which are not negative: what would not fit is INT64_MAX.
#pragma once

#include <cstdint>

namespace waco::schedule::saturating {

inline int64_t product(int64_t a, int64_t b) {
  int64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? INT64_MAX : result;
}

inline int64_t sum(int64_t a, int64_t b) {
  int64_t result = 0;
  return __builtin_add_overflow(a, b, &result) ? INT64_MAX : result;
}

}  // namespace waco::schedule::saturating
