// Means over a few points and their clustered twins.
#include "waco/tune/row_orders.hpp"

#include <algorithm>
#include <cmath>

namespace waco::tune {
namespace {

using schedule::SuperSchedule;

/// Clustered points are looked at where the best others are expected to take at most this share of their time
/// with clustered rows, whatever these cost on the machine: expectations err by more, and measuring decides.
constexpr double kWorthClustering = 0.95;

double clustered_share(PatternCosts& given, PatternCosts& clustered, const SuperSchedule& point) {
  return given.closed_form().clustered_share(clustered.closed_form(), point);
}

}  // namespace

bool is_worth_clustering(PatternCosts& given, PatternCosts& clustered,
                         std::span<const SuperSchedule> points) {
  double log_sum = 0;
  for (const SuperSchedule& point : points) log_sum += std::log(clustered_share(given, clustered, point));
  return log_sum <= std::log(kWorthClustering) * static_cast<double>(points.size());
}

double order_handicap(PatternCosts& given, PatternCosts& clustered, std::span<const SuperSchedule> points) {
  double log_sum = 0, count = 0;
  for (const SuperSchedule& point : points) {
    const SuperSchedule twin = schedule::arranged(point, schedule::Arrangement::kClustered);
    const double expected_ns = clustered_share(given, clustered, point) * given.costs_ns({&point, 1})[0];
    const double cost_ns = clustered.costs_ns({&twin, 1})[0];
    if (expected_ns > 0 && cost_ns > 0) log_sum += std::log(expected_ns / cost_ns), count += 1;
  }
  return std::exp(log_sum / std::max(1.0, count));
}

}  // namespace waco::tune
