// Calls the packer's clustering, and moves the rows; moves columns.
#include "waco/codegen/arranged.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "kernels-templates/pack_cluster.hpp"
#include "waco/base/error.hpp"
#include "waco/base/parallel.hpp"
#include "waco/schedule/limits.hpp"
#include "waco/schedule/loop_nest.hpp"

namespace waco::codegen {

static_assert(schedule::kMostClustered == kWacoMostClustered);

void check_can_be_clustered(const matrix::SparseTensor& matrix) {
  if (waco_too_many_to_cluster(matrix.dims.data(), matrix.num_nonzeros()))
    throw TooLargeError(
        fmt::format("{}: the rows can't be clustered: of rows, columns or nonzeros there are more than {}",
                    matrix.name, kWacoMostClustered));
}

namespace {

matrix::SparseTensor cluster_rows(const matrix::SparseTensor& matrix, int64_t window, int threads) {
  WACO_ASSERT(matrix.order() == 2);
  const int64_t rows = matrix.dims[0];
  check_can_be_clustered(matrix);
  waco_packer packer{};
  packer.dims = matrix.dims.data();
  packer.nnz = matrix.num_nonzeros();
  packer.coords[0] = matrix.coords[0].data();
  packer.coords[1] = matrix.coords[1].data();
  packer.sorted_modes = 2;
  std::vector<int32_t> order(static_cast<size_t>(rows));
  if (!waco_cluster_rows(&packer, window, order.data()))
    throw TooLargeError(fmt::format("{}: not enough memory to cluster the rows", matrix.name));
  const std::vector<int64_t> begins = matrix::row_pointers(matrix);
  std::vector<int64_t> begin_of(static_cast<size_t>(rows));  // of the rows in their new order
  int64_t next = 0;
  for (size_t n = 0; n < order.size(); ++n) {
    const auto row = static_cast<size_t>(order[n]);
    begin_of[n] = next;
    next += begins[row + 1] - begins[row];
  }
  matrix::SparseTensor result;
  result.name = matrix.name;
  result.dims = matrix.dims;
  result.coords.assign(2, std::vector<int64_t>(matrix.coords[0].size()));
  result.values.resize(matrix.values.size());
  constexpr int64_t kRowsAtATime = 1024;
  for_each_parallel((rows + kRowsAtATime - 1) / kRowsAtATime, threads, [&](int64_t part) {
    for (int64_t n = part * kRowsAtATime; n < std::min(rows, (part + 1) * kRowsAtATime); ++n) {
      const auto row = static_cast<size_t>(order[static_cast<size_t>(n)]);
      const int64_t from = begins[row], count = begins[row + 1] - from, to = begin_of[static_cast<size_t>(n)];
      std::fill_n(result.coords[0].begin() + to, count, n);
      std::copy_n(matrix.coords[1].begin() + from, count, result.coords[1].begin() + to);
      std::copy_n(matrix.values.begin() + from, count, result.values.begin() + to);
    }
  });
  return result;
}

matrix::SparseTensor skew_columns(const matrix::SparseTensor& matrix, int threads) {
  WACO_ASSERT(matrix.order() == 2);
  const int64_t rows = matrix.dims[0];
  const auto dims = schedule::arranged_dims(schedule::Arrangement::kSkewed, matrix::three_dims(matrix.dims));
  matrix::SparseTensor result;
  result.name = matrix.name;
  result.dims = {dims[0], dims[1]};
  result.coords.resize(2);
  // New memory takes longest: each thread touches that of its own arrays.
  for_each_parallel(3, threads, [&](int64_t array) {
    if (array == 0) {
      result.coords[0] = matrix.coords[0];
    } else if (array == 1) {
      result.coords[1].reserve(matrix.coords[1].size());
      for (size_t n = 0; n < matrix.coords[1].size(); ++n)
        result.coords[1].push_back(matrix.coords[1][n] - matrix.coords[0][n] + rows - 1);
    } else {
      result.values = matrix.values;
    }
  });
  return result;
}

}  // namespace

matrix::SparseTensor with_clustered_rows(const matrix::SparseTensor& matrix, int64_t window, int threads) {
  try {
    return cluster_rows(matrix, window, threads);
  } catch (const std::bad_alloc&) {
    throw TooLargeError(fmt::format("{}: not enough memory to cluster the rows", matrix.name));
  }
}

matrix::SparseTensor with_skewed_columns(const matrix::SparseTensor& matrix, int threads) {
  try {
    return skew_columns(matrix, threads);
  } catch (const std::bad_alloc&) {
    throw TooLargeError(fmt::format("{}: not enough memory to skew the columns", matrix.name));
  }
}

matrix::SparseTensor arranged(const matrix::SparseTensor& matrix, const schedule::FormatSchedule& format,
                              int threads) {
  switch (format.arrangement) {
    case schedule::Arrangement::kGiven:
      break;
    case schedule::Arrangement::kClustered:
      return with_clustered_rows(matrix, format.cluster_window, threads);
    case schedule::Arrangement::kSkewed:
      return with_skewed_columns(matrix, threads);
  }
  return matrix;
}

}  // namespace waco::codegen
