// One matrix: every contestant set up, verified and timed in interleaved rounds of one process.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/bench/peers/peer.hpp"
#include "apps/bench/record.hpp"
#include "waco/base/signals.hpp"
#include "waco/measure/kernel_cache.hpp"
#include "waco/tune/tune.hpp"
#include "waco/tune/tuned_plans.hpp"

namespace waco::bench {

struct ContestOptions {
  tune::TuneOptions tuning;  ///< threads given; `points` are measured instead of searching
  std::vector<Peer> peers;
};

/// A plan that was found before.
struct GivenPlan {
  tune::TunedPlan plan;  ///< with a point
  std::string file;      ///< that holds it
};

/// What a reader of the times should know of a plan that was found for another number of threads, or nothing.
std::string thread_warning(const GivenPlan& given, int threads);

/// How a record was taken otherwise than a run with these options would take it now, `by_compiler` and with
/// the plan `given` in `plan_file` (may be empty), for a person: "by clang 14, with --effort quick". Empty
/// where it was not, as far as it tells.
std::string differences(const Record& record, const ContestOptions& options, const std::string& plan_file,
                        const std::optional<GivenPlan>& given, const CompilerTarget& by_compiler);

/// Throws measure::Unmeasurable where a contestant of ours could not be compiled or packed, as for lack of
/// memory: that says nothing of its kernel, and a record would keep it for ever.
void require_set_up(const Record& record, const Entry& entry);

/// After timing: bounds of all entries, the speedup of those that were not in the rounds, and a warning where
/// the others were disturbed in them.
void complete(Record& record, const Work& work);

/// What all matrices of a run share: the compiler, the cache of kernels, the machine's ceilings.
class Arena {
 public:
  /// Throws EnvironmentError (exit code kCompiler when the compiler can't be used).
  explicit Arena(ContestOptions options);
  /// Before anything is held. Where they are not known they are measured, on all threads for seconds.
  void find_ceilings();

  const model::Ceilings& ceilings() const { return ceilings_; }
  const ContestOptions& options() const { return options_; }
  const CompilerTarget& compiler() const { return cache_.compiler().target(); }

  /// Tunes (or verifies the given plan), sets up, verifies and times all contestants. Throws what tune::tune
  /// throws, measure::Unmeasurable when no plan or not fixed_csr can be verified or set up on this matrix,
  /// and Stopped when it is asked to stop before the end; a peer that fails is an entry that says so.
  Record hold(matrix::SparseTensor tensor, const std::optional<GivenPlan>& given,
              const StopToken& stop) const;

 private:
  tune::TuneResult find_plan(const matrix::SparseTensor& tensor, const std::optional<GivenPlan>& given,
                             const StopToken& stop) const;

  ContestOptions options_;
  measure::KernelCache cache_;
  model::Ceilings ceilings_;
};

}  // namespace waco::bench
