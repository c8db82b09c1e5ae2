// Runs that are told the number of calls: which effort pays, and whether the plan does.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <limits>

#include "waco/base/error.hpp"
#include "waco/base/files.hpp"
#include "waco/measure/session.hpp"
#include "waco/measure/tensor_memory.hpp"
#include "waco/tune/csr_forecast.hpp"
#include "waco/tune/decision.hpp"
#include "waco/tune/packing_forecast.hpp"
#include "waco/tune/run.hpp"

namespace waco::tune {

using measure::Measurement;
using schedule::SuperSchedule;

namespace {

/// Wall time of a kernel: 65 to 180 ms on the machine of docs/performance.md.
constexpr double kCompile_ns = 0.12e9;
/// Of plans over fixed_csr, where nothing is known of a matrix.
constexpr double kUsualSpeedup = 2.5;
constexpr double kUsualPacking_ns = 10;  ///< of a nonzero, one thread

void tell_forecasts(const Verdict& verdict) {
  spdlog::info("forecasts:\n{}", forecast_text(verdict));
}

}  // namespace

/// What is known before a point is: fixed_csr, and what was asked for.
Outlook Run::first_outlook(const model::Ceilings& machine) const {
  Outlook outlook;
  outlook.csr_ns = csr_forecast_ns(options_.problem, tensor_.dims, tensor_.num_nonzeros(), machine);
  outlook.threads = result_.threads;
  outlook.top = options_.top;
  if (options_.budget_s) outlook.budget_s = *options_.budget_s - seconds_since(start_);
  return outlook;
}

/// One that stays on CSR.
Verdict& Run::begin_verdict(const Outlook& outlook) {
  Verdict& verdict = result_.verdict.emplace();
  verdict.calls = *options_.calls;
  verdict.forecasts = forecast(outlook);
  return verdict;
}

/// Whether a plan of the usual speed, already compiled, would not repay ranking and packing. The verdict then
/// says from how many calls tuning usually pays.
bool Run::too_few_calls() {
  if (!options_.calls || !options_.effort_by_calls || !options_.points.empty()) return false;
  // Measuring the machine would take longer than the calls.
  Outlook outlook = first_outlook(model::load_ceilings(result_.threads, cache_folder_if_any()));
  outlook.best_ns = outlook.csr_ns / kUsualSpeedup;
  const double ranking_ns =
      ranking_forecast_ns(options_.problem.op, tensor_.num_nonzeros(), evaluations_of(Effort::kNone));
  outlook.ranking_ns.fill(ranking_ns);
  outlook.pack_ns = kUsualPacking_ns * static_cast<double>(tensor_.num_nonzeros()) / result_.threads;
  const double saved_ns = (outlook.csr_ns - outlook.best_ns) * static_cast<double>(*options_.calls);
  if (saved_ns > ranking_ns + outlook.pack_ns) return false;
  set_effort(Effort::kNone);
  outlook.compile_ns = kCompile_ns;
  tell_forecasts(begin_verdict(outlook));
  return true;
}

/// Once ranked, of a candidate whose kernel is compiled.
Outlook Run::outlook_of(const Candidate& candidate) {
  Outlook outlook = first_outlook(ranking_->ceilings());
  const SuperSchedule& point = candidate.measurement.point;
  // Models compare points better than they know absolute times.
  outlook.best_ns =
      outlook.csr_ns * candidate.predicted_cost_ns.value_or(ranking_->csr_ns()) / ranking_->csr_ns();
  outlook.pack_ns =
      packing_forecast_ns(point, tensor_.num_nonzeros(), ranking_->expected_bytes(point), result_.threads);
  return outlook;
}

/// Whether the point's kernel is in the cache; false where that can't be told.
bool Run::is_known_compiled(const SuperSchedule& point) const {
  if (options_.no_compile && !kernels_of_) return false;
  try {
    return is_compiled(*kernels(), point);
  } catch (const EnvironmentError&) {  // there is no compiler, or no folder, or a stop
    return false;
  }
}

/// Those that the free memory allows: measuring takes copies of the tensor, and the dense operands.
std::vector<Way> Run::ways_with_memory(std::vector<Way> ways) {
  if (options_.check) return ways;  // which measures whatever is chosen, and says what is lacking
  try {
    measure::check_copies_fit(tensor_.dims, tensor_.num_nonzeros());
    measure::check_operands_fit(options_.problem, tensor_.dims, tensor_.num_nonzeros());
  } catch (const EnvironmentError& error) {
    std::erase_if(ways, [](const Way& way) { return way.effort && *way.effort != Effort::kNone; });
    result_.warnings.push_back(fmt::format("nothing can be measured: {}", error.what()));
  }
  return ways;
}

/// What every effort would cost from now on, and with effort_by_calls, which is taken. Another effort than
/// that of the ranking that was done ranks anew.
void Run::choose_effort() {
  if (!options_.calls) return;
  if (result_.candidates.empty()) {
    Outlook outlook = first_outlook(ranking_->ceilings());
    outlook.best_ns = std::numeric_limits<double>::infinity();  // nothing but CSR is left
    Verdict& verdict = begin_verdict(outlook);
    // An effort that is given is taken: it measures fixed_csr.
    if (result_.effort != Effort::kNone) verdict.chosen = result_.effort;
    tell_forecasts(verdict);
    return;
  }
  const Stopwatch watch(result_.seconds.search);
  const Candidate& first = result_.candidates[0];
  Outlook outlook = outlook_of(first);
  compile_ns_ = is_known_compiled(first.measurement.point) ? 0 : kCompile_ns;
  outlook.compile_ns = compile_ns_;
  const double ranked_ns = (result_.seconds.search - ranking_->clustering_s()) * 1e9;
  for (const Effort effort : kEfforts)
    if (options_.points.empty() && effort != result_.effort)
      outlook.ranking_ns[static_cast<size_t>(effort)] =
          ranking_again_ns(ranked_ns, evaluations_of(result_.effort), evaluations_of(effort)) +
          (may_cluster(effort) && !may_cluster(result_.effort)
               ? clustering_forecast_ns(tensor_.num_nonzeros())
               : 0);
  Verdict& verdict = begin_verdict(outlook);
  verdict.chosen = options_.effort_by_calls
                       ? cheapest(ways_with_memory(verdict.forecasts), verdict.calls).effort
                       : std::optional(options_.effort);
  tell_forecasts(verdict);
  if (!options_.effort_by_calls || !verdict.chosen || *verdict.chosen == result_.effort) return;
  if (signals_.stop_requested())
    set_effort(*verdict.chosen);  // which measures nothing: the ranking that there is is reported
  else
    search(*verdict.chosen);
}

/// fixed_csr without a measurement; verified where that was asked for.
void Run::stay_on_csr() {
  Best& best = result_.best.emplace();
  best.point = schedule::csr_point(options_.problem, result_.threads);
  best.is_baseline = true;
  if (options_.check) verify_csr();
}

/// Where a stop keeps it from being verified, there is no answer: a plan that is there stays.
void Run::verify_csr() {
  try {
    if (!session_) open_session();
    const Measurement& csr = session_->baseline();
    result_.best->verified = csr.ok();
    result_.best->pack_ns = csr.pack_ns;
    result_.best->stored_bytes = csr.stored_bytes;
  } catch (const EnvironmentError&) {
    if (!signals_.stop_requested()) throw;
    result_.best.reset();
  }
}

/// What the answer of a run that timed nothing costs from now on.
Way Run::way_ahead() {
  const Best& best = *result_.best;
  const auto answer =
      std::find_if(result_.candidates.begin(), result_.candidates.end(),
                   [&](const Candidate& candidate) { return candidate.measurement.point == best.point; });
  WACO_ASSERT(answer != result_.candidates.end());
  Outlook outlook = outlook_of(*answer);
  if (best.verified) {
    outlook.pack_ns = static_cast<double>(best.pack_ns);
  } else {
    outlook.compile_ns = compile_ns_;
  }
  return way_of(Effort::kNone, outlook);
}

/// With the number of calls known, the plan has to pay; where nothing was timed, by what is predicted.
void Run::settle() {
  if (!result_.verdict || !result_.best) return;
  Verdict& verdict = *result_.verdict;
  const double spent_ns = (result_.seconds.machine + result_.seconds.rank() + result_.seconds.measure) * 1e9;
  if (!result_.baseline) {
    verdict.predict(spent_ns,
                    verdict.chosen && !result_.best->is_baseline ? std::optional(way_ahead()) : std::nullopt);
    if (!verdict.pays() && !result_.best->is_baseline) stay_on_csr();
    return;
  }
  verdict.spent_ns = spent_ns;
  // Of the rounds that the plan was timed in: medians of different rounds do not compare.
  verdict.csr_ns = result_.best->is_baseline ? result_.baseline->median_ns()
                                             : result_.best->time_ns.median * result_.best->speedup.median;
  const double pack_ns = result_.best->is_baseline ? 0 : static_cast<double>(result_.best->pack_ns);
  verdict.happened = Way{result_.effort, spent_ns, pack_ns, result_.best->time_ns.median};
  verdict.break_even_calls = result_.break_even_calls();
  if (!verdict.pays()) result_.best = decide(*result_.baseline, {}, result_.threads);
}

}  // namespace waco::tune
