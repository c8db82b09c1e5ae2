// Fully connected layers as a model folder has them, evaluated on the vectors of this machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "waco/model/learned/tensor_file.hpp"

namespace waco::model {

/// Documented, with shapes, in dense_kernels.inc.
struct DenseKernels {
  int lanes;  ///< floats a vector
  void (*multiply)(const float* x, int stride, int rows, int inputs, const float* w, int padded, float* y);
  void (*add)(const float* from, int size, float* to);
  void (*relu)(float* x, int size);
  float (*dot)(const float* x, const float* w, int size);

  int padded(int columns) const { return (columns + lanes - 1) / lanes * lanes; }
};

/// For every instruction set this processor has, the widest first.
std::vector<DenseKernels> all_dense_kernels();
/// The widest.
const DenseKernels& dense_kernels();

/// Weights and bias of a layer, outputs padded with zeros to whole vectors.
struct Dense {
  int inputs = 0, outputs = 0;
  int padded = 0;             ///< outputs, rounded up
  std::vector<float> weight;  ///< [inputs, padded]
  std::vector<float> bias;    ///< [padded]; zeros for a layer without one

  Dense() = default;
  /// "<name>.weight" [outputs, inputs] and, if `has_bias`, "<name>.bias" [outputs]; -1 outputs: any number.
  /// Throws InputError naming a missing or misshapen tensor.
  Dense(const TensorFile& file, const std::string& name, int outputs, int inputs, bool has_bias = true);

  /// y [rows, padded] = bias + weight * x; rows of x are `stride` apart.
  void apply(const float* x, int stride, int rows, float* y) const;
};

/// Inputs brought to mean 0 and deviation 1 as in training, and clipped.
struct Standardisation {
  static constexpr float kLimit = 4;  ///< clipped to +- this, in training too
  std::vector<float> mean, scale;

  Standardisation() = default;
  /// "input.<name>.mean" and ".scale" of `size` numbers; -1: any number.
  Standardisation(const TensorFile& file, const std::string& name, int size);
  int size() const { return static_cast<int>(mean.size()); }
  /// out [size()]; may be `values` itself.
  void apply(const float* values, float* out) const;
};

}  // namespace waco::model
