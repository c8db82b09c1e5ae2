// Matrices as formats that arrange their nonzeros store them.
#pragma once

#include "waco/matrix/sparse_tensor.hpp"
#include "waco/schedule/super_schedule.hpp"

namespace waco::codegen {

/// To be raised when the order of the rows of any matrix changes.
inline constexpr int kClusteringVersion = 2;

/// Throws TooLargeError for more rows, columns or nonzeros than can be clustered.
void check_can_be_clustered(const matrix::SparseTensor& matrix);

/// The matrix whose rows are those of `matrix` in the order in which clustered formats of this cluster_window
/// store them: what is counted of the pattern in it holds for clustered formats of `matrix`. Throws
/// TooLargeError when memory runs out or for more than schedule::kMostClustered.
matrix::SparseTensor with_clustered_rows(const matrix::SparseTensor& matrix, int64_t window, int threads);

/// The matrix [rows, rows + columns - 1] whose columns are the diagonals of `matrix`, that through the lower
/// left corner first: the same for skewed formats. Throws TooLargeError when memory runs out.
matrix::SparseTensor with_skewed_columns(const matrix::SparseTensor& matrix, int threads);

/// One of these, or a copy of the matrix as it is given: as the format stores it.
matrix::SparseTensor arranged(const matrix::SparseTensor& matrix, const schedule::FormatSchedule& format,
                              int threads);

}  // namespace waco::codegen
