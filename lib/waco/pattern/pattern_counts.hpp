// What cost models and storage prediction ask of a sparsity pattern: occupied cells, rows, slice widths.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "waco/matrix/sparse_tensor.hpp"

namespace waco::pattern {

/// Size of a cell along each mode; 0 leaves the mode out, as if the tensor were projected along it. Modes
/// beyond the tensor's order must be 0.
using CellShape = std::array<int64_t, 3>;

/// Widths of the slices of an ELL or SELL-C-sigma format, in slots.
struct SliceWidths {
  int64_t num_slices = 0;
  int64_t total_width = 0;  ///< sum over slices of the longest lane
  int64_t max_width = 0;    ///< longest lane of all
  bool operator==(const SliceWidths&) const = default;
};

/// Counts over one pattern, each computed on first use (in parallel) and kept. Safe to ask from several
/// threads; keeps a reference to the tensor, which must outlive it and not change.
class PatternCounts {
 public:
  explicit PatternCounts(const matrix::SparseTensor& tensor);

  const matrix::SparseTensor& tensor() const { return tensor_; }
  int64_t num_nonzeros() const { return tensor_.num_nonzeros(); }
  int64_t dim(int mode) const { return tensor_.dims[static_cast<size_t>(mode)]; }

  /// Number of cells with at least one nonzero: distinct tuples of coordinate / cell size over the modes that
  /// are not 0. {1, 0} counts nonempty rows, {0, 1} nonempty columns, {3, 3} occupied 3 x 3 blocks, {w, 1}
  /// the columns touched by each panel of w rows, summed over the panels. 1 when all modes are left out.
  int64_t num_cells(const CellShape& cell) const;

  /// First nonzero of each nonempty row (mode 0), then num_nonzeros: [nonempty rows + 1].
  const std::vector<int64_t>& row_starts() const;

  /// Slots each nonempty row needs when the modes after the first are cut by `cell` (cell[0] is ignored):
  /// [nonempty rows], in row order.
  std::shared_ptr<const std::vector<int64_t>> row_slots(const CellShape& cell) const;

  /// Widths when rows are cut into slices of `lanes`, after sorting inside windows of `window` rows by slots,
  /// longest first (1: none). `window` must be 1 or a multiple of `lanes`; `cell` as for row_slots.
  SliceWidths slice_widths(int64_t lanes, int64_t window, const CellShape& cell) const;

  /// Nonzeros of the longest row.
  int64_t longest_row() const;

 private:
  SliceWidths compute_slice_widths(int64_t lanes, int64_t window, const CellShape& cell) const;

  const matrix::SparseTensor& tensor_;
  mutable std::recursive_mutex mutex_;  ///< guards everything below
  mutable std::vector<int64_t> row_starts_;
  mutable std::map<CellShape, int64_t> cells_;
  mutable std::map<std::array<int64_t, 4>, SliceWidths> slices_;  ///< by lanes, window, cell[1], cell[2]
  mutable CellShape slots_cell_{};
  mutable std::shared_ptr<const std::vector<int64_t>> slots_;  ///< the latest row_slots, of slots_cell_
  mutable int64_t longest_row_ = -1;                           ///< not known yet
};

}  // namespace waco::pattern
