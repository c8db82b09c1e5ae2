// From sorted coordinates to CSR.
#include "apps/bench/peers/csr_arrays.hpp"

#include <algorithm>

#include "apps/bench/peers/first_touch.hpp"

namespace waco::bench {

CsrArrays::CsrArrays(const matrix::SparseTensor& matrix, schedule::ValueType type, int threads)
    : row_begin_(static_cast<size_t>(matrix.dims[0] + 1) * sizeof(int32_t), 5),
      columns_(static_cast<size_t>(matrix.num_nonzeros()) * sizeof(int32_t), 6),
      values_(static_cast<size_t>(matrix.num_nonzeros() * schedule::value_bytes(type)), 7) {
  const std::vector<int64_t> begin = matrix::row_pointers(matrix);
  copy_by_threads(begin.data(), matrix.dims[0] + 1, row_begin_.as<int32_t>(), threads);
  copy_by_threads(matrix.coords[1].data(), matrix.num_nonzeros(), columns_.as<int32_t>(), threads);
  if (type == schedule::ValueType::kF64) {
    copy_by_threads(matrix.values.data(), matrix.num_nonzeros(), values_.as<double>(), threads);
  } else {
    copy_by_threads(matrix.values.data(), matrix.num_nonzeros(), values_.as<float>(), threads);
  }
}

bool CsrArrays::fits(const matrix::SparseTensor& matrix) {
  return std::max({matrix.dims[0], matrix.dims[1], matrix.num_nonzeros()}) < INT32_MAX;
}

}  // namespace waco::bench
