// How much work a tuning run puts in.
#include "waco/tune/effort.hpp"

#include <algorithm>
#include <array>

namespace waco::tune {
namespace {
constexpr std::array<std::string_view, 4> kNames = {"none", "quick", "normal", "full"};
}

std::string_view name(Effort effort) {
  return kNames[static_cast<size_t>(effort)];
}

std::optional<Effort> parse_effort(std::string_view text) {
  const auto at = std::find(kNames.begin(), kNames.end(), text);
  if (at == kNames.end()) return std::nullopt;
  return static_cast<Effort>(at - kNames.begin());
}

EffortPlan plan_of(Effort effort, std::optional<int> top, std::optional<double> budget_s) {
  EffortPlan plan;
  if (effort == Effort::kNone) {
    plan.sample_s = plan.final_s = 0;
    plan.refinements = 0;
    plan.expected_regret = 1.12;
  } else if (effort == Effort::kQuick) {
    plan.evaluations = 2000;
    plan.index_evaluations = 300;
    plan.top = 4;
    plan.finalists = 2;
    plan.refinements = 0;
    plan.sample_s = 0.08;
    plan.final_s = 0.2;
    plan.expected_regret = 1.05;
  } else if (effort == Effort::kFull) {
    plan.evaluations = 20000;
    plan.index_evaluations = 6000;
    plan.top = 24;
    plan.finalists = 4;
    plan.sample_s = 0.25;
    plan.final_s = 1.0;
    plan.budget_s = 120;
    plan.expected_regret = 1;
  }
  if (top) plan.top = *top;
  if (budget_s) plan.budget_s = budget_s;
  return plan;
}

}  // namespace waco::tune
