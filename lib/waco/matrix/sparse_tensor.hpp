// The one in-memory form of an input: sorted coordinates and values of a sparse matrix or 3-D tensor.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace waco::matrix {

/// A sparse matrix (order 2) or tensor (order 3): coordinates are 0-based, sorted lexicographically in mode
/// order (row-major for a matrix), without duplicates; explicit zeros are nonzeros.
struct SparseTensor {
  std::string name;                          ///< file name without folder and extensions
  std::vector<int64_t> dims;                 ///< [order]
  std::vector<std::vector<int64_t>> coords;  ///< [order][num_nonzeros]
  std::vector<double> values;                ///< [num_nonzeros]

  int order() const { return static_cast<int>(dims.size()); }
  int64_t num_nonzeros() const { return static_cast<int64_t>(values.size()); }
};

/// `dims` of an order up to 3, and 1 for the modes beyond it.
std::array<int64_t, 3> three_dims(const std::vector<int64_t>& dims);

/// Row pointers of mode 0: [dims[0] + 1], so that row r is [p[r], p[r + 1]). Throws
/// EnvironmentError when a file declares so many rows that they can't fit in memory.
std::vector<int64_t> row_pointers(const SparseTensor& tensor);

/// 64-bit hash of shape and pattern (not of values), as 16 hex digits; the identity of a matrix in every
/// file.
std::string pattern_hash(const SparseTensor& tensor);

/// Sorts coordinates lexicographically and sums duplicates in place, in the order they were in (so that the
/// sum does not depend on the number of threads); returns how many entries were merged. `threads` 0: as many
/// as OpenMP offers. Needs about as much memory again as the tensor, nothing when it is already sorted;
/// throws std::bad_alloc where that is not there.
int64_t sort_and_merge(SparseTensor& tensor, int threads = 0);

}  // namespace waco::matrix
