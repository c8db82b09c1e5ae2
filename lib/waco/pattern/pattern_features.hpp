// A pattern as a vector of numbers of fixed length, cheap enough for every tuning run: occupancy at many
// resolutions, row lengths, locality. Large patterns are looked at in panels of whole rows.
#pragma once

#include <optional>
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

/// A tensor with its features, which are counted once, when a first model asks for them.
class LazyFeatures {
 public:
  /// Keeps a reference.
  explicit LazyFeatures(const matrix::SparseTensor& tensor) : tensor_(tensor) {}
  const matrix::SparseTensor& tensor() const { return tensor_; }
  /// As pattern_features(), by as many threads as OpenMP has.
  const std::vector<float>& features();

 private:
  const matrix::SparseTensor& tensor_;
  std::optional<std::vector<float>> features_;
};

}  // namespace waco::pattern
