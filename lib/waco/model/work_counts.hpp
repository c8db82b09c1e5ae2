// How often each loop of a point runs on a pattern, and how much its format stores.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "waco/model/pattern_profile.hpp"
#include "waco/schedule/loop_nest.hpp"
#include "waco/schedule/super_schedule.hpp"

namespace waco::model {

/// What a format stores for a pattern (estimated; storage prediction is exact and slower).
struct FormatCounts {
  std::vector<double> positions;  ///< per level
  double stored_values = 0;
  double index_bytes = 0;  ///< pos, crd and the row permutation
};

/// Executions of one loop of a nest over a whole run, threads together.
struct LoopCount {
  double entries = 0;       ///< times the loop starts
  double iterations = 0;    ///< times its body runs, after what it locates was found
  double searched = 0;      ///< coordinates looked for in compressed levels
  double search_steps = 0;  ///< probes of one search
};

struct WorkCounts {
  std::vector<LoopCount> loops;  ///< of nest.loops[0 .. num_runtime)
  double bodies = 1;             ///< executions of what is inside all runtime loops
  double unrolled = 1;           ///< stored values in one body
  double dense_tiles = 1;        ///< iterations of the outer dense loop
};

/// Counts for one pattern and op; formats are remembered.
class WorkCounter {
 public:
  explicit WorkCounter(PatternProfile& profile) : profile_(profile) {}
  const FormatCounts& format_counts(const schedule::SuperSchedule& point);
  /// `nest` is that of the kernel: the loops it really unrolls.
  WorkCounts count(const schedule::SuperSchedule& point, const schedule::LoopNest& nest,
                   const FormatCounts& format) const;

 private:
  FormatCounts compute(const schedule::FormatSchedule& format) const;
  PatternProfile& profile_;
  std::map<std::string, FormatCounts> formats_;
};

}  // namespace waco::model
