// One run of tuning, whose stages tune.cpp and run_*.cpp hold.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "waco/base/clock.hpp"
#include "waco/measure/kernel_cache.hpp"
#include "waco/measure/session.hpp"
#include "waco/tune/ranking.hpp"
#include "waco/tune/tune.hpp"

namespace waco::tune {

/// Adds the time until its destruction to `seconds`.
class Stopwatch {
 public:
  explicit Stopwatch(double& seconds) : seconds_(seconds) {}
  ~Stopwatch() { seconds_ += seconds_since(start_); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& seconds_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// One tuning; see tune().
class Run {
 public:
  Run(const matrix::SparseTensor& tensor, const TuneOptions& options, const StopToken& stop)
      : tensor_(tensor), options_(options), signals_(stop) {
    set_effort(options.effort);
  }

  TuneResult take();

 private:
  void describe();
  CompilerTarget target();
  std::shared_ptr<const measure::KernelCache> kernels() const;
  bool is_compiled(const measure::KernelCache& cache, const schedule::SuperSchedule& point) const;
  void keep_to_cache();
  model::Ceilings ceilings();
  void rank();
  Outlook first_outlook(const model::Ceilings& machine) const;
  Outlook outlook_of(const Candidate& candidate);
  Verdict& begin_verdict(const Outlook& outlook);
  bool too_few_calls();
  bool is_known_compiled(const schedule::SuperSchedule& point) const;
  std::vector<Way> ways_with_memory(std::vector<Way> ways);
  void choose_effort();
  void set_effort(Effort effort);
  int64_t evaluations_of(Effort effort) const;
  void search(Effort effort);
  void note_features();
  bool may_cluster(Effort effort) const;
  void stay_on_csr();
  void verify_csr();
  Way way_ahead();
  void settle();
  void measure_all();
  void refine();
  void hold_final(const std::vector<schedule::SuperSchedule>& finalists);
  void hold_finals();
  void verify_first();
  void measure(std::vector<Candidate*> batch);
  void note_result(const measure::Measurement& m);
  bool only_ranks() const;
  void take_first();
  void open_session();
  void add_foreign_models_warning();
  void add_warnings();
  bool any_verified() const;
  void survive(const std::string& message);
  void note_stop();

  const matrix::SparseTensor& tensor_;
  const TuneOptions& options_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();  ///< of the budget
  EffortPlan plan_;
  StopToken signals_;       ///< ends everything
  StopToken whole_budget_;  ///< no final round after this
  StopToken first_budget_;  ///< no more candidates after this
  TuneResult result_;
  std::optional<measure::Compiler> kernels_of_;  ///< nothing is compiled: whose kernels are measured
  std::optional<Ranking> ranking_;
  std::optional<measure::Session> session_;
  std::vector<Candidate*> batch_;  ///< that is being measured
  bool refinement_cut_ = false;    ///< by the budget, before its last round was over
  bool final_skipped_ = false;
  double compile_ns_ = 0;  ///< of the kernel that forecasts are of, where it is not in the cache
  size_t num_found_ = 0;   ///< candidates, before their neighbours were added
  int num_reported_ = 0;
  std::set<std::string> lacking_;  ///< text forms of points passed over, as their kernels were not compiled
};

}  // namespace waco::tune
