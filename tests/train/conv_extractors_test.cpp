#include "waco/model/conv/conv_extractors.hpp"

#include <torch/optim/adam.h>
#include <torch/utils.h>

#include <catch2/catch.hpp>

#include "../model/conv/conv_patterns.hpp"
#include "waco/base/error.hpp"
#include "waco/train/network/extractor.hpp"

using namespace waco;
using namespace waco::train;
using torch::Tensor;

namespace {

const std::vector<std::string> kNames = {"waconet", "minkowski", "dense_conv"};

/// What training writes of an extractor.
model::TensorFile weights_of(TorchExtractor& extractor) {
  model::TensorFile file;
  const auto add = [&](const std::string& name, const Tensor& tensor) {
    const Tensor flat = tensor.detach().contiguous();
    file.set(name, flat.sizes().vec(), {flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel()});
  };
  for (const auto& item : extractor.named_parameters()) add("extractor." + item.key(), item.value());
  add("extractor.max_sites", extractor.named_buffers()["max_sites"]);
  add("input.features.mean", extractor.named_buffers()["input_mean"]);
  add("input.features.scale", extractor.named_buffers()["input_scale"]);
  return file;
}

std::vector<float> extracted(const model::Extractor& extractor, const matrix::SparseTensor& tensor) {
  pattern::LazyFeatures pattern(tensor);
  return extractor.extract(pattern);
}

std::vector<matrix::SparseTensor> patterns(int order) {
  if (order == 2)
    return {test::random_pattern({1, 1}, 1, 1), test::random_pattern({300, 200}, 3000, 2),
            test::random_pattern({50000, 7}, 9000, 3)};
  return {test::random_pattern({2, 1, 3}, 1, 1), test::random_pattern({30, 25, 40}, 2000, 4),
          test::random_pattern({9, 1000, 500}, 4000, 5)};
}

std::shared_ptr<TorchExtractor> fresh(const std::string& name, int order, int64_t max_sites = 4096) {
  torch::manual_seed(11);
  auto extractor = make_conv_torch_extractor(name, order, max_sites);
  extractor->named_buffers()["input_mean"].fill_(8);
  extractor->named_buffers()["input_scale"].fill_(0.25);
  return extractor;
}

}  // namespace

TEST_CASE("conv_extractors: inference without libtorch gives what training saw", "[train]") {
  const int order = GENERATE(2, 3);
  for (const std::string& name : kNames) {
    const auto trained = fresh(name, order);
    const auto inference = model::make_conv_extractor(name, order, weights_of(*trained));
    REQUIRE(inference->size() == trained->size());
    for (const auto& tensor : patterns(order)) {
      const Tensor expected = trained->forward({trained->prepare(tensor)}).squeeze(0).detach();
      const Tensor got = torch::tensor(extracted(*inference, tensor));
      INFO(name << ", " << tensor.num_nonzeros() << " nonzeros");
      CHECK((got - expected).abs().max().item<float>() <= 1e-5f * expected.abs().max().item<float>());
    }
  }
}

TEST_CASE("conv_extractors: a batch gives what its patterns give alone", "[train]") {
  for (const std::string& name : kNames) {
    const auto extractor = fresh(name, 2);
    std::vector<std::shared_ptr<const PreparedPattern>> prepared;
    for (const auto& tensor : patterns(2)) prepared.push_back(extractor->prepare(tensor));
    const Tensor all = extractor->forward(prepared);
    REQUIRE(all.sizes() == torch::IntArrayRef({3, extractor->size()}));
    for (int64_t n = 0; n < 3; ++n)
      CHECK(torch::allclose(all[n], extractor->forward({prepared[n]})[0], 1e-4, 1e-6));
  }
}

TEST_CASE("conv_extractors: every parameter's gradient predicts the loss of a step", "[train]") {
  const int order = GENERATE(2, 3);
  for (const std::string& name : kNames) {
    const auto extractor = fresh(name, order);
    const auto pattern = extractor->prepare(patterns(order)[1]);
    const Tensor by = torch::randn({1, extractor->size()});
    const auto loss = [&] { return (extractor->forward({pattern}) * by).sum(); };
    loss().backward();
    for (auto& item : extractor->named_parameters()) {
      // Along the gradient itself, where the loss changes most: by |gradient| a unit of length.
      const Tensor gradient = item.value().grad();
      const double length = gradient.norm().item<double>();
      INFO(name << ", " << item.key());
      REQUIRE(length > 0);
      const Tensor kept = item.value().detach().clone();
      const double step = 1e-3 * kept.norm().item<double>() + 1e-4;
      const Tensor move = gradient / length * step;
      torch::NoGradGuard no_grad;
      item.value().copy_(kept + move);
      const double above = loss().item<double>();
      item.value().copy_(kept - move);
      const double below = loss().item<double>();
      item.value().copy_(kept);
      CHECK((above - below) / (2 * step) == Approx(length).epsilon(0.05).margin(1e-3));
    }
  }
}

