// The part of a learned model that looks at a pattern: from a sparse tensor to a vector, without libtorch.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "waco/matrix/sparse_tensor.hpp"
#include "waco/model/learned/tensor_file.hpp"
#include "waco/pattern/pattern_features.hpp"

namespace waco::model {

/// What the extractor `human` looks at: log2 of rows, columns, nonzeros and the third dimension, in this
/// order: [order + 1].
std::vector<float> shape_features(const std::vector<int64_t>& dims, int64_t num_nonzeros);

/// Names of all extractors: pyramid, human, dense_conv, minkowski, waconet.
const std::vector<std::string>& extractor_names();

class Extractor {
 public:
  virtual ~Extractor() = default;
  /// q [size()] for a tensor of the order it was made for. Deterministic, whatever the number of threads.
  virtual std::vector<float> extract(pattern::LazyFeatures& pattern) const = 0;
  virtual int size() const = 0;  ///< Q
};

/// The extractor `name` with the tensors "extractor.*" and "input.features.*" of `weights`. Throws InputError
/// that names a missing or misshapen tensor, UsageError for an unknown name.
std::unique_ptr<Extractor> make_extractor(std::string_view name, int order, const TensorFile& weights);

}  // namespace waco::model
