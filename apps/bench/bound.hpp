// The least time a kernel could take on this machine: the bytes it must move and the arithmetic it must do,
// against the measured ceilings.
#pragma once

#include <cstdint>
#include <string>

#include "waco/matrix/sparse_tensor.hpp"
#include "waco/model/ceilings.hpp"
#include "waco/schedule/op.hpp"

namespace waco::bench {

/// What any kernel of a problem must do on one tensor, whatever its format.
struct Work {
  int64_t dense_bytes = 0;   ///< rows of B and C that some nonzero needs, each once
  int64_t output_bytes = 0;  ///< the result, once
  double flops = 0;          ///< schedule::num_flops
  /// Of the loop nest that needs the fewest, a multiplication alone being two as a multiply-add is: of mttkrp
  /// B, C or their product is taken out of the loop over the nonzeros of a pair of coordinates.
  double least_flops = 0;
};

Work work_of(const matrix::SparseTensor& tensor, const schedule::Problem& problem);

/// A lower bound of a kernel's time. Gathers, latencies and unequal threads are not in it.
struct Bound {
  double memory_ns = 0;   ///< all bytes at the bandwidth of `level`
  double compute_ns = 0;  ///< the least flops at the vector peak
  int level = 0;          ///< of model::kMemoryLevelNames: the nearest that holds all bytes
  int64_t bytes = 0;      ///< sparse operand, dense operands, result

  double ns() const { return memory_ns > compute_ns ? memory_ns : compute_ns; }
  /// "L3 bandwidth" or "arithmetic".
  std::string binding() const;
};

/// The bound of a kernel whose sparse operand takes `sparse_bytes`, on `threads` threads of `cores` cores:
/// threads of one core share its caches. `l3_bytes`, of the machine, may be more than the ceilings count on.
Bound bound_of(const Work& work, int64_t sparse_bytes, const model::Ceilings& ceilings, int64_t l3_bytes,
               int threads, int cores, bool f64);

}  // namespace waco::bench
