// The values of what one problem is measured on: seeded random ones that every contestant shares.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "waco/base/buffer.hpp"
#include "waco/matrix/sparse_tensor.hpp"
#include "waco/schedule/op.hpp"

namespace waco::measure {

/// Elements of the dense operands (B, C; 0 where the op has none), laid out as schedule::Op says. Throws
/// TooLargeError, as output_elements(), for so many that no machine has memory for them.
std::array<int64_t, 2> dense_elements(const schedule::Problem& problem, const std::vector<int64_t>& dims);

/// Elements of a dense output; for sddmm the number of stored values instead.
int64_t output_elements(const schedule::Problem& problem, const std::vector<int64_t>& dims,
                        int64_t num_stored);

/// Fractional bits of values: multiples of 2^-bits up to 1, so few that every sum of their products is exact
/// in the value type, in whatever order it is added up.
struct ExactBits {
  int sparse = 0;  ///< of the sparse operand's values
  int dense = 0;   ///< of the dense operands'
};

/// Those for results of up to the tensor's longest row (slice) of products, for sddmm up to rhs of them; none
/// where these are too many: over 2^24 in f32.
std::optional<ExactBits> exact_bits(const schedule::Problem& problem, const matrix::SparseTensor& tensor);

/// B and C, of either sign and up to 1, in the problem's value type; NaN lies before and behind them, for
/// whoever reads there. The same seed gives the same values on any number of threads.
class DenseOperands {
 public:
  DenseOperands(const schedule::Problem& problem, const std::vector<int64_t>& dims, uint64_t seed,
                int threads, const std::optional<ExactBits>& exact = std::nullopt);

  const void* data(int operand) const { return buffers_[operand].data(); }
  template <class T>
  const T* as(int operand) const {
    return buffers_[operand].as<T>();
  }

 private:
  std::array<Buffer, 2> buffers_;
};

/// Replaces the values by seeded ones of either sign between 1/2 and 1, the same on any number of threads.
/// Those of a file may be all alike, or of very different sizes: results would hide exchanged or missing
/// products.
void draw_values(matrix::SparseTensor& tensor, uint64_t seed, int threads,
                 const std::optional<ExactBits>& exact = std::nullopt);

}  // namespace waco::measure
