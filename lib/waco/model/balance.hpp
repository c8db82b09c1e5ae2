// How evenly the parallel loop of a point spreads a pattern over threads, and what handing out its work
// costs.
#pragma once

#include "waco/codegen/kernel_shape.hpp"
#include "waco/model/ceilings.hpp"
#include "waco/model/pattern_profile.hpp"
#include "waco/model/work_counts.hpp"

namespace waco::model {

struct Balance {
  int threads = 1;  ///< that have anything to do
  /// Time of the busiest thread over the mean, 1 .. threads; more where these are more than the machine has.
  double factor = 1;
  double dispatch_ns = 0;  ///< wall time of parallel regions, barriers and fetched chunks
  bool migrates = false;   ///< rows change threads from run to run
};

/// `row_weight`: time of a row beyond its nonzeros, in nonzeros.
Balance estimate_balance(const codegen::KernelShape& shape, const WorkCounts& work, PatternProfile& profile,
                         const Ceilings& ceilings, double row_weight);

}  // namespace waco::model
