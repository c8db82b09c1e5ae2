// Division of many coordinates by one cell size, without a division instruction where that is exact.
#pragma once

#include <bit>
#include <cstdint>

namespace waco::pattern {

struct ShiftDivider {
  int shift;
  int64_t operator()(int64_t x) const { return x >> shift; }
};

/// Multiplication by floor(2^64 / d) + 1: exact for x and d below 2^32 (Lemire, Kaser, Kurz 2019).
struct ReciprocalDivider {
  uint64_t reciprocal;
  int64_t operator()(int64_t x) const {
    return static_cast<int64_t>((static_cast<unsigned __int128>(static_cast<uint64_t>(x)) * reciprocal) >>
                                64);
  }
};

struct PlainDivider {
  int64_t divisor;
  int64_t operator()(int64_t x) const { return x / divisor; }
};

/// Calls `use` with the cheapest exact divider of coordinates in [0, dim) by `divisor` > 0, and returns its
/// result.
template <typename Use>
auto with_divider(int64_t divisor, int64_t dim, Use use) {
  const auto unsigned_divisor = static_cast<uint64_t>(divisor);
  if (std::has_single_bit(unsigned_divisor)) return use(ShiftDivider{std::countr_zero(unsigned_divisor)});
  if (dim <= INT64_C(0xffffffff) && divisor <= INT64_C(0xffffffff))
    return use(ReciprocalDivider{UINT64_MAX / unsigned_divisor + 1});
  return use(PlainDivider{divisor});
}

/// Cells of size `divisor` over `dim` coordinates.
inline int64_t num_cells_along(int64_t dim, int64_t divisor) {
  return dim / divisor + (dim % divisor != 0);
}

}  // namespace waco::pattern
