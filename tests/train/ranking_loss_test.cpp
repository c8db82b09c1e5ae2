#include "waco/train/network/ranking_loss.hpp"

#include <torch/types.h>

#include <catch2/catch.hpp>

using namespace waco::train;

namespace {

Batch batch_of(const std::vector<float>& cost, const std::vector<bool>& censored = {}) {
  Batch batch;
  const auto count = static_cast<int64_t>(cost.size());
  batch.cost = torch::tensor(cost).view({1, count});
  batch.noise = torch::full({1, count}, 0.005);
  batch.present = torch::ones({1, count}, torch::kBool);
  batch.censored = torch::zeros({1, count}, torch::kBool);
  for (size_t n = 0; n < censored.size(); ++n) batch.censored[0][static_cast<int64_t>(n)] = bool(censored[n]);
  return batch;
}

torch::Tensor costs_of(const std::vector<float>& costs) {
  return torch::tensor(costs).view({1, static_cast<int64_t>(costs.size())}).set_requires_grad(true);
}

LossOptions plain() {
  LossOptions options;
  options.top_weight = 0;
  options.anchor = 0;
  return options;
}

double loss(const std::vector<float>& costs, const Batch& batch, const LossOptions& options = plain()) {
  return loss_of(costs_of(costs), batch, options).item<double>();
}

}  // namespace

TEST_CASE("ranking loss: a pair is asked to be apart by its log ratio, at most 1", "[train]") {
  CHECK(loss({0, 0}, batch_of({0, 0.5})) == Approx(0.5));
  CHECK(loss({0, 0.5}, batch_of({0, 0.5})) == Approx(0).margin(1e-6));
  CHECK(loss({0, 0}, batch_of({0, 7})) == Approx(1));
  CHECK(loss({0, 3}, batch_of({0, 7})) == Approx(0).margin(1e-6));
  CHECK(loss({3, 0}, batch_of({0, 7})) == Approx(4));
}

TEST_CASE("ranking loss: ties and pairs inside the noise give no gradient", "[train]") {
  Batch batch = batch_of({0, 0.05});
  const torch::Tensor costs = costs_of({3, 1});
  loss_of(costs, batch, plain()).backward();
  CHECK(costs.grad().abs().sum().item<double>() == 0);
  batch = batch_of({0, 0.5});
  batch.noise.fill_(0.3);
  CHECK(loss({3, 1}, batch) == 0);
}

TEST_CASE("ranking loss: a censored point is only ever the slower one", "[train]") {
  const Batch batch = batch_of({0, 2, 3}, {false, true, false});
  // Pairs: 1 over 0 and 2 over 0; nothing is known of 1 and 2.
  CHECK(loss({0, 1, 1}, batch) == Approx(0).margin(1e-6));
  CHECK(loss({0, 9, 1}, batch) == Approx(0).margin(1e-6));
  CHECK(loss({0, 0, 1}, batch) == Approx(0.5));
}

TEST_CASE("ranking loss: pairs near the best weigh more", "[train]") {
  LossOptions options = plain();
  options.top_weight = 1;
  // Pairs over point 0 weigh 1, the one of 1 and 2 weighs 1 / (1 + 3).
  const Batch batch = batch_of({0, 3, 5});
  CHECK(loss({0, 5, 5}, batch, options) == Approx(0.25 / 2.25));
  CHECK(loss({0, 0, 5}, batch, options) == Approx(1 / 2.25));
}

TEST_CASE("ranking loss: pairs taken in parts give the loss and gradients of all", "[train]") {
  Batch batch = batch_of({0, 0.5, 3, 1, 2}, {false, false, true});
  batch.present[0][4] = false;
  LossOptions options;
  const auto gradients = [&] {
    const torch::Tensor costs = costs_of({2, 1, 0, 1.5, 7});
    loss_of(costs, batch, options).backward();
    return costs.grad();
  };
  const std::vector<float> costs = {2, 1, 0, 1.5, 7};
  const double all = loss(costs, batch, options);
  const torch::Tensor gradients_of_all = gradients();
  CHECK(all > 0);
  for (const int64_t pairs : {1, 10}) {
    options.pairs_at_once = pairs;
    CHECK(loss(costs, batch, options) == Approx(all));
    CHECK(gradients().allclose(gradients_of_all));
  }
}

TEST_CASE("ranking loss: padding has no part in it", "[train]") {
  Batch batch = batch_of({0, 0.5, 9});
  batch.present[0][2] = false;
  CHECK(loss({0, 0, -9}, batch) == Approx(0.5));
  LossOptions squares = plain();
  squares.kind = Loss::kL2;
  CHECK(loss({0, 0, -9}, batch, squares) == Approx(0.125));
}

TEST_CASE("ranking loss: squared errors of censored points count only from below", "[train]") {
  LossOptions squares = plain();
  squares.kind = Loss::kL2;
  const Batch batch = batch_of({1, 2}, {false, true});
  CHECK(loss({1, 8}, batch, squares) == Approx(0).margin(1e-6));
  CHECK(loss({1, 0}, batch, squares) == Approx(2));
}
