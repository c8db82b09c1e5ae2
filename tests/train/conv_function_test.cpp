#include "waco/train/network/conv_function.hpp"

#include <torch/autograd.h>
#include <torch/utils.h>

#include <catch2/catch.hpp>

#include "../model/conv/conv_patterns.hpp"

using namespace waco;
using namespace waco::model;
using namespace waco::train;
using torch::Tensor;

namespace {

constexpr int kCin = 4, kCout = 6;

struct Layer {
  Sites in, out;
  std::shared_ptr<const KernelMap> map;
};

Layer layer_of(int order, int stride) {
  const auto tensor =
      order == 2 ? test::random_pattern({300, 200}, 3000, 3) : test::random_pattern({30, 25, 40}, 2000, 4);
  Layer layer{sites_of(tensor, 1 << 20), {}, {}};
  layer.out = stride == 1 ? layer.in : halved(layer.in, 1);
  layer.map = std::make_shared<KernelMap>(make_kernel_map(layer.in, layer.out, 3, stride, 1));
  return layer;
}

/// (loss(at + step * direction) - loss(at - step * direction)) / (2 * step), in double.
template <class Loss>
double slope(const Tensor& at, const Tensor& direction, double step, const Loss& loss) {
  torch::NoGradGuard no_grad;
  return (loss(at + step * direction) - loss(at - step * direction)) / (2 * step);
}

double inner_product(const Tensor& a, const Tensor& b) {
  return (a.to(torch::kDouble) * b.to(torch::kDouble)).sum().item<double>();
}

}  // namespace

TEST_CASE("conv_function: gradients predict the loss of a step, with and without ReLU", "[train]") {
  const bool relu = GENERATE(false, true);
  const int order = GENERATE(2, 3), stride = GENERATE(1, 2);
  torch::manual_seed(5);
  const Layer layer = layer_of(order, stride);
  const Tensor x = torch::randn({layer.in.size(), kCin}).requires_grad_();
  const Tensor w = torch::randn({layer.map->num_offsets, kCin, kCout}).requires_grad_();
  const Tensor by_value = torch::randn({layer.out.size(), kCout}), by_mean = 100 * torch::randn({kCout});
  const auto result_loss = [&](const ConvResult& r) {
    return inner_product(r.values, by_value) + inner_product(r.mean, by_mean);
  };
  const ConvResult result = sparse_convolution(x, w, layer.map, relu);
  ((result.values * by_value).sum() + (result.mean * by_mean).sum()).backward();

  // Without ReLU the loss is linear in x and in w; with it a small step crosses a few kinks.
  const double step = relu ? 1e-3 : 0.1, tolerance = relu ? 5e-2 : 1e-4;
  const Tensor dx = torch::randn_like(x), dw = torch::randn_like(w);
  const double along_x = slope(x, dx, step, [&](const Tensor& moved) {
    return result_loss(sparse_convolution(moved, w, layer.map, relu));
  });
  const double along_w = slope(w, dw, step, [&](const Tensor& moved) {
    return result_loss(sparse_convolution(x, moved, layer.map, relu));
  });
  const double scale_x = x.grad().norm().item<double>(), scale_w = w.grad().norm().item<double>();
  CHECK(std::abs(inner_product(x.grad(), dx) - along_x) < tolerance * scale_x);
  CHECK(std::abs(inner_product(w.grad(), dw) - along_w) < tolerance * scale_w);
}

TEST_CASE("conv_function: the first layer's gradient predicts the loss of a step", "[train]") {
  torch::manual_seed(6);
  const Layer layer = layer_of(2, 1);
  const auto map = std::make_shared<WindowMap>(make_window_map(layer.in, 5, 1));
  const Tensor w = torch::randn({25, kCout}).requires_grad_();
  const Tensor by_value = torch::randn({layer.in.size(), kCout}), by_mean = 100 * torch::randn({kCout});
  const auto loss = [&](const ConvResult& r) {
    return inner_product(r.values, by_value) + inner_product(r.mean, by_mean);
  };
  const ConvResult result = window_convolution(w, map);
  ((result.values * by_value).sum() + (result.mean * by_mean).sum()).backward();
  const Tensor dw = torch::randn_like(w);
  const double along =
      slope(w, dw, 1e-3, [&](const Tensor& moved) { return loss(window_convolution(moved, map)); });
  CHECK(std::abs(inner_product(w.grad(), dw) - along) < 5e-2 * w.grad().norm().item<double>());
}

TEST_CASE("conv_function: means are differentiated where values are not used, and the other way round",
          "[train]") {
  torch::manual_seed(7);
  const Layer layer = layer_of(2, 2);
  const Tensor x = torch::randn({layer.in.size(), kCin});
  const Tensor w = torch::randn({9, kCin, kCout}).requires_grad_();
  const auto gradient = [&](const auto& loss) {
    w.mutable_grad() = Tensor();
    loss(sparse_convolution(x, w, layer.map, true)).backward();
    return w.grad().clone();
  };
  const Tensor by_mean = gradient([](const ConvResult& r) { return r.mean.sum(); });
  const Tensor by_value = gradient([](const ConvResult& r) { return r.values.mean(0).sum(); });
  const Tensor by_both = gradient([](const ConvResult& r) { return r.mean.sum() + r.values.mean(0).sum(); });
  CHECK(torch::allclose(by_mean, by_value, 1e-4, 1e-6));
  CHECK(torch::allclose(by_both, by_mean + by_value, 1e-4, 1e-6));
}

TEST_CASE("conv_function: results and gradients are the same bits for any number of threads", "[train]") {
  const int before = torch::get_num_threads();
  torch::manual_seed(8);
  const Layer layer = layer_of(2, 2);
  const Tensor x = torch::randn({layer.in.size(), kCin}), w = torch::randn({9, kCin, kCout});
  const auto results = [&](int threads) {
    torch::set_num_threads(threads);
    const Tensor x1 = x.clone().requires_grad_(), w1 = w.clone().requires_grad_();
    const ConvResult result = sparse_convolution(x1, w1, layer.map, true);
    torch::autograd::backward({result.values, result.mean},
                              {torch::ones_like(result.values), torch::ones_like(result.mean)});
    return std::vector<Tensor>{result.values.detach(), result.mean.detach(), x1.grad(), w1.grad()};
  };
  const auto one = results(1), many = results(5);
  torch::set_num_threads(before);
  for (size_t n = 0; n < one.size(); ++n) CHECK(torch::equal(one[n], many[n]));
}

TEST_CASE("conv_function: the graph keeps its map", "[train]") {
  Layer layer = layer_of(2, 2);
  const std::weak_ptr<const KernelMap> watched = layer.map;
  const Tensor w = torch::randn({9, kCin, kCout}).requires_grad_();
  Tensor loss = sparse_convolution(torch::randn({layer.in.size(), kCin}), w, layer.map, true).mean.sum();
  layer.map.reset();
  CHECK_FALSE(watched.expired());
  loss.backward();
  CHECK(w.grad().abs().sum().item<float>() > 0);
  loss = Tensor();
  CHECK(watched.expired());
}
