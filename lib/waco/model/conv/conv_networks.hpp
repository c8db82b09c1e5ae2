// What the convolutional extractors have in common with their trainable twins: sizes, and everything that
// depends on the pattern but not on weights. The networks are defined in docs/model.md.
#pragma once

#include <cstdint>
#include <vector>

#include "waco/matrix/sparse_tensor.hpp"
#include "waco/model/conv/kernel_map.hpp"
#include "waco/model/learned/tensor_file.hpp"

namespace waco::model {

inline constexpr int kConvChannels = 32;   ///< of waconet and minkowski
inline constexpr int kStridedLayers = 13;  ///< of waconet, after its first layer
inline constexpr int kResidualBlocks = 4;  ///< of minkowski, two convolutions each
inline constexpr int kWindowWidth = 5;     ///< of the first layer of both
inline constexpr int kShapeHidden = 64, kShapeSize = 32;
inline constexpr int kHeadHidden = 256, kConvOut = 128;

/// Nonzeros that waconet and minkowski of a model look at: patterns with more are seen in part. Throws
/// InputError.
int64_t max_sites_of(const TensorFile& weights);

/// log2 of the extents and of the number of nonzeros (at least 1) [order + 1].
std::vector<float> shape_inputs(const matrix::SparseTensor& tensor);

/// Sizes of dense_conv for an order: an image of `side` in every mode, halved by each layer.
struct DenseConvSize {
  int side;
  std::vector<int> channels;  ///< [layers + 1], the first is the image's
  int features;               ///< channels and cells of the last layer
};
const DenseConvSize& dense_conv_size(int order);

/// log(1 + nonzeros) of the cells of a regular grid over the pattern [side^order], row-major. Modes shorter
/// than `side` occupy their first cells only.
std::vector<float> pattern_image(const matrix::SparseTensor& tensor, int side);

/// Kernel maps of dense_conv's layers; the same for every pattern.
std::vector<KernelMap> grid_maps(int order, int threads);

}  // namespace waco::model
