// Bytes that a run moves from every level of the memory hierarchy, from the footprints of its operands.
#pragma once

#include <array>

#include "waco/codegen/kernel_shape.hpp"
#include "waco/model/ceilings.hpp"
#include "waco/model/pattern_profile.hpp"
#include "waco/model/work_counts.hpp"

namespace waco::model {

struct Traffic {
  double a_bytes = 0;      ///< streamed of the sparse operand, all passes
  double dense_bytes = 0;  ///< dense operands: distinct bytes touched
  double out_bytes = 0;    ///< the result
  std::array<double, kNumMemoryLevels>
      level_bytes{};  ///< delivered to the cores from each level beyond L1; [0] unused
  std::array<double, kNumMemoryLevels> level_ns{};  ///< time of that, all threads together
};

/// `threads`: how many run; `migrates`: whether rows change threads from run to run, so that private caches
/// keep nothing of use between runs.
Traffic estimate_traffic(const codegen::KernelShape& shape, const WorkCounts& work,
                         const FormatCounts& format, PatternProfile& profile, const Ceilings& ceilings,
                         int threads, bool migrates);

}  // namespace waco::model
