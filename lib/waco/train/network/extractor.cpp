// The standardisation of inputs, which all trainable extractors share.
#include "waco/train/network/extractor.hpp"

#include "waco/model/learned/dense.hpp"

namespace waco::train {

using model::Standardisation;

torch::Tensor standardised(const torch::Tensor& values, const torch::Tensor& mean,
                           const torch::Tensor& scale) {
  return ((values - mean) * scale).clamp(-Standardisation::kLimit, Standardisation::kLimit);
}

void TorchExtractor::register_inputs(int count) {
  input_mean_ = register_buffer("input_mean", torch::zeros({count}));
  input_scale_ = register_buffer("input_scale", torch::ones({count}));
}

}  // namespace waco::train
