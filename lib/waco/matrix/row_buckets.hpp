// How entries are dealt to buckets of neighbouring rows, each sorted by itself while it is in cache.
#pragma once

#include <algorithm>
#include <cstdint>

namespace waco::matrix {

/// Fewer entries than this are sorted by one thread.
inline constexpr int64_t kSerialBelow = int64_t{1} << 14;

/// Of 2^shift rows each.
struct RowBuckets {
  int shift = 0;  ///< row >> shift is its bucket
  int64_t count = 1;

  /// For so many entries, about 2^15 a bucket.
  RowBuckets(int64_t num_rows, int64_t num_entries, int threads) {
    constexpr int64_t kEntriesPerBucket = int64_t{1} << 15;
    constexpr int64_t kMostBuckets = 1024;
    const int64_t least = threads > 1 ? 4 * threads : 1;
    const int64_t wanted = std::min(kMostBuckets, std::max(num_entries / kEntriesPerBucket, least));
    const int64_t last_row = num_rows - 1;
    while (last_row >> shift >= wanted) ++shift;
    count = (last_row >> shift) + 1;
  }

  /// Whether a bucket's rows are few enough beside its entries to be counted one by one.
  bool has_few_rows(int64_t num_entries) const {
    return shift < 62 && int64_t{1} << shift <= 4 * num_entries + 64;
  }
};

}  // namespace waco::matrix
