// From sorted coordinates to CSR.
#include "apps/bench/csr_arrays.hpp"

#include <algorithm>

namespace waco::bench {

CsrArrays::CsrArrays(const matrix::SparseTensor& matrix, schedule::ValueType type)
    : row_begin_(static_cast<size_t>(matrix.dims[0] + 1) * sizeof(int32_t), 5),
      columns_(static_cast<size_t>(matrix.num_nonzeros()) * sizeof(int32_t), 6),
      values_(static_cast<size_t>(matrix.num_nonzeros() * schedule::value_bytes(type)), 7) {
  const std::vector<int64_t> begin = matrix::row_pointers(matrix);
  std::transform(begin.begin(), begin.end(), row_begin_.as<int32_t>(),
                 [](int64_t p) { return static_cast<int32_t>(p); });
  std::transform(matrix.coords[1].begin(), matrix.coords[1].end(), columns_.as<int32_t>(),
                 [](int64_t column) { return static_cast<int32_t>(column); });
  if (type == schedule::ValueType::kF64) {
    std::copy(matrix.values.begin(), matrix.values.end(), values_.as<double>());
  } else {
    std::transform(matrix.values.begin(), matrix.values.end(), values_.as<float>(),
                   [](double value) { return static_cast<float>(value); });
  }
}

bool CsrArrays::fits(const matrix::SparseTensor& matrix) {
  return std::max({matrix.dims[0], matrix.dims[1], matrix.num_nonzeros()}) < INT32_MAX;
}

}  // namespace waco::bench
