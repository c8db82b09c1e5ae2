// What all trainable extractors share: the buffers that standardise their inputs.
#include "waco/train/network/extractor.hpp"

#include "waco/base/error.hpp"
#include "waco/model/learned/dense.hpp"

namespace waco::train {
namespace {

using model::Standardisation;

void assign(torch::Tensor& buffer, const std::vector<float>& values) {
  WACO_ASSERT(buffer.numel() == static_cast<int64_t>(values.size()));
  torch::NoGradGuard no_grad;
  buffer.copy_(torch::tensor(values));
}

}  // namespace

void TorchExtractor::register_inputs(int count) {
  input_mean_ = register_buffer("input_mean", torch::zeros({count}));
  input_scale_ = register_buffer("input_scale", torch::ones({count}));
}

void TorchExtractor::set_standardisation(const std::vector<float>& mean, const std::vector<float>& scale) {
  assign(input_mean_, mean);
  assign(input_scale_, scale);
}

torch::Tensor TorchExtractor::standardised(const PreparedPattern& pattern) const {
  return ((torch::tensor(pattern.inputs) - input_mean_) * input_scale_)
      .clamp(-Standardisation::kLimit, Standardisation::kLimit);
}

}  // namespace waco::train
