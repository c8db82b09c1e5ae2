// Memoised counts over one sparsity pattern.
#include "waco/pattern/pattern_counts.hpp"

#include <omp.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "waco/base/error.hpp"
#include "waco/base/parallel.hpp"
#include "waco/pattern/cell_count.hpp"
#include "waco/pattern/divider.hpp"

namespace waco::pattern {
namespace {

constexpr int64_t kRowsTogether = 256;  ///< that a thread takes at once

/// Runs of equal coordinates of mode 0.
std::vector<int64_t> find_row_starts(const std::vector<int64_t>& rows) {
  std::vector<int64_t> starts;
  if (!rows.empty()) starts.reserve(std::min(rows.size(), static_cast<size_t>(rows.back()) + 1) + 1);
  for (size_t p = 0; p < rows.size(); ++p)
    if (p == 0 || rows[p] != rows[p - 1]) starts.push_back(static_cast<int64_t>(p));
  starts.push_back(static_cast<int64_t>(rows.size()));
  return starts;
}

/// Distinct (mode 1 / cell[1], mode 2 / cell[2]) in the nonzeros [begin, end) of one row of a 3-D tensor.
int64_t distinct_in_fiber(const matrix::SparseTensor& tensor, int64_t begin, int64_t end,
                          const CellShape& cell) {
  std::vector<std::pair<int64_t, int64_t>> cells;
  cells.reserve(static_cast<size_t>(end - begin));
  for (auto p = static_cast<size_t>(begin); p < static_cast<size_t>(end); ++p)
    cells.emplace_back(tensor.coords[1][p] / cell[1], tensor.coords[2][p] / cell[2]);
  std::sort(cells.begin(), cells.end());
  return std::unique(cells.begin(), cells.end()) - cells.begin();
}

/// Distinct column / cell of a matrix row: its columns are sorted.
template <typename Divide>
int64_t distinct_in_row(const int64_t* columns, int64_t begin, int64_t end, Divide divide) {
  int64_t distinct = 1;
  for (int64_t p = begin + 1; p < end; ++p) distinct += divide(columns[p]) != divide(columns[p - 1]);
  return distinct;
}

/// Sum of the slice widths of one window: every `lanes`-th of its lengths in descending order. `lengths` is
/// scratch.
int64_t window_width(std::vector<int64_t>& lengths, int64_t lanes, std::vector<int64_t>& histogram) {
  const int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  const auto count = static_cast<int64_t>(lengths.size());
  int64_t width = 0;
  if (longest > 4 * count) {
    std::sort(lengths.begin(), lengths.end(), std::greater<>());
    for (int64_t rank = 0; rank < count; rank += lanes) width += lengths[static_cast<size_t>(rank)];
    return width;
  }
  histogram.assign(static_cast<size_t>(longest) + 1, 0);
  for (const int64_t length : lengths) ++histogram[static_cast<size_t>(length)];
  int64_t rank = 0;
  for (int64_t length = longest; length > 0; --length) {
    const int64_t rows = histogram[static_cast<size_t>(length)];
    width += length * (num_cells_along(rank + rows, lanes) - num_cells_along(rank, lanes));
    rank += rows;
  }
  return width;
}

}  // namespace

PatternCounts::PatternCounts(const matrix::SparseTensor& tensor) : tensor_(tensor) {
  WACO_ASSERT(tensor.order() == 2 || tensor.order() == 3);
}

int64_t PatternCounts::num_cells(const CellShape& cell) const {
  const std::lock_guard lock(mutex_);
  const auto known = cells_.find(cell);
  if (known != cells_.end()) return known->second;
  const bool whole_rows = cell == CellShape{1, 0, 0};
  const int64_t count =
      whole_rows ? static_cast<int64_t>(row_starts().size()) - 1 : count_cells(tensor_, cell);
  cells_.emplace(cell, count);
  return count;
}

const std::vector<int64_t>& PatternCounts::row_starts() const {
  const std::lock_guard lock(mutex_);
  if (row_starts_.empty()) row_starts_ = find_row_starts(tensor_.coords[0]);
  return row_starts_;
}

std::shared_ptr<const std::vector<int64_t>> PatternCounts::row_slots(const CellShape& requested) const {
  const std::lock_guard lock(mutex_);
  CellShape cell = requested;
  cell[0] = 0;
  if (slots_ && slots_cell_ == cell) return slots_;
  for (int mode = 1; mode < tensor_.order(); ++mode) WACO_ASSERT(cell[static_cast<size_t>(mode)] > 0);
  const std::vector<int64_t>& starts = row_starts();
  const auto num_rows = static_cast<int64_t>(starts.size()) - 1;
  auto slots = std::make_shared<std::vector<int64_t>>(static_cast<size_t>(num_rows));
  const bool whole = cell[1] == 1 && (tensor_.order() == 2 || cell[2] == 1);
  const int64_t* columns = tensor_.coords[1].data();
  with_divider(cell[1], dim(1), [&](auto divide) {
    for_each_parallel(num_cells_along(num_rows, kRowsTogether), omp_get_max_threads(), [&](int64_t block) {
      const int64_t block_end = std::min(num_rows, (block + 1) * kRowsTogether);
      for (int64_t r = block * kRowsTogether; r < block_end; ++r) {
        const int64_t begin = starts[static_cast<size_t>(r)];
        const int64_t end = starts[static_cast<size_t>(r) + 1];
        (*slots)[static_cast<size_t>(r)] = whole ? end - begin
                                           : tensor_.order() == 2
                                               ? distinct_in_row(columns, begin, end, divide)
                                               : distinct_in_fiber(tensor_, begin, end, cell);
      }
    });
  });
  slots_cell_ = cell;
  slots_ = std::move(slots);
  return slots_;
}

SliceWidths PatternCounts::slice_widths(int64_t lanes, int64_t window, const CellShape& cell) const {
  WACO_ASSERT(lanes > 0 && window > 0 && (window == 1 || window % lanes == 0));
  const std::lock_guard lock(mutex_);
  const std::array<int64_t, 4> key{lanes, window, cell[1], cell[2]};
  const auto known = slices_.find(key);
  if (known != slices_.end()) return known->second;
  return slices_.emplace(key, compute_slice_widths(lanes, window, cell)).first->second;
}

SliceWidths PatternCounts::compute_slice_widths(int64_t lanes, int64_t window, const CellShape& cell) const {
  SliceWidths widths;
  widths.num_slices = num_cells_along(dim(0), lanes);
  const std::shared_ptr<const std::vector<int64_t>> slots = row_slots(cell);
  const std::vector<int64_t>& starts = row_starts();
  const int64_t group_rows = window == 1 ? lanes : window;  // without sorting a slice is its own window
  std::vector<int64_t> lengths, histogram;
  for (size_t r = 0; r < slots->size();) {
    const int64_t group = tensor_.coords[0][static_cast<size_t>(starts[r])] / group_rows;
    lengths.clear();
    int64_t longest = 0;
    for (; r < slots->size() && tensor_.coords[0][static_cast<size_t>(starts[r])] / group_rows == group;
         ++r) {
      longest = std::max(longest, (*slots)[r]);
      if (window != 1) lengths.push_back((*slots)[r]);
    }
    widths.max_width = std::max(widths.max_width, longest);
    widths.total_width += window == 1 ? longest : window_width(lengths, lanes, histogram);
  }
  return widths;
}

int64_t PatternCounts::longest_row() const {
  const std::lock_guard lock(mutex_);
  if (longest_row_ >= 0) return longest_row_;
  const std::vector<int64_t>& starts = row_starts();
  longest_row_ = 0;
  for (size_t r = 0; r + 1 < starts.size(); ++r)
    longest_row_ = std::max(longest_row_, starts[r + 1] - starts[r]);
  return longest_row_;
}

}  // namespace waco::pattern
