// Summary statistics of a sparsity pattern: row lengths and where the columns of a row lie.
#pragma once

#include <cstdint>
#include <vector>

#include "waco/matrix/sparse_tensor.hpp"

namespace waco::pattern {

/// Nonzeros per row (mode 0), empty rows included.
struct RowStatistics {
  int64_t num_rows = 0;
  int64_t num_empty = 0;
  int64_t min = 0;
  int64_t max = 0;
  double mean = 0;
  double variance = 0;   ///< of the population
  double gini = 0;       ///< 0: all rows equally long; near 1: all nonzeros in few rows
  double imbalance = 0;  ///< max / mean; 0 for an empty pattern
};

/// Where nonzeros lie. Columns are coordinates of mode 1; distances in columns.
struct Locality {
  double mean_gap = 0;           ///< between neighbours in a row
  double adjacent_share = 0;     ///< of the nonzeros, those whose left neighbour's column is one less
  double mean_row_span = 0;      ///< last - first + 1 column of a nonempty row
  int64_t bandwidth = 0;         ///< largest |column - row|
  double mean_diagonal_gap = 0;  ///< mean |column - row|
};

/// `row_starts`: first nonzero of each nonempty row, then the number of nonzeros.
RowStatistics compute_row_statistics(const matrix::SparseTensor& tensor,
                                     const std::vector<int64_t>& row_starts);
Locality compute_locality(const matrix::SparseTensor& tensor, const std::vector<int64_t>& row_starts);

}  // namespace waco::pattern
