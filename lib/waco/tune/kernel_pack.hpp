// Kernels compiled ahead of the matrices they are for: what ranking favours on synthetic patterns of all
// kinds, so that later runs find in the cache most of what they measure.
#pragma once

#include <string>
#include <vector>

#include "waco/base/signals.hpp"
#include "waco/measure/kernel_cache.hpp"
#include "waco/tune/tune.hpp"

namespace waco::tune {

struct PackOptions {
  int num_kernels = 300;
  int num_patterns = 160;  ///< that vote
  int candidates = 12;     ///< of each pattern that get a vote
};

/// Every op at its default dense size, and SpMM for narrow operands too.
std::vector<schedule::Problem> usual_problems(schedule::ValueType type);

/// At most `num_kernels` distinct kernels of the problem of `tuning`, those most often wanted first. A point
/// that is among the best of a pattern votes for its kernel there, and with less weight for the kernels that
/// it has on patterns of other sizes and divisibility. Ends early, with fewer votes, when a stop is
/// requested.
std::vector<measure::CompileRequest> choose_kernels(const TuneOptions& tuning, const PackOptions& options,
                                                    const StopToken& stop);

/// What became of a pack.
struct PackReport {
  int64_t num_chosen = 0;
  int64_t num_compiled = 0;  ///< now
  int64_t num_there = 0;     ///< before
  int64_t num_failed = 0;
  int64_t bytes = 0;  ///< of the libraries
  double choosing_s = 0, compiling_s = 0;
  std::string fault;            ///< the compiler's first line about the first that failed
  bool machine_failed = false;  ///< the rest was not tried, as the machine, not a source, was at fault
  bool complete = false;        ///< all are there
};

/// Chooses kernels and compiles those that the user's cache lacks, in parallel. A run that was stopped or
/// killed, or in which some failed, is continued by the next one. Throws EnvironmentError when the compiler
/// or the cache can't be used.
PackReport prepare_kernels(const TuneOptions& tuning, const PackOptions& options, const StopToken& stop);

}  // namespace waco::tune
