// Forecasts from what each effort does, and the account of what came of it.
#include "waco/tune/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "waco/base/counted.hpp"
#include "waco/measure/session.hpp"
#include "waco/tune/text.hpp"

namespace waco::tune {
namespace {

using nlohmann::json;

// Starting the worker, and in calls of fixed_csr: reference results, random operands, the baseline's
// verification.
constexpr double kStart_ns = 40e6;
constexpr double kCallsToStart = 60;
// Calls that a candidate takes to be verified and warmed up, of about fixed_csr's time.
constexpr double kCallsToVerify = 8;
// A sampling ends before its budget when so many rounds agree. This, what rounds take besides the calls, and
// the share below were fitted to the times of 217 runs of the efforts, which they give within a factor
// of 1.5.
constexpr double kRounds = 200;
constexpr double kOverhead_ns = 3e6;  // of each contestant

/// Sampling so many contestants, each as fast as fixed_csr: until their rounds agree or the budget is spent;
/// but the fewest rounds end only when it is spent four times over, and three are always done.
double sampling_ns(double budget_s, int min_rounds, int contestants, double call_ns) {
  const double round_ns = contestants * call_ns, budget_ns = contestants * budget_s * 1e9;
  const double least_ns = std::max(3 * round_ns, std::min(min_rounds * round_ns, 4 * budget_ns));
  return std::max(least_ns, std::min(budget_ns, kRounds * round_ns + contestants * kOverhead_ns));
}

/// Of all that a plan measures, as if there were no budget.
double measuring_ns(const EffortPlan& plan, const Outlook& outlook) {
  const measure::MeasureOptions timing;
  const double candidates = plan.top + plan.refinements * plan.neighbours_a_round();
  const int finalists = static_cast<int>(std::min<double>(static_cast<double>(plan.finalists), candidates));
  const auto final_ns = [&](int contestants) {
    return sampling_ns(plan.final_s, timing.final.min_rounds, contestants, outlook.csr_ns);
  };
  const double candidate_ns = kCallsToVerify * outlook.csr_ns +
                              sampling_ns(plan.sample_s, timing.quick.min_rounds, 2, outlook.csr_ns) +
                              outlook.pack_ns + outlook.compile_ns / std::max(1, outlook.threads);
  return final_ns(1) + candidates * candidate_ns + final_ns(1 + finalists);
}

std::string_view way_name(const std::optional<Effort>& effort) {
  return effort ? name(*effort) : "stay on CSR";
}

json way_json(const Way& way, int64_t calls) {
  return {{"effort", way.effort ? json(name(*way.effort)) : json(nullptr)},
          {"tune_ns", way.tune_ns},
          {"convert_ns", way.convert_ns},
          {"kernel_ns", way.kernel_ns},
          {"total_ns", way.total_ns(calls)}};
}

std::string way_row(const Way& way, int64_t calls, const std::optional<Effort>& chosen) {
  return fmt::format("{:>12}  {:>9}  {:>9}  {:>9}  {:>9}{}\n", way_name(way.effort), time_text(way.tune_ns),
                     time_text(way.convert_ns), time_text(way.kernel_ns), time_text(way.total_ns(calls)),
                     way.effort == chosen ? "  <- chosen" : "");
}

json or_null(const std::optional<Way>& way, int64_t calls) {
  return way ? way_json(*way, calls) : json(nullptr);
}

/// Of a run that timed nothing.
std::string predicted_account(const Verdict& verdict) {
  const std::string repaid =
      verdict.break_even_calls
          ? fmt::format("repaid after about {}", counted(*verdict.break_even_calls, "call"))
          : fmt::format("never repaid: no plan is faster than CSR with {} a call", time_text(verdict.csr_ns));
  const std::string spent = fmt::format("{} were spent until here", time_text(verdict.spent_ns));
  if (!verdict.chosen)
    return fmt::format("verdict: stay on CSR: tuning is not repaid by {}; predicted: {} ({})\n",
                       counted(verdict.calls, "call"), repaid, spent);
  const Way& way = *verdict.predicted;
  return fmt::format(
      "verdict, predicted as nothing was timed: {}: {} a call, CSR {}; tuning, compiling, packing and {} "
      "take {}, CSR alone {}; {} ({})\n",
      verdict.pays() ? "use the plan" : "stay on CSR", time_text(way.kernel_ns), time_text(verdict.csr_ns),
      counted(verdict.calls, "call"), time_text(way.total_ns(verdict.calls)),
      time_text(verdict.csr_ns * static_cast<double>(verdict.calls)), repaid, spent);
}

}  // namespace

std::optional<int64_t> calls_that_repay(double cost_ns, double saved_ns) {
  const double calls = std::ceil(cost_ns / saved_ns);
  if (saved_ns <= 0 || !(calls < 1e18)) return std::nullopt;
  return static_cast<int64_t>(calls);
}

double ranking_again_ns(double done_ns, int64_t done, int64_t evaluations) {
  // What comes before the first point takes as long as so many: by the times of ranking 100 and 1000 points
  // in docs/measurements/internals.md.
  constexpr double kStart = 200;
  return done_ns * (kStart + static_cast<double>(evaluations)) / (kStart + static_cast<double>(done));
}

Way way_of(Effort effort, const Outlook& outlook) {
  const EffortPlan plan = plan_of(effort, outlook.top, outlook.budget_s);
  const double regret_of_none = plan_of(Effort::kNone).expected_regret;
  double tune_ns = outlook.ranking_ns[static_cast<size_t>(effort)], regret = plan.expected_regret;
  if (effort == Effort::kNone) {
    // Only the kernel has to be compiled, by whoever uses the plan.
    tune_ns += outlook.compile_ns;
  } else {
    tune_ns += kStart_ns + kCallsToStart * outlook.csr_ns;
    const double all_ns = measuring_ns(plan, outlook);
    const double measured_ns =
        plan.budget_s ? std::clamp(*plan.budget_s * 1e9 - tune_ns, 0.0, all_ns) : all_ns;
    tune_ns += measured_ns;
    // Where less is measured than the effort would, the plan is the more like one that was only ranked.
    const double share =
        measured_ns / all_ns * std::min(1.0, static_cast<double>(plan.top) / plan_of(effort).top);
    regret = std::lerp(regret_of_none, regret, share);
  }
  // What is predicted is the point ranked first, which is what `none` answers.
  const double kernel_ns = outlook.best_ns * regret / regret_of_none;
  return {effort, tune_ns, outlook.pack_ns, std::min(outlook.csr_ns, kernel_ns)};
}

std::vector<Way> forecast(const Outlook& outlook) {
  std::vector<Way> ways = {{std::nullopt, 0, 0, outlook.csr_ns}};
  for (const Effort effort : kEfforts) ways.push_back(way_of(effort, outlook));
  return ways;
}

const Way& cheapest(const std::vector<Way>& ways, int64_t calls) {
  return *std::min_element(ways.begin(), ways.end(), [calls](const Way& a, const Way& b) {
    return a.total_ns(calls) < b.total_ns(calls);
  });
}

void Verdict::predict(double spent, const std::optional<Way>& ahead) {
  const Way& csr = forecasts.at(0);
  spent_ns = spent;
  csr_ns = csr.kernel_ns;
  predicted = ahead.value_or(csr);
  predicted->tune_ns += spent;
  if (ahead) {
    break_even_calls = calls_that_repay(ahead->tune_ns + ahead->convert_ns, csr_ns - ahead->kernel_ns);
  } else {
    for (const Way& way : forecasts)
      if (const auto repaid = calls_that_repay(way.tune_ns + way.convert_ns, csr_ns - way.kernel_ns))
        break_even_calls = std::min(*repaid, break_even_calls.value_or(*repaid));
  }
}

bool Verdict::pays() const {
  const std::optional<Way>& way = happened ? happened : predicted;
  if (!chosen || !way) return false;
  // A sum that holds what was spent would be rounded: fixed_csr itself could seem to take less than CSR.
  const auto count = static_cast<double>(calls);
  return way->tune_ns - spent_ns + way->convert_ns + way->kernel_ns * count < csr_ns * count;
}

json to_json(const Verdict& verdict) {
  json forecasts = json::array();
  for (const Way& way : verdict.forecasts) forecasts.push_back(way_json(way, verdict.calls));
  return {{"calls", verdict.calls},
          {"forecasts", forecasts},
          {"chosen", verdict.chosen ? json(name(*verdict.chosen)) : json(nullptr)},
          {"spent_ns", verdict.spent_ns},
          {"happened", or_null(verdict.happened, verdict.calls)},
          {"predicted", or_null(verdict.predicted, verdict.calls)},
          {"csr_ns", verdict.csr_ns > 0 ? json(verdict.csr_ns) : json(nullptr)},
          {"break_even_calls", verdict.break_even_calls ? json(*verdict.break_even_calls) : json(nullptr)},
          {"pays", verdict.pays()}};
}

std::string forecast_text(const Verdict& verdict) {
  std::string text = fmt::format("{:>12}  {:>9}  {:>9}  {:>9}  {:>9}  predicted for {}\n", "effort", "tune",
                                 "convert", "call", "total", counted(verdict.calls, "call"));
  for (const Way& way : verdict.forecasts) text += way_row(way, verdict.calls, verdict.chosen);
  return text;
}

std::string account_text(const Verdict& verdict) {
  if (!verdict.happened) return verdict.predicted ? predicted_account(verdict) : "";
  const double calls = static_cast<double>(verdict.calls);
  const double csr_ns = verdict.csr_ns * calls, all_ns = verdict.happened->total_ns(verdict.calls);
  const std::string spent = fmt::format("tuning, packing and {} take {}, CSR alone {}",
                                        counted(verdict.calls, "call"), time_text(all_ns), time_text(csr_ns));
  if (!verdict.pays()) return fmt::format("verdict: stay on CSR ({})\n", spent);
  const std::string repaid =
      verdict.break_even_calls
          ? fmt::format("; packing is repaid after {}", counted(*verdict.break_even_calls, "call"))
          : "";
  return all_ns < csr_ns ? fmt::format("verdict: use the plan: {}{}\n", spent, repaid)
                         : fmt::format("verdict: use the plan, now that it is found ({}){}\n", spent, repaid);
}

}  // namespace waco::tune
