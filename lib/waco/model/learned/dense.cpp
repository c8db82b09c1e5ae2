// Compiles the inner loops for each instruction set and chooses at run time.
#include "waco/model/learned/dense.hpp"

#include <algorithm>

#include "waco/base/error.hpp"
#include "waco/model/probe.hpp"
#include "waco/model/target.hpp"

namespace waco::model {

namespace dense_baseline {
constexpr int kVectorBytes = 16, kTileRows = 6, kTileVectors = 2;
#include "waco/model/learned/dense_kernels.inc"
}  // namespace dense_baseline

#if defined(__x86_64__)
WACO_TARGET_AVX2
namespace dense_avx2 {
constexpr int kVectorBytes = 32, kTileRows = 6, kTileVectors = 2;
#include "waco/model/learned/dense_kernels.inc"
}  // namespace dense_avx2
WACO_TARGET_END
WACO_TARGET_AVX512
namespace dense_avx512 {
constexpr int kVectorBytes = 64, kTileRows = 6, kTileVectors = 4;
#include "waco/model/learned/dense_kernels.inc"
}  // namespace dense_avx512
WACO_TARGET_END
#endif

std::vector<DenseKernels> all_dense_kernels() {
  std::vector<DenseKernels> all;
#if defined(__x86_64__)
  if (usable_vector_bytes() >= 64)
    all.push_back({dense_avx512::kLanes, dense_avx512::multiply, dense_avx512::add, dense_avx512::relu,
                   dense_avx512::dot});
  if (usable_vector_bytes() >= 32)
    all.push_back(
        {dense_avx2::kLanes, dense_avx2::multiply, dense_avx2::add, dense_avx2::relu, dense_avx2::dot});
#endif
  all.push_back({dense_baseline::kLanes, dense_baseline::multiply, dense_baseline::add, dense_baseline::relu,
                 dense_baseline::dot});
  return all;
}

const DenseKernels& dense_kernels() {
  static const DenseKernels kernels = all_dense_kernels().front();
  return kernels;
}

Dense::Dense(const TensorFile& file, const std::string& name, int num_outputs, int num_inputs, bool has_bias)
    : inputs(num_inputs) {
  const NamedTensor& tensor = file.get(name + ".weight", {num_outputs, num_inputs});
  outputs = static_cast<int>(tensor.shape[0]);
  padded = dense_kernels().padded(outputs);
  weight.assign(static_cast<size_t>(inputs) * static_cast<size_t>(padded), 0.0f);
  for (int o = 0; o < outputs; ++o)
    for (int i = 0; i < inputs; ++i) weight[i * padded + o] = tensor.data[o * inputs + i];
  bias.assign(static_cast<size_t>(padded), 0.0f);
  if (!has_bias) return;
  const std::vector<float>& values = file.get(name + ".bias", {outputs}).data;
  std::copy(values.begin(), values.end(), bias.begin());
}

void Dense::apply(const float* x, int stride, int rows, float* y) const {
  for (int r = 0; r < rows; ++r) std::copy(bias.begin(), bias.end(), y + r * padded);
  dense_kernels().multiply(x, stride, rows, inputs, weight.data(), padded, y);
}

Standardisation::Standardisation(const TensorFile& file, const std::string& name, int size)
    : mean(file.get("input." + name + ".mean", {size}).data),
      scale(file.get("input." + name + ".scale", {static_cast<int64_t>(mean.size())}).data) {}

void Standardisation::apply(const float* values, float* out) const {
  for (size_t n = 0; n < mean.size(); ++n)
    out[n] = std::clamp((values[n] - mean[n]) * scale[n], -kLimit, kLimit);
}

}  // namespace waco::model
