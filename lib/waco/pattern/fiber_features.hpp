// What panels of consecutive nonzeros tell about a 3-D tensor: fibers and their lengths, occupied blocks,
// gaps.
#pragma once

#include "waco/matrix/sparse_tensor.hpp"
#include "waco/pattern/feature_list.hpp"

namespace waco::pattern {

void add_fiber_features(const matrix::SparseTensor& tensor, int threads, FeatureList& features);

}  // namespace waco::pattern
