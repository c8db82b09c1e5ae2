// The whole job for one input, stage by stage.
#include "waco/tune/tune.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "waco/base/error.hpp"
#include "waco/base/files.hpp"
#include "waco/measure/session.hpp"
#include "waco/tune/decision.hpp"
#include "waco/tune/ranking.hpp"

namespace waco::tune {
namespace {

using measure::Measurement;
using schedule::SuperSchedule;

constexpr size_t kRefinedPoints = 3;      ///< whose neighbours a refinement round looks at
constexpr size_t kRefinementSize = 10;    ///< neighbours measured in a round
constexpr double kRefinementGain = 1.01;  ///< a round that gains less is the last
constexpr double kFinalShare = 0.25;      ///< of the budget, kept for the final round

/// Adds the time until its destruction to `seconds`.
class Stopwatch {
 public:
  explicit Stopwatch(double& seconds) : seconds_(seconds) {}
  ~Stopwatch() {
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& seconds_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

class Run {
 public:
  Run(const matrix::SparseTensor& tensor, const TuneOptions& options, const StopToken& stop)
      : tensor_(tensor), options_(options), signals_(stop) {
    set_effort(options.effort);
  }

  TuneResult take();

 private:
  void describe();
  model::Ceilings ceilings();
  void rank();
  void choose_effort();
  void set_effort(Effort effort);
  void search(Effort effort);
  void stay_on_csr();
  void settle();
  void measure_all();
  void refine();
  void hold_final();
  void verify_first();
  void measure(std::vector<Candidate*> batch);
  void open_session();
  void add_warnings();
  void note_stop();

  const matrix::SparseTensor& tensor_;
  const TuneOptions& options_;
  EffortPlan plan_;
  StopToken signals_;       ///< ends everything
  StopToken whole_budget_;  ///< no final round after this
  StopToken first_budget_;  ///< no more candidates after this
  TuneResult result_;
  std::optional<Ranking> ranking_;
  std::optional<measure::Session> session_;
  std::vector<Measurement> finals_;
  bool final_skipped_ = false;
  int num_reported_ = 0;
};

void Run::set_effort(Effort effort) {
  result_.effort = effort;
  plan_ = plan_of(effort);
  if (options_.top) plan_.top = *options_.top;
  if (options_.budget_s) plan_.budget_s = options_.budget_s;
  whole_budget_ = plan_.budget_s ? signals_.with_budget(*plan_.budget_s) : signals_;
  first_budget_ = plan_.budget_s ? signals_.with_budget(*plan_.budget_s * (1 - kFinalShare)) : signals_;
}

void Run::describe() {
  const Stopwatch watch(result_.seconds.machine);
  result_.matrix = {tensor_.name, tensor_.dims, tensor_.num_nonzeros(), matrix::pattern_hash(tensor_)};
  result_.problem = options_.problem;
  result_.threads = options_.threads > 0 ? options_.threads : usable_threads();
  result_.seed = options_.seed;
}

model::Ceilings Run::ceilings() {
  const Stopwatch watch(result_.seconds.machine);
  std::filesystem::path folder;
  try {
    folder = cache_folder();
  } catch (const EnvironmentError& error) {
    spdlog::warn("{}; the machine is measured again in every run", error.what());
    return model::measure_ceilings(result_.threads);
  }
  return model::load_or_measure_ceilings(result_.threads, folder);
}

void Run::rank() {
  model::Ceilings machine = ceilings().with_vectors_of(session_->target().vector_bytes);
  const Stopwatch watch(result_.seconds.rank);
  ranking_.emplace(tensor_, options_, result_.threads, std::move(machine));
  if (options_.points.empty()) {
    search(options_.effort_by_calls ? Effort::kNone : result_.effort);
  } else {
    result_.candidates = ranking_->judge(options_.points);
  }
}

void Run::search(Effort effort) {
  set_effort(effort);
  const bool indexed = search::needs_index(options_.search);
  result_.candidates = ranking_->search(plan_.top, indexed ? plan_.index_evaluations : plan_.evaluations);
  result_.num_ranked = ranking_->num_ranked();
  spdlog::info("ranked {} points, {} to measure", result_.num_ranked, result_.candidates.size());
}

/// What every effort would cost in all, and with effort_by_calls, which is taken.
void Run::choose_effort() {
  constexpr double kCompile_ns = 0.35e9;
  if (!options_.calls || result_.candidates.empty()) return;
  const Candidate& first = result_.candidates[0];
  Outlook outlook;
  outlook.csr_ns = ranking_->csr_ns();
  outlook.best_ns = first.predicted_cost_ns.value_or(outlook.csr_ns);
  outlook.pack_ns = packing_forecast_ns(first.measurement.point, tensor_.num_nonzeros(), result_.threads);
  outlook.ranked_ns = result_.seconds.rank * 1e9;
  outlook.compile_ns = session_->has_kernel(first.measurement.point) ? 0 : kCompile_ns;
  outlook.threads = result_.threads;
  Verdict& verdict = result_.verdict.emplace();
  verdict.calls = *options_.calls;
  verdict.forecasts = forecast(outlook);
  verdict.chosen = options_.effort_by_calls ? cheapest(verdict.forecasts, verdict.calls).effort
                                            : std::optional(options_.effort);
  spdlog::info("forecasts:\n{}", forecast_text(verdict));
  if (options_.effort_by_calls && verdict.chosen && *verdict.chosen != result_.effort) {
    const Stopwatch watch(result_.seconds.rank);
    search(*verdict.chosen);
    open_session();
  }
}

/// fixed_csr without a measurement.
void Run::stay_on_csr() {
  Best& best = result_.best.emplace();
  best.point = schedule::csr_point(options_.problem, result_.threads);
  best.is_baseline = true;
}

/// With the number of calls known, the plan has to pay.
void Run::settle() {
  if (!result_.verdict || !result_.baseline || !result_.best) return;
  Verdict& verdict = *result_.verdict;
  verdict.csr_ns = result_.baseline->median_ns();
  const double tuned_s = result_.seconds.machine + result_.seconds.rank + result_.seconds.measure;
  const double convert_ns = result_.best->is_baseline ? 0 : static_cast<double>(result_.best->pack_ns);
  verdict.happened = Way{result_.effort, tuned_s * 1e9, convert_ns, result_.best->time_ns.median};
  verdict.break_even_calls = result_.break_even_calls();
  if (!verdict.pays()) result_.best = decide(*result_.baseline, {}, result_.threads);
}

void Run::open_session() {
  measure::MeasureOptions options;
  options.threads = result_.threads;
  options.compiler = options_.compiler;
  options.seed = options_.seed;
  options.quick.budget_s = plan_.sample_s;
  options.final.budget_s = plan_.final_s;
  if (result_.effort == Effort::kNone) options.quick.min_rounds = options.final.min_rounds = 3;
  options.stop = signals_;  // work that has begun may outlast the budget
  options.on_result = [this](const Measurement& m) {
    const std::string speed =
        m.ok() ? fmt::format("{:.2f}x", m.speedup.median) : std::string(measure::name(m.status));
    spdlog::debug("measured {}: {} {}", ++num_reported_, speed, schedule::to_text(m.point));
  };
  session_.emplace(tensor_, options_.problem, std::move(options));
  result_.machine = describe_machine(session_->target().command);
}

/// Measures a batch; those that a stop request leaves out stay unmeasured.
void Run::measure(std::vector<Candidate*> batch) {
  std::vector<SuperSchedule> points;
  for (const Candidate* candidate : batch) points.push_back(candidate->measurement.point);
  for (Measurement& measurement : session_->measure(points)) {
    const auto same = [&](const Candidate* c) {
      return !c->measured && c->measurement.point == measurement.point;
    };
    const auto at = std::find_if(batch.begin(), batch.end(), same);
    WACO_ASSERT(at != batch.end());
    (*at)->measurement = std::move(measurement);
    (*at)->measured = true;
  }
}

void Run::measure_all() {
  std::vector<Candidate*> waiting;
  for (Candidate& candidate : result_.candidates)
    if (!candidate.measured) waiting.push_back(&candidate);
  // One batch compiles best; with a budget smaller ones, so that it can end between them.
  const size_t size =
      first_budget_.seconds_left() ? static_cast<size_t>(std::max(2, result_.threads)) : waiting.size();
  for (size_t begin = 0; begin < waiting.size() && !first_budget_.stop_requested(); begin += size)
    measure({waiting.begin() + static_cast<ptrdiff_t>(begin),
             waiting.begin() + static_cast<ptrdiff_t>(std::min(begin + size, waiting.size()))});
}

/// Full effort: neighbours of the best, as long as they gain and time is left.
void Run::refine() {
  const auto best_speedup = [this] {
    sort_candidates(result_.candidates);
    return result_.candidates.empty() ? 0.0 : result_.candidates[0].measurement.speedup.median;
  };
  double speedup = best_speedup();
  for (int round = 0; round < plan_.refinements && !first_budget_.stop_requested(); ++round) {
    const std::vector<SuperSchedule> best = pick_finalists(result_.candidates, kRefinedPoints);
    std::vector<Candidate> next = ranking_->neighbours(best, kRefinementSize);
    if (next.empty()) return;
    std::vector<Candidate*> batch;
    for (Candidate& candidate : next) batch.push_back(&candidate);
    measure(batch);
    std::erase_if(next, [](const Candidate& candidate) { return !candidate.measured; });
    result_.candidates.insert(result_.candidates.end(), next.begin(), next.end());
    result_.num_ranked = ranking_->num_ranked();
    const double gained = best_speedup();
    spdlog::info("refinement {}: {:.2f}x", round + 1, gained);
    if (gained < speedup * kRefinementGain) return;
    speedup = gained;
  }
}

void Run::hold_final() {
  const std::vector<SuperSchedule> finalists = pick_finalists(result_.candidates, plan_.finalists);
  if (finalists.empty()) return;
  final_skipped_ = whole_budget_.stop_requested();
  if (final_skipped_) return;
  finals_ = session_->compete(finalists);
  // The final's times are the better ones: longer, and all in common rounds.
  for (const Measurement& final : finals_)
    for (Candidate& candidate : result_.candidates)
      if (final.ok() && candidate.measurement.point == final.point) candidate.measurement = final;
}

/// Without timing: the cheapest point whose result is right.
void Run::verify_first() {
  for (Candidate& candidate : result_.candidates) {
    if (candidate.measured || signals_.stop_requested()) continue;
    measure({&candidate});
    Measurement& m = candidate.measurement;
    if (!candidate.measured || !m.ok()) continue;
    Best& best = result_.best.emplace();
    best.point = m.point;
    best.verified = true;
    best.pack_ns = m.pack_ns;
    best.stored_bytes = m.stored_bytes;
    candidate.measured = false;
    return;
  }
}

void Run::note_stop() {
  const bool all_measured = std::all_of(result_.candidates.begin(), result_.candidates.end(),
                                        [](const Candidate& candidate) { return candidate.measured; });
  const bool none = result_.effort == Effort::kNone || (result_.verdict && !result_.verdict->chosen);
  const bool done = none ? result_.best.has_value() : all_measured && !final_skipped_;
  if (done && !signals_.stop_requested()) return;
  const std::string_view reason =
      whole_budget_.stop_requested() ? whole_budget_.reason() : first_budget_.reason();
  if (reason.empty()) return;
  result_.complete = false;
  result_.stopped_by = reason;
}

void Run::add_warnings() {
  double rejected = result_.baseline ? result_.baseline->rejected_share : 0;
  for (const Candidate& candidate : result_.candidates)
    rejected = std::max(rejected, candidate.measurement.rejected_share);
  if (rejected > 0.2)
    result_.warnings.push_back(
        fmt::format("this machine is busy: {:.0f} % of the samples were thrown away; times may be off, run "
                    "again when it is idle",
                    rejected * 100));
  if (!result_.complete)
    result_.warnings.push_back(
        fmt::format("stopped early ({}): this is the best so far", result_.stopped_by));
}

TuneResult Run::take() {
  {
    const Stopwatch watch(result_.seconds.total);
    describe();
    open_session();
    rank();
    choose_effort();
    try {
      const Stopwatch measuring(result_.seconds.measure);
      if (result_.verdict && !result_.verdict->chosen) {
        stay_on_csr();
      } else if (result_.effort == Effort::kNone) {
        verify_first();
      } else {
        result_.baseline = session_->baseline();
        measure_all();
        refine();
        hold_final();
      }
    } catch (const EnvironmentError&) {
      // A stop before fixed_csr was measured: there is nothing to report but the ranking.
      if (!signals_.stop_requested()) throw;
    }
  }
  sort_candidates(result_.candidates);
  if (result_.baseline) {
    std::vector<Measurement> contestants = finals_;
    if (contestants.empty())
      for (const Candidate& candidate : result_.candidates)
        if (candidate.measured) contestants.push_back(candidate.measurement);
    result_.best = decide(*result_.baseline, contestants, result_.threads);
    settle();
  }
  note_stop();
  add_warnings();
  return std::move(result_);
}

void check_points(const matrix::SparseTensor& tensor, const TuneOptions& options) {
  const schedule::Problem& problem = options.problem;
  const int order = schedule::sparse_order(problem.op);
  if (tensor.order() != order)
    throw UsageError(fmt::format("{} needs a {}, and {} is a {}", schedule::name(problem.op),
                                 order == 2 ? "matrix" : "3-D tensor", tensor.name,
                                 tensor.order() == 2 ? "matrix" : "3-D tensor"));
  if (options.learned && options.learned->model.op() != problem.op)
    throw UsageError(fmt::format("the model is for {} and can't rank points of {}",
                                 schedule::name(options.learned->model.op()), schedule::name(problem.op)));
  if (search::needs_index(options.search) && (!options.learned || !options.learned->index))
    throw UsageError(fmt::format("the search '{}' needs a learned model and its index", options.search));
  for (const SuperSchedule& point : options.points)
    if (point.problem != problem)
      throw UsageError(fmt::format("the schedule '{}' is for another op, type or size than the one asked for",
                                   schedule::to_text(point)));
}

}  // namespace

TuneResult tune(const matrix::SparseTensor& tensor, const TuneOptions& options, const StopToken& stop) {
  check_points(tensor, options);
  return Run(tensor, options, stop).take();
}

}  // namespace waco::tune
