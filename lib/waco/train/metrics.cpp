// Pairs and regrets.
#include "waco/train/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "waco/base/error.hpp"
#include "waco/base/random.hpp"

namespace waco::train {
namespace {

const float kTenPercent = std::log2(1.1F);

struct PairCounts {
  int64_t right = 0, wrong = 0;
  int64_t total() const { return right + wrong; }
};

/// Calls visit(slow, fast) for every pair of points that the labels order.
template <class Visit>
void for_each_pair(const Group& group, Visit visit) {
  for (size_t i = 0; i < group.size(); ++i)
    for (size_t j = 0; j < group.size(); ++j)
      if (is_slower(group.labels[i], group.labels[j], kTenPercent)) visit(i, j);
}

PairCounts count_pairs(const Group& group, const GroupCosts& costs) {
  PairCounts counts;
  for_each_pair(
      group, [&](size_t slow, size_t fast) { ++(costs[slow] > costs[fast] ? counts.right : counts.wrong); });
  return counts;
}

/// log2 of the regret of measuring the `count` points of least cost. Ties go to the point that was drawn
/// later, so that a constant cost does not look good.
double log_regret(const Group& group, const GroupCosts& costs, size_t count) {
  std::vector<size_t> order(group.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return costs[a] != costs[b] ? costs[a] < costs[b] : a > b; });
  double least = std::numeric_limits<double>::infinity();
  for (size_t n = 0; n < std::min(count, order.size()); ++n)
    least = std::min<double>(least, group.labels[order[n]].cost);
  return std::max(0.0, least - group.best());
}

bool counts(const Group& group) {
  return std::isfinite(group.best());
}

/// Means over groups.
class Summing {
 public:
  void add(const Group& group, const GroupCosts& costs) {
    WACO_ASSERT(costs.size() == group.size());
    const PairCounts pairs = count_pairs(group, costs);
    ++result_.num_groups;
    result_.num_pairs += pairs.total();
    right_ += pairs.right;
    if (pairs.total() > 0) {
      tau_ += static_cast<double>(pairs.right - pairs.wrong) / static_cast<double>(pairs.total());
      ++num_with_pairs_;
    }
    for (size_t k = 0; k < kRegretPoints.size(); ++k) {
      const auto count = static_cast<size_t>(kRegretPoints[k]);
      if (group.size() <= count) continue;  // all are measured, whatever the model says
      regret_[k] += log_regret(group, costs, count);
      ++num_larger_[k];
    }
  }

  Metrics result() const {
    Metrics result = result_;
    if (result.num_pairs > 0)
      result.pairwise_accuracy = static_cast<double>(right_) / static_cast<double>(result.num_pairs);
    if (num_with_pairs_ > 0) result.kendall_tau = tau_ / static_cast<double>(num_with_pairs_);
    for (size_t k = 0; k < kRegretPoints.size(); ++k)
      if (num_larger_[k] > 0) result.regret[k] = std::exp2(regret_[k] / static_cast<double>(num_larger_[k]));
    return result;
  }

 private:
  Metrics result_;
  int64_t right_ = 0;
  int64_t num_with_pairs_ = 0;
  double tau_ = 0;
  std::array<double, kRegretPoints.size()> regret_{};
  std::array<int64_t, kRegretPoints.size()> num_larger_{};  ///< groups of more points than regret is told for
};

}  // namespace

Metrics metrics_of(const std::vector<const Group*>& groups, const std::vector<GroupCosts>& costs) {
  WACO_ASSERT(groups.size() == costs.size());
  Summing sum;
  for (size_t g = 0; g < groups.size(); ++g)
    if (counts(*groups[g])) sum.add(*groups[g], costs[g]);
  return sum.result();
}

Metrics random_metrics(const std::vector<const Group*>& groups, uint64_t seed, int draws) {
  Summing sum;
  for (size_t g = 0; g < groups.size(); ++g) {
    if (!counts(*groups[g])) continue;
    Random random(seed, g);
    GroupCosts costs(groups[g]->size());
    for (int draw = 0; draw < draws; ++draw) {
      for (double& cost : costs) cost = random.uniform();
      sum.add(*groups[g], costs);
    }
  }
  Metrics result = sum.result();
  result.num_groups /= draws;
  result.num_pairs /= draws;
  return result;
}

Metrics baseline_metrics(const std::vector<const Group*>& groups) {
  std::vector<const Group*> with_baseline;
  std::vector<GroupCosts> costs;
  for (const Group* group : groups) {
    const int baseline = group->baseline();
    if (baseline < 0) continue;
    // No other point is ever among the best.
    GroupCosts own(group->size(), std::numeric_limits<double>::infinity());
    own[static_cast<size_t>(baseline)] = 0;
    with_baseline.push_back(group);
    costs.push_back(std::move(own));
  }
  Metrics result = metrics_of(with_baseline, costs);
  result.regret.fill(result.regret[0]);
  result.num_pairs = 0;
  result.pairwise_accuracy = result.kendall_tau = 0;
  return result;
}

std::vector<Misranking> worst_misrankings(const std::vector<const Group*>& groups,
                                          const std::vector<GroupCosts>& costs, size_t count) {
  std::vector<Misranking> worst;
  for (size_t g = 0; g < groups.size(); ++g) {
    const Group& group = *groups[g];
    double most = 0;
    std::pair<size_t, size_t> pair;  // slow, fast
    for_each_pair(group, [&](size_t slow, size_t fast) {
      const double gap = group.labels[slow].cost - group.labels[fast].cost;
      if (costs[g][slow] <= costs[g][fast] && gap > most) most = gap, pair = {slow, fast};
    });
    if (most == 0) continue;
    worst.push_back({group.matrix, to_text(group.points[pair.second]), to_text(group.points[pair.first]),
                     std::exp2(most), costs[g][pair.second] - costs[g][pair.first]});
  }
  std::stable_sort(worst.begin(), worst.end(),
                   [](const Misranking& a, const Misranking& b) { return a.ratio > b.ratio; });
  if (worst.size() > count) worst.resize(count);
  return worst;
}

nlohmann::ordered_json to_json(const Metrics& metrics) {
  nlohmann::ordered_json json = {{"groups", metrics.num_groups}};
  if (metrics.num_pairs > 0) {
    json["pairs"] = metrics.num_pairs;
    json["pairwise_accuracy"] = metrics.pairwise_accuracy;
    json["kendall_tau"] = metrics.kendall_tau;
  }
  for (size_t k = 0; k < kRegretPoints.size(); ++k)
    json[fmt::format("top{}_regret", kRegretPoints[k])] = metrics.regret[k];
  return json;
}

Metrics metrics_from_json(const nlohmann::json& json) {
  Metrics metrics;
  metrics.num_groups = json.at("groups");
  metrics.num_pairs = json.value("pairs", int64_t{0});
  metrics.pairwise_accuracy = json.value("pairwise_accuracy", 0.0);
  metrics.kendall_tau = json.value("kendall_tau", 0.0);
  for (size_t k = 0; k < kRegretPoints.size(); ++k)
    metrics.regret[k] = json.at(fmt::format("top{}_regret", kRegretPoints[k]));
  return metrics;
}

nlohmann::ordered_json to_json(const Misranking& misranking) {
  return {{"matrix", misranking.matrix},
          {"faster", misranking.faster},
          {"slower", misranking.slower},
          {"ratio", misranking.ratio},
          {"cost_gap", misranking.cost_gap}};
}

}  // namespace waco::train
