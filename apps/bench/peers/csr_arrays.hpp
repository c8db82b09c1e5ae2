// A matrix as the CSR arrays that libraries take: 32-bit indices, values of the problem's type.
#pragma once

#include <cstdint>

#include "waco/base/buffer.hpp"
#include "waco/matrix/sparse_tensor.hpp"
#include "waco/schedule/op.hpp"

namespace waco::bench {

/// Owns the arrays, in the same kind of memory as the dense operands, each first written by all `threads`.
class CsrArrays {
 public:
  CsrArrays(const matrix::SparseTensor& matrix, schedule::ValueType type, int threads);

  /// Whether rows, columns and nonzeros fit 32-bit indices; others can't be given to the libraries.
  static bool fits(const matrix::SparseTensor& matrix);

  const int32_t* row_begin() const { return row_begin_.as<int32_t>(); }  ///< [rows + 1]
  const int32_t* columns() const { return columns_.as<int32_t>(); }      ///< [nonzeros]
  const void* values() const { return values_.data(); }                  ///< [nonzeros]

 private:
  Buffer row_begin_, columns_, values_;
};

}  // namespace waco::bench
