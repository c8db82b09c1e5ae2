// Panels: groups of consecutive whole rows, spread over a matrix, that stand for all of it.
#pragma once

#include <cstdint>
#include <vector>

#include "waco/matrix/sparse_tensor.hpp"

namespace waco::pattern {

/// Rows [first_row, ..) of nonzeros [begin, end), cut to columns [first_col, last_col].
struct RowPanel {
  int64_t first_row = 0;
  int64_t begin = 0, end = 0;
  int64_t first_col = 0, last_col = INT64_MAX;
};

/// First rows are multiples of this, so that blocks of up to 16 rows are not cut.
inline constexpr int64_t kPanelRowStep = 48;

/// Panels of about 4096 nonzeros: all of a small matrix, 16 of a large one. Where 48 rows hold far more, a
/// panel is cut to a stripe of columns around some nonzero of it.
std::vector<RowPanel> choose_row_panels(const matrix::SparseTensor& matrix);

/// The nonzeros of a panel as keys (stamp_set.hpp): group = row - first_row, item = column.
void copy_panel(const matrix::SparseTensor& matrix, const RowPanel& panel, std::vector<uint64_t>& keys);

}  // namespace waco::pattern
