// Sparse convolutions as functions that libtorch differentiates. The arithmetic is that of
// model/conv/convolution.hpp.
#pragma once

#include <torch/types.h>

#include <memory>

#include "waco/model/conv/kernel_map.hpp"

namespace waco::train {

/// A layer's results at its sites, and their mean.
struct ConvResult {
  torch::Tensor values;  ///< [sites, cout]
  torch::Tensor mean;    ///< [cout], 0 without sites
};

/// x [num_in, cin] by weight [offsets, cin, cout]; `relu`: negative results become 0. Contiguous floats on
/// the CPU. The graph keeps x, the values and the map.
ConvResult sparse_convolution(const torch::Tensor& x, const torch::Tensor& weight,
                              const std::shared_ptr<const model::KernelMap>& map, bool relu);

/// The pattern itself by weight [offsets, cout], followed by ReLU.
ConvResult window_convolution(const torch::Tensor& weight,
                              const std::shared_ptr<const model::WindowMap>& map);

}  // namespace waco::train
