// Adam (Kingma, Ba 2015) with decoupled decay (Loshchilov, Hutter 2019).
#include "waco/train/network/optimizer.hpp"

#include <torch/utils.h>

#include <algorithm>
#include <cmath>

namespace waco::train {
namespace {

constexpr double kFirstDecay = 0.9, kSecondDecay = 0.999, kEpsilon = 1e-8;

void save_all(const std::string& prefix, const Optimizer::Tensors& tensors, model::TensorFile& file) {
  for (const auto& [name, tensor] : tensors) {
    const torch::Tensor flat = tensor.detach().contiguous();
    file.set(prefix + name, tensor.sizes().vec(),
             {flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel()});
  }
}

void load_all(const std::string& prefix, const model::TensorFile& file, Optimizer::Tensors& tensors) {
  for (auto& [name, tensor] : tensors)
    tensor.copy_(torch::tensor(file.get(prefix + name, tensor.sizes().vec()).data, torch::kFloat32)
                     .view(tensor.sizes()));
}

}  // namespace

Optimizer::Optimizer(const Tensors& parameters, const OptimizerOptions& options)
    : parameters_(parameters), options_(options) {
  for (const auto& [name, parameter] : parameters_) {
    first_[name] = torch::zeros_like(parameter.detach());
    second_[name] = torch::zeros_like(parameter.detach());
    averages_[name] = parameter.detach().clone();
  }
}

void Optimizer::step(const torch::Tensor& loss, double learning_rate) {
  for (const auto& [name, parameter] : parameters_) parameter.mutable_grad() = torch::Tensor();
  loss.backward();
  const torch::NoGradGuard no_grad;
  double squares = 0;
  for (const auto& [name, parameter] : parameters_)
    if (parameter.grad().defined()) squares += parameter.grad().square().sum().item<double>();
  const double shorten = std::min(1.0, options_.most_norm / (std::sqrt(squares) + kEpsilon));

  ++num_steps_;
  const auto steps = static_cast<double>(num_steps_);
  const double rate =
      learning_rate * std::sqrt(1 - std::pow(kSecondDecay, steps)) / (1 - std::pow(kFirstDecay, steps));
  // Early weights are soon forgotten.
  const double averaging = std::min(options_.averaging, (1 + steps) / (10 + steps));
  for (const auto& [name, parameter] : parameters_) {
    torch::Tensor weights = parameter.detach();
    if (parameter.grad().defined()) {
      const torch::Tensor gradient = parameter.grad() * shorten;
      torch::Tensor& first = first_.at(name);
      torch::Tensor& second = second_.at(name);
      first.mul_(kFirstDecay).add_(gradient, 1 - kFirstDecay);
      second.mul_(kSecondDecay).addcmul_(gradient, gradient, 1 - kSecondDecay);
      if (parameter.dim() > 1) weights.mul_(1 - learning_rate * options_.weight_decay);
      weights.addcdiv_(first, second.sqrt().add_(kEpsilon), -rate);
    }
    averages_.at(name).mul_(averaging).add_(weights, 1 - averaging);
  }
}

void Optimizer::swap_averages() {
  const torch::NoGradGuard no_grad;
  for (const auto& [name, parameter] : parameters_) {
    const torch::Tensor current = parameter.detach().clone();
    parameter.detach().copy_(averages_.at(name));
    averages_.at(name).copy_(current);
  }
}

void Optimizer::save(model::TensorFile& file) const {
  save_all("first.", first_, file);
  save_all("second.", second_, file);
  save_all("average.", averages_, file);
}

void Optimizer::load(const model::TensorFile& file, int64_t num_steps) {
  load_all("first.", file, first_);
  load_all("second.", file, second_);
  load_all("average.", file, averages_);
  num_steps_ = num_steps;
}

}  // namespace waco::train
