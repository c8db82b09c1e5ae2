// How much work a tuning run puts in.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace waco::tune {

/// See docs/command-line.md.
enum class Effort : uint8_t { kNone, kQuick, kNormal, kFull };
constexpr std::array<Effort, 4> kEfforts = {Effort::kNone, Effort::kQuick, Effort::kNormal, Effort::kFull};

std::string_view name(Effort effort);
std::optional<Effort> parse_effort(std::string_view text);

/// The numbers behind an effort.
struct EffortPlan {
  int64_t evaluations = 4000;        ///< points whose cost a search predicts
  int64_t index_evaluations = 1000;  ///< the same when an index names the first of them; but for `none`
  int top = 10;                      ///< candidates measured
  size_t finalists = 3;              ///< of the last round
  double sample_s = 0.15;            ///< timing of one candidate
  double final_s = 0.6;              ///< timing of one finalist
  int refinements = 4;               ///< rounds over the neighbours of the best
  std::optional<double> budget_s;    ///< seconds after which no new work starts
  /// Time of the plan that is found over that of the fastest there is, as forecasts assume it: round numbers
  /// that were set by hand, 1 for the most effort.
  double expected_regret = 1.02;

  /// Of the candidates, those that the closed-form model alone chooses beside a learned one. They pay where
  /// neighbours follow the one that is right.
  int second_opinions() const { return refinements > 0 ? (top + 2) / 5 : 0; }
  /// Neighbours measured in a round.
  int neighbours_a_round() const { return (2 * top + 2) / 5; }
};

/// The plan of an effort, with the candidates and the budget that were asked for.
EffortPlan plan_of(Effort effort, std::optional<int> top = std::nullopt,
                   std::optional<double> budget_s = std::nullopt);

}  // namespace waco::tune
