// Costs by the model at hand.
#include "waco/tune/pattern_costs.hpp"

#include <algorithm>
#include <chrono>

#include "waco/base/clock.hpp"

namespace waco::tune {

using schedule::SuperSchedule;

std::vector<double> PatternCosts::CountingModel::costs(std::span<const SuperSchedule> points) {
  num_points += static_cast<int64_t>(points.size());
  if (arrangement_ == schedule::Arrangement::kGiven) return model_->costs(points);
  std::vector<SuperSchedule> stored(points.begin(), points.end());
  for (SuperSchedule& point : stored) point.format.arrangement = arrangement_;
  return model_->costs(stored);
}

PatternCosts::PatternCosts(const matrix::SparseTensor& tensor, schedule::Arrangement arrangement,
                           const TuneOptions& options, const schedule::SpaceLimits& limits,
                           model::Ceilings ceilings)
    : tensor_(tensor),
      arrangement_(arrangement),
      options_(options),
      limits_(limits),
      counts_(tensor),
      closed_form_(tensor, std::move(ceilings)),
      closed_form_costs_(closed_form_, arrangement),
      counting_(closed_form_, arrangement),
      csr_ns_(closed_form_.terms(schedule::csr_point(options.problem, limits.max_threads)).total_ns) {}

double PatternCosts::look_up() {
  if (!options_.learned) return 0;
  const auto start = std::chrono::steady_clock::now();
  lookup_.emplace(*options_.learned, tensor_, options_.problem, closed_form_, limits_.max_threads);
  // A learned model predicts shares of fixed_csr's time, which the closed-form model knows in nanoseconds.
  counting_ = CountingModel(lookup_->costs(), arrangement_);
  return seconds_since(start);
}

std::vector<double> PatternCosts::costs_ns(std::span<const SuperSchedule> points) {
  std::vector<double> costs = counting_.costs(points);
  for (double& cost : costs) cost *= cost_unit_ns();
  return costs;
}

std::optional<std::string> PatternCosts::exclusion(const SuperSchedule& point) const {
  return schedule::exclusion_reason(point, counts_, limits_);
}

double PatternCosts::expected_bytes(const SuperSchedule& point) {
  const model::FormatCounts expected = closed_form_.expected_storage(point);
  return expected.stored_values * static_cast<double>(value_bytes(point.problem.type)) + expected.index_bytes;
}

/// Whether the point streams a result that the threads' own L2 caches hold. Where cores take lines over from
/// each other slowly, that was 1.06 times as fast in the middle of the records, elsewhere 0.86 and down to
/// 0.42, and a virtual machine goes from one to the other within minutes. Whoever reads the result next had
/// rather find it there, too.
bool PatternCosts::evicts_result(const SuperSchedule& point) const {
  if (!point.compute.stream) return false;
  const auto elements = static_cast<double>(counts_.dim(0)) * static_cast<double>(point.problem.rhs);
  const auto l2_bytes = static_cast<double>(closed_form_.ceilings().levels[1].capacity_bytes);
  return elements * value_bytes(point.problem.type) <= l2_bytes * point.compute.threads;
}

bool PatternCosts::judge_by_estimate(const SuperSchedule& point) {
  constexpr double kDoubt = 2;
  const double stored_values = closed_form_.expected_storage(point).stored_values;
  const auto nonzeros = static_cast<double>(std::max<int64_t>(1, counts_.num_nonzeros()));
  const double excess = std::max(stored_values / nonzeros / limits_.max_fill,
                                 expected_bytes(point) / static_cast<double>(limits_.max_bytes));
  if (excess > kDoubt) return false;
  const bool is_small =
      excess * kDoubt < 1 && !schedule::threads_share_outputs(point, schedule::analyze(point));
  return is_small ? point.compute.threads <= limits_.max_threads : !exclusion(point);
}

bool PatternCosts::seems_feasible(const SuperSchedule& point) {
  if (evicts_result(point)) return false;
  const auto [entry, is_new] = feasible_by_key_.try_emplace(schedule::limits_key(point), false);
  if (is_new) entry->second = counts_storage_ ? !exclusion(point) : judge_by_estimate(point);
  return entry->second;
}

void PatternCosts::distrust_estimates() {
  counts_storage_ = true;
  feasible_by_key_.clear();
}

}  // namespace waco::tune
