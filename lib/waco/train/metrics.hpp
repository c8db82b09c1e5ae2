// How good predicted costs are: order of pairs, and what measuring only the most promising points costs.
#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "waco/train/data/groups.hpp"

namespace waco::train {

/// Numbers of points that regret is told for.
inline constexpr std::array<int, 3> kRegretPoints{1, 5, 10};

/// Of one model over several groups.
struct Metrics {
  int64_t num_groups = 0;
  int64_t num_pairs = 0;         ///< whose times are more than 10 % apart, and beyond their noise
  double pairwise_accuracy = 0;  ///< share of them that the costs order as the times do
  double kendall_tau = 0;        ///< mean over groups, of the same pairs: right minus wrong as a share
  /// Best time among the k points of least cost over the best of the group: geometric mean over groups, for
  /// k of kRegretPoints. 1 is best.
  std::array<double, kRegretPoints.size()> regret{1, 1, 1};
};

/// Costs of the points of one group, [group.size()].
using GroupCosts = std::vector<double>;

/// `costs` belong to `groups`. Groups that nothing was timed to the end in are left out.
Metrics metrics_of(const std::vector<const Group*>& groups, const std::vector<GroupCosts>& costs);

/// The same for a model that knows nothing: expected values over all orders, by `draws` random ones.
Metrics random_metrics(const std::vector<const Group*>& groups, uint64_t seed, int draws = 50);

/// For the one that always takes fixed_csr: only its regret means anything.
Metrics baseline_metrics(const std::vector<const Group*>& groups);

/// A pair whose order the costs have wrong.
struct Misranking {
  std::string matrix;
  std::string faster, slower;  ///< text forms of the points
  double ratio = 1;            ///< time of the slower one over that of the faster one
  double cost_gap = 0;         ///< cost of the faster one minus that of the slower one
};

/// The worst pair of each group, the worst first, at most `count`.
std::vector<Misranking> worst_misrankings(const std::vector<const Group*>& groups,
                                          const std::vector<GroupCosts>& costs, size_t count);

nlohmann::ordered_json to_json(const Metrics& metrics);
/// Throws nlohmann::json::exception when a key is missing.
Metrics metrics_from_json(const nlohmann::json& json);
nlohmann::ordered_json to_json(const Misranking& misranking);

}  // namespace waco::train
