// What nonzeros from all over a tensor tell: occupancy at coarse resolutions, how unequally coordinates are
// used, and how often they come again within caches of different sizes.
#pragma once

#include "waco/matrix/sparse_tensor.hpp"
#include "waco/pattern/feature_list.hpp"

namespace waco::pattern {

/// Of matrices.
void add_spread_features(const matrix::SparseTensor& matrix, int threads, FeatureList& features);
/// Of 3-D tensors.
void add_tensor_spread_features(const matrix::SparseTensor& tensor, int threads, FeatureList& features);

}  // namespace waco::pattern
