// How far the nonzeros of a matrix fill short pieces of its diagonals.
#pragma once

#include <cstdint>

#include "waco/matrix/sparse_tensor.hpp"

namespace waco::pattern {

/// Values per nonzero where every group of `rows` rows stores each diagonal that has a nonzero there: 1 (full
/// diagonals) to `rows`. Estimated from groups drawn all over the matrix, at least 64 of them with some ten
/// thousand nonzeros; `rows` where these have none.
double fill_of_diagonals(const matrix::SparseTensor& matrix, int64_t rows);

}  // namespace waco::pattern
