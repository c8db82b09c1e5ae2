#include "waco/train/metrics.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>

using namespace waco;
using namespace waco::train;

namespace {

/// Points with chunks 1, 2, 4, ... and these costs.
Group group_of(const std::vector<float>& costs) {
  Group group;
  group.matrix = "mesh";
  group.problem = {schedule::Op::kSpmv, schedule::ValueType::kF32, 1};
  group.threads = 2;
  for (size_t n = 0; n < costs.size(); ++n) {
    group.points.push_back(
        schedule::parse(fmt::format("spmv f32 | A: i:U k:C | loop: i k | par: i dynamic,{} x2", 1 << n)));
    group.labels.push_back({costs[n], 0.01F, false});
  }
  return group;
}

}  // namespace

TEST_CASE("metrics: groups of which all points would be measured say nothing of regret", "[train]") {
  const Group few = group_of({0, 1, 2, 3});
  std::vector<float> costs(12);
  for (size_t n = 0; n < costs.size(); ++n) costs[n] = static_cast<float>(n);
  const Group many = group_of(costs);
  const GroupCosts wrong_of_few(4, 0);
  GroupCosts wrong_of_many;
  for (const float cost : costs) wrong_of_many.push_back(-cost);
  const Metrics both = metrics_of({&few, &many}, {wrong_of_few, wrong_of_many});
  const Metrics alone = metrics_of({&many}, {wrong_of_many});
  CHECK(both.regret[0] == Approx(std::exp2((3 + 11) / 2.0)));  // ties go to the point drawn later
  CHECK(both.regret[1] == Approx(alone.regret[1]));
  CHECK(both.regret[2] == Approx(alone.regret[2]));
  CHECK(alone.regret[2] == Approx(4));
  CHECK(metrics_of({&few}, {wrong_of_few}).regret[2] == 1);
}

TEST_CASE("metrics: pairs, tau and regret of known costs", "[train]") {
  const Group group = group_of({0, 1, 2, 0.02F});
  // Pairs: 0<1, 0<2, 3<1, 3<2, 1<2; 0 and 3 are nearer than 10 %.
  const Metrics perfect = metrics_of({&group}, {{0, 1, 2, 0}});
  CHECK(perfect.num_pairs == 5);
  CHECK(perfect.pairwise_accuracy == 1);
  CHECK(perfect.kendall_tau == 1);
  CHECK(perfect.regret[0] == Approx(std::exp2(0.02)));  // of equal costs the later one
  CHECK(perfect.regret[1] == 1);
  const Metrics partly = metrics_of({&group}, {{5, 0, 6, 7}});
  CHECK(partly.pairwise_accuracy == Approx(2.0 / 5));  // 0<2 and 1<2
  CHECK(partly.kendall_tau == Approx(-0.2));
  CHECK(partly.regret[0] == Approx(2));
  CHECK(partly.regret[2] == 1);
}

TEST_CASE("metrics: regret is a geometric mean over groups", "[train]") {
  const Group a = group_of({0, 2}), b = group_of({0, 4});
  const Metrics metrics = metrics_of({&a, &b}, {{1, 0}, {1, 0}});
  CHECK(metrics.regret[0] == Approx(8));
  CHECK(metrics.pairwise_accuracy == 0);
}

TEST_CASE("metrics: censored labels are neither best nor the faster of a pair", "[train]") {
  Group group = group_of({0, 1, 3});
  group.labels[0].censored = true;
  const Metrics metrics = metrics_of({&group}, {{0, 1, 2}});
  CHECK(group.best() == 1);
  CHECK(metrics.num_pairs == 1);
  group.labels[1].censored = group.labels[2].censored = true;
  CHECK(metrics_of({&group}, {{0, 1, 2}}).num_groups == 0);
}

TEST_CASE("metrics: random choice and fixed_csr are what they say", "[train]") {
  Group group = group_of({0, 0.5F, 1, 2, 0, 0, 0, 0.25F});  // the last has fixed_csr's chunk of 128
  CHECK(group.baseline() == 7);
  CHECK(baseline_metrics({&group}).regret[0] == Approx(std::exp2(0.25)));
  CHECK(baseline_metrics({&group}).regret[2] == Approx(std::exp2(0.25)));
  const Metrics random = random_metrics({&group}, 1, 2000);
  CHECK(random.pairwise_accuracy == Approx(0.5).margin(0.02));
  CHECK(random.regret[0] == Approx(std::exp2(3.75 / 8)).margin(0.03));
  CHECK(random.num_groups == 1);
}

TEST_CASE("metrics: the worst pair of a matrix is named", "[train]") {
  const Group group = group_of({0, 1, 3});
  const auto worst = worst_misrankings({&group}, {{5, 4, 0}}, 3);
  REQUIRE(worst.size() == 1);
  CHECK(worst[0].ratio == Approx(8));
  CHECK(worst[0].faster == to_text(group.points[0]));
  CHECK(worst[0].slower == to_text(group.points[2]));
  CHECK(worst[0].cost_gap == Approx(5));
  CHECK(worst_misrankings({&group}, {{0, 1, 2}}, 3).empty());
}
