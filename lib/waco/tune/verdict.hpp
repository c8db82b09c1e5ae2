// Whether tuning pays when a kernel runs a given number of times: forecasts before, the account after.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "waco/tune/effort.hpp"

namespace waco::tune {

/// One way to run an operation many times. Times are in nanoseconds, from the moment the matrix is in memory
/// as CSR.
struct Way {
  std::optional<Effort> effort;  ///< none: stay on CSR
  double tune_ns = 0;            ///< until a plan is there
  double convert_ns = 0;         ///< packing
  double kernel_ns = 0;          ///< one call
  double total_ns(int64_t calls) const {
    return tune_ns + convert_ns + kernel_ns * static_cast<double>(calls);
  }
};

/// What a forecast goes by; times in nanoseconds.
struct Outlook {
  double csr_ns = 0;      ///< a call of fixed_csr, predicted
  double best_ns = 0;     ///< a call of the point ranked first, predicted
  double pack_ns = 0;     ///< packing it, predicted
  double compile_ns = 0;  ///< wall time of one kernel that is not in the cache; 0 when all are
  /// Ranking for each effort; 0 where that is done.
  std::array<double, kEfforts.size()> ranking_ns = {};
  int threads = 1;
  std::optional<int> top;          ///< candidates to measure, where that was asked for
  std::optional<double> budget_s;  ///< seconds left of a budget that was asked for
};

/// The fewest calls that repay `cost_ns` when each saves `saved_ns`; none when they never do.
std::optional<int64_t> calls_that_repay(double cost_ns, double saved_ns);

/// Ranking `evaluations` points where ranking `done` of the same pattern took so long.
double ranking_again_ns(double done_ns, int64_t done, int64_t evaluations);

/// An effort, as far as the budget lets it go. Measuring more candidates finds faster plans and takes longer.
Way way_of(Effort effort, const Outlook& outlook);

/// CSR as it is, then every effort.
std::vector<Way> forecast(const Outlook& outlook);

/// The way with the least total for so many calls; the earlier of equals.
const Way& cheapest(const std::vector<Way>& ways, int64_t calls);

/// What was predicted for a number of calls, what was chosen, and what came of it.
struct Verdict {
  int64_t calls = 0;
  std::vector<Way> forecasts;    ///< as forecast() gives them
  std::optional<Effort> chosen;  ///< none: stay on CSR
  double spent_ns = 0;           ///< on tuning until now
  std::optional<Way> happened;   ///< once tuned and timed; its kernel is the best plan's
  std::optional<Way> predicted;  ///< instead, where nothing was timed; see predict()
  double csr_ns = 0;             ///< a call of fixed_csr: measured with `happened`, otherwise predicted
  /// Calls that repay what is to be spent from now on: packing, and after predict() compiling. Where CSR was
  /// chosen, the calls from which tuning as a whole pays by the forecasts.
  std::optional<int64_t> break_even_calls;

  /// Fills in the account where nothing was timed and `spent` nanoseconds went by: `ahead` is what the plan
  /// that is the answer costs from now on; none where CSR was chosen.
  void predict(double spent, const std::optional<Way>& ahead);
  /// From now on, running the plan costs less than staying on CSR; by predictions where nothing was timed.
  bool pays() const;
};

nlohmann::json to_json(const Verdict& verdict);
/// Lines for people: the forecast of each way and the choice; then what happened.
std::string forecast_text(const Verdict& verdict);
std::string account_text(const Verdict& verdict);

}  // namespace waco::tune
