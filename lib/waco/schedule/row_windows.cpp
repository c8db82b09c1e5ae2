// Windows of rows.
#include "waco/schedule/row_windows.hpp"

#include <algorithm>

namespace waco::schedule {
namespace {

constexpr int64_t kLineBytes = 64;

int64_t divided_up(int64_t amount, int64_t part) {
  return (amount + part - 1) / part;
}

}  // namespace

bool rows_share_lines(const Problem& problem) {
  return !output_is_sparse(problem.op) && problem.rhs * value_bytes(problem.type) < kLineBytes;
}

int64_t rows_of_thread(int64_t num_rows, int threads, int32_t slice) {
  return std::max<int64_t>(1, divided_up(num_rows, slice) / threads) * slice;
}

int64_t cluster_window(const Problem& problem, int64_t num_rows, int threads) {
  if (threads <= 1 || !rows_share_lines(problem)) return 0;
  // Whole lines of the result, and whole slices of any power of two of lanes up to so many.
  const int64_t window = divided_up(divided_up(num_rows, threads), kLineBytes) * kLineBytes;
  return window < num_rows ? window : 0;
}

int64_t window_within(int64_t rows, int64_t wanted, int32_t slice) {
  return divided_up(rows / slice, divided_up(rows, wanted)) * slice;
}

}  // namespace waco::schedule
