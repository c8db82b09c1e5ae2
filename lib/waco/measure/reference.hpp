// Reference results in double precision, and the comparison of a kernel's output with them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "waco/matrix/sparse_tensor.hpp"
#include "waco/measure/operands.hpp"
#include "waco/schedule/op.hpp"

namespace waco::measure {

struct Verification {
  bool ok = false;
  double max_rel_error = 0;  ///< largest |result - reference| / sum of |products|; infinite for NaN
  std::string message;       ///< the first kind of error found, with its place
};

/// What a kernel must answer. Of operands with exact_bits() a result is accepted when it is the reference, as
/// no order of additions rounds. Otherwise one, x, of n products and machine precision eps is accepted when
///
///     |x - reference| <= 4 eps (sqrt(n) + 8) (|reference| + N) + n * smallest normal number,
///
/// where N is a bound on the products' 2-norm. (Each addition rounds by up to half an eps of a partial sum,
/// with a random sign. In whatever order they are added, the partial sums of products with random operands of
/// mean 0 stay within a few norms of their way to the result. Over many rows of up to a million products, by
/// lanes, in parts and in random orders, a tenth of this was reached.) The reference has to be finite, and
/// within the type's range.
///
/// Outputs of more than `max_stored` elements are compared in a sample of columns, and every row as a whole
/// by its sum with random signs, so that an error in any element is still seen.
class Reference {
 public:
  static constexpr int64_t kMaxStored = int64_t{1} << 24;

  Reference(const matrix::SparseTensor& tensor, const schedule::Problem& problem,
            const DenseOperands& operands, uint64_t seed, int threads, int64_t max_stored = kMaxStored,
            bool exact = false);

  /// Compares a dense output: [dims[0] * rhs] of the problem's type.
  Verification verify(const void* out) const;
  /// Compares sddmm's values in the order of the input: [num_nonzeros].
  Verification verify_values(const std::vector<double>& values) const;

 private:
  template <class T>
  void compute_rows(const matrix::SparseTensor& tensor, const DenseOperands& operands);
  template <class T>
  void compute_dots(const matrix::SparseTensor& tensor, const DenseOperands& operands);
  template <class T>
  Verification compare(const T* out) const;
  void choose_columns(uint64_t seed, int64_t max_stored);

  schedule::Problem problem_;
  int threads_;
  bool exact_;
  int64_t num_rows_ = 0;
  std::vector<int64_t> columns_;  ///< compared columns of the output, ascending
  std::vector<double> signs_;     ///< [rhs], +1 or -1; empty when all columns are compared
  std::vector<double> expected_;  ///< [num_rows * columns], or [num_nonzeros]
  std::vector<double> row_sums_;  ///< [num_rows], signed; empty with signs_
  std::vector<double> sum_;       ///< of |products|, a bound: [num_rows] or [num_nonzeros]
  std::vector<double> norm_;      ///< of the products, a bound: like sum_
  std::vector<int64_t> terms_;    ///< [num_rows], or one entry
};

}  // namespace waco::measure
