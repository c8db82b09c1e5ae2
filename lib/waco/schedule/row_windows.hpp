// Windows of rows that are clustered or sorted: about a thread's rows, or parts of these, where threads would
// share cache lines of the result.
#pragma once

#include <cstdint>

#include "waco/schedule/op.hpp"

namespace waco::schedule {

/// Whether rows of the result are shorter than a cache line. Threads that write rows in each other's lines
/// wait for each other.
bool rows_share_lines(const Problem& problem);

/// Rows of the first thread of so many where static ranges are of slices of `slice` rows, one slice at least.
int64_t rows_of_thread(int64_t num_rows, int threads, int32_t slice);

/// In windows of how many rows so many are clustered for this many threads; 0: all of them. Rows that share
/// lines of the result stay with a thread, one window each.
int64_t cluster_window(const Problem& problem, int64_t num_rows, int threads);

/// The sort window for a wanted one of more than a row: `rows`, a multiple of the slice, in as few parts as
/// are no larger than wanted, as equal as slices of `slice` rows allow.
int64_t window_within(int64_t rows, int64_t wanted, int32_t slice);

}  // namespace waco::schedule
