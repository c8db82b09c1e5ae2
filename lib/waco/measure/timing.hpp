// Timing several contestants in interleaved rounds, so that drift of the machine hits all of them alike.
#pragma once

#include <functional>
#include <vector>

#include "waco/base/signals.hpp"
#include "waco/measure/statistics.hpp"

namespace waco::measure {

struct TimingOptions {
  double budget_s = 0.15;       ///< for each contestant; rounds go on while it lasts and precision is lacking
  double precision = 0.02;      ///< enough when every ratio's interval is within this share of it
  double min_sample_ns = 20e3;  ///< fast kernels are called in batches that take this long
  int min_rounds = 7;  ///< at least 2; fewer (at least 3) only when the budget is spent four times over
  int max_rounds = 400;
  /// Samples shorter than this follow untimed calls, which bring the operands back into the caches.
  double warm_below_ns = 20e6;
  /// Of samples shorter than 10 ms the best undisturbed one of so many in a row counts.
  int tries = 1;
  /// Every contestant gets as many untimed calls and tries as the fastest of them needs, so that none is
  /// favoured (fewer untimed calls where its own would take over 40 ms); else what its own speed asks for.
  bool alike = true;
  /// Contestants that are precise enough leave the rounds, the baseline goes on with the others. Times of
  /// those that left early then compare by their ratios only.
  bool drop_settled = false;
};

/// The times of one contestant.
struct ContestantTimes {
  std::vector<double> samples_ns;  ///< per call, one for each round that counts
  Estimate time_ns;
  Estimate speedup;           ///< time of contestant 0 / own time, by round; 1 for contestant 0
  int num_rounds = 0;         ///< that `speedup` is of
  double rejected_share = 0;  ///< of the rounds whose sample other work disturbed
  bool is_disturbed = false;  ///< in all but two rounds or fewer, own sample or contestant 0's was: times and
                              ///< speedup are of all rounds, and may be anything
};

/// Calls the contestants in turn: in an order drawn by chance, which is the same in every run, and backwards
/// in the next round, so that neither drift nor who comes before favours any. A sample during which any
/// thread of the process was switched out involuntarily, or of 2 ms and more, where the system tells, one
/// during which a thread waited for a CPU for over 2 % of it, is rejected, unless fewer than three would be
/// left. Contestant 0 is what the others are compared with. Every contestant must have been called before;
/// `expected_ns` (empty, or one for each; 0: unknown) is how long that took, which spares slow ones a trial.
/// Throws Stopped before the next contestant's turn when `stop` asks for it.
std::vector<ContestantTimes> time_contestants(const std::vector<std::function<void()>>& contestants,
                                              const TimingOptions& options,
                                              const std::vector<double>& expected_ns = {},
                                              const StopToken& stop = {});

}  // namespace waco::measure
