// A pattern as a vector of numbers of fixed length, cheap enough for every tuning run: occupancy at many
// resolutions, row lengths, locality. Large patterns are looked at in panels of whole rows.
#pragma once

#include <string>
#include <vector>

#include "waco/matrix/sparse_tensor.hpp"

namespace waco::pattern {

/// Raised whenever the same pattern would give other numbers.
inline constexpr int kFeatureVersion = 1;

/// Names of the features of matrices (order 2) or tensors (order 3), in their order.
const std::vector<std::string>& feature_names(int order);

/// [feature_names(order).size()]; finite for every tensor, an empty one too. Deterministic, whatever the
/// number of threads.
std::vector<float> pattern_features(const matrix::SparseTensor& tensor, int threads);

}  // namespace waco::pattern
