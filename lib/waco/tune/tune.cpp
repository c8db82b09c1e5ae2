// The whole job for one input, stage by stage.
#include "waco/tune/tune.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <vector>

#include "waco/base/counted.hpp"
#include "waco/base/error.hpp"
#include "waco/base/files.hpp"
#include "waco/measure/compiler.hpp"
#include "waco/measure/statistics.hpp"
#include "waco/measure/tensor_memory.hpp"
#include "waco/tune/decision.hpp"
#include "waco/tune/packing_forecast.hpp"
#include "waco/tune/run.hpp"

namespace waco::tune {

using measure::Measurement;
using schedule::SuperSchedule;

namespace {

constexpr int64_t kManyNonzeros = 1000000;  ///< beyond, the costs of ranking alone are limited

/// Points that the whole model ranks when nothing is measured. Ranking is passes over the pattern, which are
/// to stay below a hundred calls of SpMV where there are more than a million nonzeros, and whole runs below
/// three readings of the file. On 32 real matrices the first choice of 200 was predicted to be 0.1 (SpMM, J =
/// 32) to 0.7 % (SDDMM) slower than that of 6000, and 5 % at most; of 80, 0.3 to 1.4 and 14 %; of 30, 1.2 to
/// 3.4 and 36 %.
int64_t evaluations_without_measuring(int64_t num_nonzeros) {
  constexpr int64_t kFewNonzeros = 1 << 18;
  if (num_nonzeros <= kFewNonzeros) return 300;
  return num_nonzeros <= kManyNonzeros ? 200 : 30;
}

/// What the low end of a speedup has to exceed where only the first of several measurements counts: of many
/// candidates one as fast as fixed_csr is ahead of it there by chance.
constexpr double kAheadUnheld = 1.05;
constexpr double kFinalShare = 0.25;         ///< of the budget, kept for the final round
constexpr int64_t kMostEvaluations = 10000;  ///< of a search for points that have a kernel

}  // namespace

Machine TuneOptions::machine() const {
  return no_compile ? describe_machine() : describe_machine(measure::remembered_target(compiler));
}

void Run::set_effort(Effort effort) {
  result_.effort = effort;
  plan_ = plan_of(effort, options_.top, options_.budget_s);
  const auto within = [this](double share) {
    return plan_.budget_s ? signals_.with_budget(*plan_.budget_s * share - seconds_since(start_)) : signals_;
  };
  whole_budget_ = within(1);
  first_budget_ = within(1 - kFinalShare);
}

void Run::describe() {
  const Stopwatch watch(result_.seconds.machine);
  result_.matrix = summarize(tensor_);
  result_.problem = options_.problem;
  result_.threads = options_.num_threads();
  result_.seed = options_.seed;
  result_.machine = describe_machine(target());
  result_.cost_model = options_.cost_model();
  if (options_.learned) {
    result_.model = options_.learned->folder.string();
    for (const search::OtherModel& other : options_.learned->others)
      result_.other_models.push_back(other.folder.string());
  }
  result_.search = options_.search;
  result_.subspace = options_.subspace;
}

model::Ceilings Run::ceilings() {
  const Stopwatch watch(result_.seconds.machine);
  return model::load_or_measure_ceilings(result_.threads, cache_folder_if_any());
}

void Run::rank() {
  model::Ceilings machine = ceilings().with_vectors_of(result_.machine.compiler.vector_bytes);
  const Stopwatch watch(result_.seconds.search);
  ranking_.emplace(tensor_, options_, result_.threads, std::move(machine));
  keep_to_cache();
  if (options_.points.empty()) {
    search(options_.effort_by_calls ? Effort::kNone : result_.effort);
  } else {
    result_.candidates = ranking_->judge(options_.points);
    sort_candidates(result_.candidates);
    note_features();
  }
}

/// What was counted as searching so far.
void Run::note_features() {
  result_.seconds.search -= ranking_->features_s() - result_.seconds.features;
  result_.seconds.features = ranking_->features_s();
}

/// Whether a search finds out if it pays to cluster rows. That takes longer than reading does, so that it
/// has to be worth its time.
bool Run::may_cluster(Effort effort) const {
  if (signals_.stop_requested()) return false;
  if (effort == Effort::kNone) return tensor_.num_nonzeros() <= kManyNonzeros;
  constexpr double kShare = 0.1;  // of what is left of the budget
  const auto left_s = first_budget_.seconds_left();
  return !left_s || clustering_forecast_ns(tensor_.num_nonzeros()) * 1e-9 < kShare * *left_s;
}

/// Points whose cost an effort predicts.
int64_t Run::evaluations_of(Effort effort) const {
  const EffortPlan plan = plan_of(effort, options_.top);
  int64_t evaluations = plan.evaluations;
  if (search::needs_index(options_.search))
    evaluations = effort == Effort::kNone ? evaluations_without_measuring(tensor_.num_nonzeros())
                                          : plan.index_evaluations;
  // A search returns no more points than it has looked at.
  return std::max<int64_t>(evaluations, 2 * plan.top);
}

void Run::search(Effort effort) {
  set_effort(effort);
  const int64_t evaluations = evaluations_of(effort);
  std::vector<Candidate>& candidates = result_.candidates;
  const bool measures = effort != Effort::kNone;
  Manner manner;
  manner.may_cluster = may_cluster(effort);
  manner.sparing = !measures && tensor_.num_nonzeros() > kManyNonzeros;
  manner.cautious = !measures;
  manner.stop = first_budget_;
  const auto find_first = [&](int wanted) {
    // Whatever is measured or is the answer has to be within the limits for certain.
    manner.num_sure = measures ? static_cast<size_t>(wanted) : 1;
    // Where too few of them have a kernel there are more further down in rank.
    for (const int64_t looked_at : {evaluations, std::max(kMostEvaluations, evaluations)}) {
      result_.num_without_kernel = 0;
      lacking_.clear();
      candidates = ranking_->search(wanted, looked_at, manner);
      if (result_.num_without_kernel == 0 || !measures || std::ssize(candidates) >= wanted) return;
      if (first_budget_()) return;
    }
  };
  const int num_opinions = options_.learned ? plan_.second_opinions() : 0;
  find_first(plan_.top - num_opinions);
  if (num_opinions > 0 && !first_budget_()) {
    std::vector<Candidate> others =
        ranking_->second_opinions(static_cast<size_t>(num_opinions), plan_.evaluations);
    if (std::ssize(others) < num_opinions) {  // too few of them have a kernel
      find_first(plan_.top);
    } else {
      std::move(others.begin(), others.end(), std::back_inserter(candidates));
      sort_candidates(candidates);
    }
  }
  note_features();
  num_found_ = candidates.size();
  result_.num_ranked = ranking_->num_ranked();
  if (only_ranks())
    spdlog::info("ranked {}", counted(result_.num_ranked, "point"));
  else if (effort == Effort::kNone)
    spdlog::info("ranked {}, the first to check", counted(result_.num_ranked, "point"));
  else
    spdlog::info("ranked {}, {} to measure", counted(result_.num_ranked, "point"), num_found_);
  if (result_.num_without_kernel > 0)
    spdlog::info("{} passed over, for want of kernels in the cache",
                 counted(result_.num_without_kernel, "point"));
}

/// Whether the answer is a prediction: nothing is compiled or run.
bool Run::only_ranks() const {
  return result_.effort == Effort::kNone && options_.points.empty() && !options_.check;
}

void Run::take_first() {
  if (result_.candidates.empty()) return stay_on_csr();
  result_.best.emplace().point = result_.candidates[0].measurement.point;
}

/// Whether a plan was found right by now.
bool Run::any_verified() const {
  const bool answered = result_.best && result_.best->verified;
  return answered || std::any_of(result_.candidates.begin(), result_.candidates.end(),
                                 [](const auto& c) { return c.measured && c.measurement.ok(); });
}

/// Within a handler. The machine failed in mid-run: what was found until then is the answer; where that is
/// nothing, the exception goes on. Asked to stop, a run that has measured nothing reports its ranking.
void Run::survive(const std::string& message) {
  if (signals_.stop_requested()) return;
  if (!any_verified()) throw;
  result_.complete = false;
  result_.machine_failed = true;
  result_.stopped_by = message;
}

void Run::note_stop() {
  if (!result_.complete) return;
  const bool all_measured = std::all_of(result_.candidates.begin(), result_.candidates.end(),
                                        [](const Candidate& candidate) { return candidate.measured; });
  const bool none = result_.effort == Effort::kNone || (result_.verdict && !result_.verdict->chosen);
  const bool done = none ? result_.best.has_value() : all_measured && !refinement_cut_ && !final_skipped_;
  if (done && !signals_.stop_requested()) return;
  const std::string_view reason =
      whole_budget_.stop_requested() ? whole_budget_.reason() : first_budget_.reason();
  if (reason.empty()) return;
  result_.complete = false;
  result_.stopped_by = reason;
}

/// Where the cost models come from, unless the first has learned from a machine like this.
void Run::add_foreign_models_warning() {
  const search::Learned& learned = *options_.learned;
  const std::vector<Machine> machines = learned.model.machines();
  const auto is_like_this = [&](const Machine& machine) { return same_hardware(machine, result_.machine); };
  if (machines.empty() || std::ranges::any_of(machines, is_like_this)) return;
  std::vector<std::string> cpus;
  const auto name_cpus = [&](const std::vector<Machine>& named) {
    for (const Machine& machine : named)
      if (std::ranges::count(cpus, machine.cpu_model) == 0) cpus.push_back(machine.cpu_model);
  };
  name_cpus(machines);
  for (const search::OtherModel& other : learned.others) name_cpus(other.model.machines());
  const bool several = !learned.others.empty();
  result_.warnings.push_back(
      fmt::format("the cost {} trained on {} ({}){} (waco-tune --calibrate --op {} fits {} to this one)",
                  several ? "models were" : "model was", several ? "other machines" : "another machine",
                  fmt::join(cpus, ", "),
                  !result_.baseline ? ""
                  : several         ? "; their mean ranks, and measuring here decides"
                                    : "; it ranks, and measuring here decides",
                  schedule::name(options_.problem.op), several ? "one" : "it"));
}

void Run::add_warnings() {
  if (options_.learned && ranking_ && options_.points.empty()) add_foreign_models_warning();
  if (ranking_ && result_.candidates.empty())
    if (const auto reason = ranking_->csr_exclusion())
      result_.warnings.push_back(
          fmt::format("no point is within the limits: CSR itself {}, a third of the free memory", *reason));
  const auto is_uncompiled = [](const Candidate& candidate) {
    return candidate.measured && candidate.measurement.status == measure::Status::kCompile;
  };
  if (!result_.candidates.empty() && std::ranges::all_of(result_.candidates, is_uncompiled))
    result_.warnings.push_back(
        fmt::format("no candidate could be compiled: {}", result_.candidates.front().measurement.message));
  std::vector<double> rejected;
  if (result_.baseline) rejected.push_back(result_.baseline->rejected_share);
  for (const Candidate& candidate : result_.candidates)
    if (candidate.measured && candidate.measurement.ok())
      rejected.push_back(candidate.measurement.rejected_share);
  const measure::Disturbed disturbed = measure::disturbed(rejected, result_.threads);
  result_.disturbed = disturbed.by;
  if (!disturbed.warning.empty()) result_.warnings.push_back(disturbed.warning);
  if (result_.num_without_kernel > 0 && num_found_ < static_cast<size_t>(plan_.top) &&
      (result_.baseline || num_found_ == 0))
    result_.warnings.push_back(
        fmt::format("only {} of {} points to measure had a kernel in the cache; waco-tune --prepare, with a "
                    "compiler, adds more",
                    num_found_, plan_.top));
  if (!result_.complete)
    result_.warnings.push_back(
        fmt::format("stopped early ({}): this is the best so far", result_.stopped_by));
}

TuneResult Run::take() {
  {
    const Stopwatch watch(result_.seconds.total);
    describe();
    if (!too_few_calls()) {
      const bool measures = options_.effort != Effort::kNone || !options_.points.empty() || options_.check;
      if (measures && !options_.effort_by_calls) {  // known before anything is ranked
        measure::check_copies_fit(tensor_.dims, tensor_.num_nonzeros());
        measure::check_operands_fit(options_.problem, tensor_.dims, tensor_.num_nonzeros());
      }
      rank();
      choose_effort();
    }
    try {
      const Stopwatch measuring(result_.seconds.measure);
      if (result_.verdict && !result_.verdict->chosen) {
        stay_on_csr();
      } else if (only_ranks()) {
        take_first();
      } else if (open_session(); result_.effort == Effort::kNone) {
        verify_first();
      } else {
        result_.baseline = session_->baseline();
        measure_all();
        refine();
        hold_finals();
      }
    } catch (const EnvironmentError& error) {
      survive(error.what());
    } catch (const std::system_error& error) {
      survive(error.what());
    } catch (const std::bad_alloc&) {
      survive("out of memory");
    }
  }
  sort_candidates(result_.candidates);
  if (result_.baseline) {
    // Where the final came to nothing, for want of memory or time or because all failed, the first
    // measurements decide.
    const bool held = std::ranges::any_of(result_.candidates, [](const Candidate& candidate) {
      return candidate.finalist && candidate.measurement.ok();
    });
    std::vector<Measurement> contestants;
    for (const Candidate& candidate : result_.candidates)
      if (candidate.measured && candidate.finalist == held &&
          (held || candidate.measurement.speedup.low > kAheadUnheld))
        contestants.push_back(candidate.measurement);
    result_.best = decide(*result_.baseline, contestants, result_.threads, options_.calls);
  }
  settle();
  note_stop();
  add_warnings();
  return std::move(result_);
}

namespace {

void check_points(const matrix::SparseTensor& tensor, const TuneOptions& options) {
  const schedule::Problem& problem = options.problem;
  const int order = schedule::sparse_order(problem.op);
  if (tensor.order() != order)
    throw UsageError(fmt::format("{} needs a {}, and {} is a {}", schedule::name(problem.op),
                                 order == 2 ? "matrix" : "3-D tensor", tensor.name,
                                 tensor.order() == 2 ? "matrix" : "3-D tensor"));
  check_ranking(options);
  for (const SuperSchedule& point : options.points)
    if (point.problem != problem)
      throw UsageError(fmt::format("the schedule '{}' is for another op, type or size than the one asked for",
                                   schedule::to_text(point)));
}

}  // namespace

void check_ranking(const TuneOptions& options) {
  const search::Learned* learned = options.learned.get();
  check_ranking(options.problem.op, options.search,
                learned != nullptr ? std::optional(learned->model.op()) : std::nullopt,
                learned != nullptr && learned->index);
}

void check_ranking(schedule::Op op, std::string_view search, std::optional<schedule::Op> model,
                   bool indexed) {
  if (model && *model != op)
    throw UsageError(fmt::format("the model is for {} and can't rank points of {}", schedule::name(*model),
                                 schedule::name(op)));
  search::check_index(search, indexed);
}

TuneResult tune(const matrix::SparseTensor& tensor, const TuneOptions& options, const StopToken& stop) {
  check_points(tensor, options);
  return Run(tensor, options, stop).take();
}

}  // namespace waco::tune
