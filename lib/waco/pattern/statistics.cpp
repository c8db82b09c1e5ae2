// Row-length statistics from a histogram of lengths, and column distances in one pass.
#include "waco/pattern/statistics.hpp"

#include <algorithm>
#include <cstdlib>

namespace waco::pattern {
namespace {

/// Number of rows of each length: [longest + 1].
std::vector<int64_t> length_histogram(const std::vector<int64_t>& row_starts, int64_t num_empty) {
  int64_t longest = 0;
  for (size_t r = 0; r + 1 < row_starts.size(); ++r)
    longest = std::max(longest, row_starts[r + 1] - row_starts[r]);
  std::vector<int64_t> rows(static_cast<size_t>(longest) + 1, 0);
  rows[0] = num_empty;
  for (size_t r = 0; r + 1 < row_starts.size(); ++r)
    ++rows[static_cast<size_t>(row_starts[r + 1] - row_starts[r])];
  return rows;
}

/// Gini coefficient of the lengths: 2 * sum(rank * length) / (n * sum) - (n + 1) / n, ranks from 1 in
/// ascending order.
double gini_of(const std::vector<int64_t>& histogram, double num_rows, double num_nonzeros) {
  if (num_rows == 0 || num_nonzeros == 0) return 0;
  double weighted = 0;
  double ranked = 0;
  for (size_t length = 0; length < histogram.size(); ++length) {
    const auto rows = static_cast<double>(histogram[length]);
    weighted += static_cast<double>(length) * rows * (ranked + (rows + 1) / 2);
    ranked += rows;
  }
  return 2 * weighted / (num_rows * num_nonzeros) - (num_rows + 1) / num_rows;
}

}  // namespace

RowStatistics compute_row_statistics(const matrix::SparseTensor& tensor,
                                     const std::vector<int64_t>& row_starts) {
  RowStatistics result;
  result.num_rows = tensor.dims[0];
  result.num_empty = result.num_rows - (static_cast<int64_t>(row_starts.size()) - 1);
  if (result.num_rows == 0) return result;
  const std::vector<int64_t> histogram = length_histogram(row_starts, result.num_empty);
  const auto num_rows = static_cast<double>(result.num_rows);
  const auto num_nonzeros = static_cast<double>(tensor.num_nonzeros());
  result.mean = num_nonzeros / num_rows;
  result.max = static_cast<int64_t>(histogram.size()) - 1;
  result.min = std::find_if(histogram.begin(), histogram.end(), [](int64_t rows) { return rows > 0; }) -
               histogram.begin();
  for (size_t length = 0; length < histogram.size(); ++length) {
    const double deviation = static_cast<double>(length) - result.mean;
    result.variance += static_cast<double>(histogram[length]) * deviation * deviation / num_rows;
  }
  result.gini = gini_of(histogram, num_rows, num_nonzeros);
  result.imbalance = result.mean > 0 ? static_cast<double>(result.max) / result.mean : 0;
  return result;
}

Locality compute_locality(const matrix::SparseTensor& tensor, const std::vector<int64_t>& row_starts) {
  Locality result;
  const std::vector<int64_t>& rows = tensor.coords[0];
  const std::vector<int64_t>& columns = tensor.coords[1];
  const auto num_nonempty = static_cast<int64_t>(row_starts.size()) - 1;
  if (num_nonempty == 0) return result;
  double gaps = 0, spans = 0, diagonal = 0;
  int64_t adjacent = 0, bandwidth = 0;
#pragma omp parallel for reduction(+ : gaps, spans, diagonal, adjacent) reduction(max : bandwidth)
  for (int64_t r = 0; r < num_nonempty; ++r) {
    const int64_t begin = row_starts[static_cast<size_t>(r)];
    const int64_t end = row_starts[static_cast<size_t>(r) + 1];
    int64_t row_gaps = 0;
    for (int64_t p = begin; p < end; ++p) {
      const int64_t column = columns[static_cast<size_t>(p)];
      const int64_t off = std::abs(column - rows[static_cast<size_t>(p)]);
      diagonal += static_cast<double>(off);
      bandwidth = std::max(bandwidth, off);
      if (p == begin) continue;
      const int64_t gap = column - columns[static_cast<size_t>(p) - 1];
      row_gaps += gap;
      adjacent += gap == 1;
    }
    gaps += static_cast<double>(row_gaps);
    spans += static_cast<double>(row_gaps + 1);
  }
  const int64_t nnz = tensor.num_nonzeros();
  const int64_t neighbours = nnz - num_nonempty;
  result.mean_gap = neighbours > 0 ? gaps / static_cast<double>(neighbours) : 0;
  result.adjacent_share = static_cast<double>(adjacent) / static_cast<double>(nnz);
  result.mean_row_span = spans / static_cast<double>(num_nonempty);
  result.bandwidth = bandwidth;
  result.mean_diagonal_gap = diagonal / static_cast<double>(nnz);
  return result;
}

}  // namespace waco::pattern
