// The steps of one matrix: tune, set up, verify, time, bound.
#include "apps/bench/contest.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "apps/bench/contestants.hpp"
#include "apps/bench/peers/openmp_runtimes.hpp"
#include "waco/base/counted.hpp"
#include "waco/base/error.hpp"
#include "waco/base/files.hpp"
#include "waco/base/machine.hpp"
#include "waco/base/thread_places.hpp"
#include "waco/measure/session.hpp"
#include "waco/measure/statistics.hpp"

namespace waco::bench {
namespace {

using schedule::SuperSchedule;

measure::TimingOptions timing_of(tune::Effort effort) {
  measure::TimingOptions timing;
  const bool quick = effort == tune::Effort::kQuick;
  timing.budget_s = quick ? 0.15 : effort == tune::Effort::kNormal ? 0.6 : 1;
  timing.precision = quick ? 0.02 : 0.01;
  timing.min_rounds = quick ? 7 : 15;
  return timing;
}

/// fixed_csr's format and loops, with rows in ranges of equal nonzeros.
SuperSchedule balanced_csr(const schedule::Problem& problem, int threads) {
  SuperSchedule point = schedule::csr_point(problem, threads);
  point.compute.policy = schedule::Policy::kBalanced;
  point.compute.chunk = 0;
  return schedule::canonical(point);
}

/// What became of the first candidate that failed, which stands for all.
std::string why_not(const tune::TuneResult& tuned) {
  for (const tune::Candidate& candidate : tuned.candidates) {
    const measure::Measurement& m = candidate.measurement;
    if (candidate.measured && !m.ok())
      return fmt::format(": {} ({}): {}", schedule::to_text(m.point), measure::name(m.status), m.message);
  }
  return {};
}

/// Where the plan of a run with these options is from.
std::string plan_source(const tune::TuneOptions& tuning, const std::string& plan_file) {
  if (!plan_file.empty()) return plan_file;
  return tuning.points.empty() ? PlanOrigin::kTuning : PlanOrigin::kSchedule;
}

/// As records have it.
std::string plan_text(const tune::TunedPlan& plan, int threads) {
  if (plan.is_baseline) return kFixedCsr;
  return schedule::to_text(schedule::canonical(schedule::with_threads(plan.point.value(), threads)));
}

PlanOrigin origin_of(const tune::TuneOptions& tuning, const tune::TuneResult& tuned,
                     const std::optional<GivenPlan>& given) {
  std::string source = plan_source(tuning, given ? given->file : "");
  if (given) return {std::move(source), given->plan.cost_model, given->plan.search, given->plan.effort};
  if (!tuning.points.empty()) return {std::move(source), "", "", ""};
  return {std::move(source), tuned.cost_model, tuned.search, std::string(tune::name(tuned.effort))};
}

/// A plan that does not fit this machine is none that was found wrong.
ExitCode failure_of(const tune::TuneResult& tuned) {
  const auto is_wrong = [](const tune::Candidate& candidate) {
    return candidate.measurement.failed_verification();
  };
  return std::any_of(tuned.candidates.begin(), tuned.candidates.end(), is_wrong) ? ExitCode::kVerification
                                                                                 : ExitCode::kFailed;
}

/// Throws where there is no fixed_csr to compare with.
void require_baseline(const Record& record) {
  const Entry& baseline = record.entries.at(0);
  if (!baseline.ok())
    throw measure::Unmeasurable(fmt::format("{}: fixed_csr can't be measured ({}): {}", record.matrix.name,
                                            baseline.status, baseline.message),
                                baseline.failed_verification() ? ExitCode::kVerification : ExitCode::kFailed);
}

/// A record of a plan that was not searched to the end, or without some of the peers, would be kept as whole.
void check_going_on(const std::string& matrix, const StopToken& stop) {
  if (stop())
    throw Stopped(fmt::format("{}: stopped by {} before it was timed to the end", matrix, stop.reason()));
}

}  // namespace

void complete(Record& record, const Work& work) {
  const Entry& baseline = record.entries.front();
  const bool f64 = record.problem.type == schedule::ValueType::kF64;
  const int cores = num_cores(record.threads);
  int64_t l3_bytes = 0;
  for (const Cache& cache : record.machine.caches)
    if (cache.level == 3) l3_bytes = cache.bytes * std::max(1, num_l3_caches(record.threads));
  std::vector<double> rejected;
  for (Entry& entry : record.entries) {
    entry.bound = bound_of(work, entry.stored_bytes, record.ceilings, l3_bytes, record.threads, cores, f64);
    if (!entry.ok()) continue;
    if (entry.censored) {
      const double speedup = baseline.time_ns.median / entry.time_ns.median;
      entry.speedup = {speedup, speedup, speedup};
    } else {
      rejected.push_back(entry.rejected_share);
    }
  }
  const measure::Disturbed disturbed = measure::disturbed(rejected, record.threads);
  if (disturbed.by == measure::Disturbance::kNone) return;
  record.disturbed = disturbed.by;
  record.warnings.push_back(disturbed.warning);
}

void require_set_up(const Record& record, const Entry& entry) {
  if (entry.ok() || entry.failed_verification()) return;
  throw measure::Unmeasurable(fmt::format("{}: {} can't be timed ({}): {}", record.matrix.name,
                                          entry.name == kWaco ? "its plan" : entry.name, entry.status,
                                          entry.message));
}

std::string thread_warning(const GivenPlan& given, int threads) {
  const int own = given.plan.threads;
  if (own == 0 || own == threads) return {};
  return fmt::format("the plan of {} was found for {}, and is timed with {}: another may be better",
                     given.file, counted(own, "thread"), threads);
}

std::string differences(const Record& record, const ContestOptions& options, const std::string& plan_file,
                        const std::optional<GivenPlan>& given, const CompilerTarget& by_compiler) {
  const tune::TuneOptions& tuning = options.tuning;
  std::vector<std::string> all;
  const CompilerTarget& compiler = record.machine.compiler;
  if (!compiler.version.empty() &&
      compiler.fingerprint + compiler.version != by_compiler.fingerprint + by_compiler.version)
    all.push_back(fmt::format("by {}", compiler.version));
  if (record.effort != tune::name(tuning.effort))
    all.push_back(fmt::format("with --effort {}", record.effort));
  const std::string source = plan_source(tuning, plan_file), &held = record.plan_origin.source;
  const std::string& model = record.plan_origin.cost_model;
  if (held == PlanOrigin::kTuning && source != held) all.emplace_back("of a plan that was tuned for it");
  if (held == PlanOrigin::kTuning && source == held && !model.empty() && model != tuning.cost_model())
    all.push_back(fmt::format("of a plan found by {}", model_text(model)));
  if (held == PlanOrigin::kSchedule &&
      (source != held || record.plan != schedule::to_text(schedule::canonical(tuning.points[0]))))
    all.push_back(fmt::format("of --schedule '{}'", record.plan));
  if (held != PlanOrigin::kTuning && held != PlanOrigin::kSchedule && !held.empty() && source != held)
    all.push_back(fmt::format("of the plan of {}", held));
  if (given && source == held && plan_text(given->plan, tuning.threads) != record.plan)
    all.push_back(fmt::format("of another plan of {}", held));
  std::vector<std::string> missing;
  for (const Peer& peer : options.peers) {
    const bool is_absent = std::any_of(record.absent.begin(), record.absent.end(),
                                       [&](const Absence& absence) { return absence.name == peer.name; });
    if (record.find(peer.name) == nullptr && !is_absent) missing.push_back(peer.name);
  }
  if (!missing.empty()) all.push_back(fmt::format("without {}", fmt::join(missing, ", ")));
  if (record.disturbed == measure::Disturbance::kOtherWork) all.emplace_back("while the machine was busy");
  if (record.disturbed == measure::Disturbance::kSharedProcessors)
    all.emplace_back("while threads shared processors");
  return fmt::format("{}", fmt::join(all, ", "));
}

Arena::Arena(ContestOptions options)
    : options_(std::move(options)),
      cache_(measure::Compiler::find(options_.tuning.compiler, token_of_signals())) {
  const std::filesystem::path object = cache_.require_openmp(token_of_signals());
  if (!options_.peers.empty()) require_one_runtime(openmp_runtimes_with(object));
}

void Arena::find_ceilings() {
  ceilings_ = model::load_or_measure_ceilings(options_.tuning.threads, cache_folder_if_any());
}

tune::TuneResult Arena::find_plan(const matrix::SparseTensor& tensor, const std::optional<GivenPlan>& given,
                                  const StopToken& stop) const {
  tune::TuneOptions tuning = options_.tuning;
  if (given)
    tuning.points = {given->plan.is_baseline
                         ? schedule::csr_point(tuning.problem, tuning.threads)
                         : schedule::with_threads(given->plan.point.value(), tuning.threads)};
  if (!tuning.points.empty()) {
    // A given point is only verified here: its time is taken beside the others. It may store what it likes.
    tuning.effort = tune::Effort::kNone;
    tuning.max_fill = std::numeric_limits<double>::infinity();
  }
  tune::TuneResult tuned = tune::tune(tensor, tuning, stop);
  check_going_on(tensor.name, stop);
  if (tuned.machine_failed)
    throw measure::Unmeasurable(fmt::format("{}: not tuned to the end: {}", tensor.name, tuned.stopped_by));
  if (!tuned.best || !tuned.best->verified)
    throw measure::Unmeasurable(fmt::format("{}: no plan could be verified{}", tensor.name, why_not(tuned)),
                                failure_of(tuned));
  if (given) tuned.best->is_baseline = given->plan.is_baseline;
  return tuned;
}

Record Arena::hold(matrix::SparseTensor tensor, const std::optional<GivenPlan>& given,
                   const StopToken& stop) const {
  const tune::TuneResult tuned = find_plan(tensor, given, stop);
  const Work work = work_of(tensor, tuned.problem);

  Record record;
  record.machine = tuned.machine;
  record.matrix = tuned.matrix;
  record.problem = tuned.problem;
  record.threads = tuned.threads;
  record.effort = tune::name(options_.tuning.effort);
  record.seed = tuned.seed;
  record.plan = tuned.best->is_baseline ? kFixedCsr : schedule::to_text(tuned.best->point);
  record.plan_origin = origin_of(options_.tuning, tuned, given);
  record.tuning_s = tuned.seconds.total;
  record.flops = work.flops;
  record.ceilings = ceilings_;
  record.disturbed = tuned.disturbed;
  record.warnings = tuned.warnings;
  if (given)
    if (const std::string other = thread_warning(*given, tuned.threads); !other.empty())
      record.warnings.push_back(other);

  {
    const InitialThreadPinned pinned;
    Contestants contest(std::move(tensor), cache_, record);
    contest.add_fixed_csr(kFixedCsr, stop);
    require_baseline(record);
    contest.add_point(kBalancedCsr, balanced_csr(record.problem, record.threads), stop);
    require_set_up(record, record.entries.back());
    if (tuned.best->is_baseline) {
      contest.add_fixed_csr(kWaco, stop);
    } else {
      contest.add_point(kWaco, tuned.best->point, stop);
    }
    require_set_up(record, record.entries.back());
    contest.add_peers(options_.peers, stop);
    check_going_on(record.matrix.name, stop);
    try {
      contest.time_all(timing_of(options_.tuning.effort), stop);
    } catch (const Stopped&) {
      check_going_on(record.matrix.name, stop);
      throw;
    }
    require_baseline(record);  // every speedup is over it
  }
  complete(record, work);  // counts the cores that this thread may use
  return record;
}

}  // namespace waco::bench
