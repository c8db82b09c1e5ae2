// Cycles of the code inside the loops: what the register tile of a kernel costs when everything is in L1.
#pragma once

#include "waco/codegen/kernel_shape.hpp"
#include "waco/model/ceilings.hpp"

namespace waco::model {

/// What a core does per cycle, derived from the ceilings.
struct CoreRates {
  double cycle_ns = 0.3;
  double fmas = 2;   ///< vector multiply-adds
  double loads = 2;  ///< vector loads
  double stores = 1;
  double issue = 5;    ///< instructions
  double latency = 4;  ///< cycles from one multiply-add to the next that needs it
};
CoreRates core_rates(const Ceilings& ceilings);

/// Instructions of one execution of a piece of code.
struct Instructions {
  double fmas = 0, loads = 0, stores = 0, other = 0;
  double cycles(const CoreRates& rates) const;
};

struct KernelCode {
  double body_cycles = 0;   ///< one body: one stored block, one dense tile; throughput
  double chain_cycles = 0;  ///< one body: latency of the accumulators' chain
  double entry_cycles = 0;  ///< one start of the innermost sparse loop
  double scope_cycles = 0;  ///< one life of a set of accumulators: zeroing, adding up, storing
  double vector_step = 1;   ///< nonzeros that a row is rounded up to
};

/// The cost of the code of `shape`. A point's dense tile is a body of its own.
KernelCode kernel_code(const codegen::KernelShape& shape, const CoreRates& rates, int vector_bytes);

}  // namespace waco::model
