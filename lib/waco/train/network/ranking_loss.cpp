// Pairwise hinge loss and squared errors.
#include "waco/train/network/ranking_loss.hpp"

#include <algorithm>
#include <limits>

namespace waco::train {
namespace {

/// Mean over the groups of their weighted means; sums of weighted values, and of weights [M].
torch::Tensor mean_of(const torch::Tensor& sums, const torch::Tensor& totals) {
  return (sums / totals.clamp_min(1e-6)).mean();
}

/// Mean over the points of each group, then over groups: weights and values [M, N].
torch::Tensor mean_by_group(const torch::Tensor& values, const torch::Tensor& weights) {
  return mean_of((values * weights).sum(1), weights.sum(1));
}

/// How far costs are from the labels: too low only matters for censored ones. [M, N]
torch::Tensor distances(const torch::Tensor& costs, const Batch& batch) {
  const torch::Tensor difference = costs - batch.cost;
  return torch::where(batch.censored, difference.clamp_max(0), difference);
}

torch::Tensor squared_error(const torch::Tensor& costs, const Batch& batch) {
  return mean_by_group(distances(costs, batch).square(), batch.present.to(torch::kFloat32));
}

torch::Tensor anchor(const torch::Tensor& costs, const Batch& batch) {
  const torch::Tensor distance = distances(costs, batch).abs();
  const torch::Tensor huber = torch::where(distance < 1, 0.5 * distance.square(), distance - 0.5);
  return mean_by_group(huber, batch.present.to(torch::kFloat32));
}

torch::Tensor hinge(const torch::Tensor& costs, const Batch& batch, const LossOptions& options) {
  const torch::Tensor uncertain = batch.censored.logical_or(batch.present.logical_not());
  const torch::Tensor best =
      batch.cost.masked_fill(uncertain, std::numeric_limits<float>::max()).amin(1, true);        // [M, 1]
  const torch::Tensor weight = 1 / (1 + options.top_weight * (batch.cost - best).clamp_min(0));  // [M, N]
  const int64_t num_groups = batch.cost.size(0), num_points = batch.cost.size(1);
  // Pairs are as many as the square of the points: a few rows of each group at a time.
  const int64_t num_rows =
      std::max<int64_t>(1, options.pairs_at_once / std::max<int64_t>(1, num_groups * num_points));
  torch::Tensor sums = torch::zeros({num_groups}), totals = torch::zeros({num_groups});
  for (int64_t begin = 0; begin < num_points; begin += num_rows) {
    const auto rows = [&](const torch::Tensor& values) {
      return values.slice(1, begin, std::min(num_points, begin + num_rows)).unsqueeze(2);  // [M, rows, 1]
    };
    // Entry [m, i, j] is about i being slower than j.
    const torch::Tensor gap = rows(batch.cost) - batch.cost.unsqueeze(1);  // [M, rows, N]
    const torch::Tensor noise = (rows(batch.noise) + batch.noise.unsqueeze(1)).clamp_min(options.least_gap);
    const torch::Tensor ordered = (gap > noise)
                                      .logical_and(batch.censored.logical_not().unsqueeze(1))
                                      .logical_and(batch.present.unsqueeze(1))
                                      .logical_and(rows(batch.present));
    const torch::Tensor weights = ordered.to(torch::kFloat32) * weight.unsqueeze(1);
    const torch::Tensor wanted = gap.clamp_max(options.most_gap);
    const torch::Tensor missing = (wanted - (rows(costs) - costs.unsqueeze(1))).clamp_min(0);
    sums = sums + (missing * weights).flatten(1).sum(1);
    totals = totals + weights.flatten(1).sum(1);
  }
  return mean_of(sums, totals);
}

}  // namespace

torch::Tensor loss_of(const torch::Tensor& costs, const Batch& batch, const LossOptions& options) {
  if (options.kind == Loss::kL2) return squared_error(costs, batch);
  torch::Tensor loss = hinge(costs, batch, options);
  if (options.anchor > 0) loss = loss + options.anchor * anchor(costs, batch);
  return loss;
}

}  // namespace waco::train
