// Counting occupied cells of a sparse tensor, without sorting.
#pragma once

#include <array>
#include <cstdint>

#include "waco/matrix/sparse_tensor.hpp"

namespace waco::pattern {

/// Number of distinct tuples of coordinate / cell size over the modes whose cell size is not 0. Runs in
/// parallel. Throws TooLargeError where 128 bits can't number all cells of a tensor.
int64_t count_cells(const matrix::SparseTensor& tensor, const std::array<int64_t, 3>& cell);

}  // namespace waco::pattern
