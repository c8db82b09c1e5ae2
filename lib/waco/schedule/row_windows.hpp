// Windows of rows that are clustered or sorted: parts of the rows of one thread where threads would share
// cache lines of the result.
#pragma once

#include <cstdint>

#include "waco/schedule/op.hpp"

namespace waco::schedule {

/// Whether rows of the result are shorter than a cache line. Threads that write rows in each other's lines
/// wait for each other.
bool rows_share_lines(const Problem& problem);

/// Rows of a thread of so many threads, in whole cache lines of the result and in slices of `slice` rows.
int64_t rows_of_thread(const Problem& problem, int64_t num_rows, int threads, int32_t slice);

/// In windows of how many rows so many are clustered for this many threads; 0: all of them. Rows that share
/// lines of the result stay with a thread, one window each.
int64_t cluster_window(const Problem& problem, int64_t num_rows, int threads);

/// The sort window for a wanted one of more than a row: equal parts of `rows` in slices of `slice` rows, as
/// few as are no larger than wanted.
int64_t window_within(int64_t rows, int64_t wanted, int32_t slice);

}  // namespace waco::schedule