TEST_CASE("conv_extractors: patterns beyond the limit are seen in part", "[train]") {
  for (const std::string name : {"waconet", "minkowski"}) {
    const auto extractor = fresh(name, 2, 640);
    const auto tensor = test::random_pattern({300, 200}, 3000, 2);
    const auto pattern = extractor->prepare(tensor);
    CHECK(pattern->inputs.back() == Approx(std::log2(static_cast<double>(tensor.num_nonzeros()))));
    const auto inference = model::make_conv_extractor(name, 2, weights_of(*extractor));
    const Tensor expected = extractor->forward({pattern}).squeeze(0).detach();
    CHECK(torch::allclose(torch::tensor(extracted(*inference, tensor)), expected, 1e-4, 1e-6));
  }
}

TEST_CASE("conv_extractors: of an empty pattern are finite", "[train]") {
  for (const std::string& name : kNames) {
    matrix::SparseTensor empty;
    empty.dims = {10, 10};
    empty.coords.resize(2);
    const auto extractor = fresh(name, 2);
    const Tensor q = extractor->forward({extractor->prepare(empty)});
    CHECK(torch::isfinite(q).all().item<bool>());
    q.sum().backward();
    const auto inference = model::make_conv_extractor(name, 2, weights_of(*extractor));
    CHECK(torch::allclose(torch::tensor(extracted(*inference, empty)), q[0].detach(), 1e-4, 1e-6));
  }
}

TEST_CASE("conv_extractors: learn to tell two patterns apart", "[train]") {
  for (const std::string& name : kNames) {
    const auto extractor = fresh(name, 2);
    // The same shape and number of nonzeros: a band, and the same nonzeros scattered.
    auto band = test::random_pattern({1000, 1000}, 0, 1), scattered = band;
    for (int64_t r = 0; r < 1000; ++r)
      for (const int64_t c : {r, r + 1}) {
        if (c >= 1000) continue;
        band.coords[0].push_back(r), band.coords[1].push_back(c), band.values.push_back(1);
        scattered.coords[0].push_back(r),
            scattered.coords[1].push_back(c == r ? r * 379 % 500 : 500 + r * 83 % 500);
        scattered.values.push_back(1);
      }
    const std::vector<std::shared_ptr<const PreparedPattern>> both = {extractor->prepare(band),
                                                                      extractor->prepare(scattered)};
    torch::optim::Adam adam(extractor->parameters(), torch::optim::AdamOptions(1e-3));
    const auto loss = [&] {
      const Tensor q = extractor->forward(both).select(1, 0);
      return (q - torch::tensor({1.0f, -1.0f})).square().mean();
    };
    for (int step = 0; step < 60; ++step) {
      adam.zero_grad();
      loss().backward();
      adam.step();
    }
    INFO(name);
    CHECK(loss().item<float>() < 0.05f);
  }
}

TEST_CASE("conv_extractors: unknown names and damaged weights are refused", "[train]") {
  CHECK_THROWS_AS(make_conv_torch_extractor("resnet", 2, 4096), UsageError);
  const auto extractor = fresh("waconet", 2);
  CHECK_THROWS_AS(model::make_conv_extractor("resnet", 2, weights_of(*extractor)), UsageError);
  CHECK_THROWS_AS(model::make_conv_extractor("waconet", 3, weights_of(*extractor)), InputError);
  CHECK_THROWS_AS(model::make_conv_extractor("minkowski", 2, weights_of(*extractor)), InputError);
  model::TensorFile file = weights_of(*extractor);
  file.set("extractor.max_sites", {1}, {NAN});
  CHECK_THROWS_WITH(model::make_conv_extractor("waconet", 2, file), Catch::Contains("max_sites"));
}
