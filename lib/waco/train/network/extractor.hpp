// The interface of everything that turns a pattern into a vector and can be trained (the counterpart of
// model/learned/extractor.hpp, which evaluates the same networks without libtorch).
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "waco/matrix/sparse_tensor.hpp"

namespace waco::train {

/// What an extractor keeps of one pattern between epochs; each extractor has its own kind. Compact: a few
/// bytes a nonzero at most, so that those of a whole training set fit in memory together.
struct PreparedPattern {
  virtual ~PreparedPattern() = default;

  /// Real-valued inputs before standardisation, for the caller to take mean and deviation of.
  std::vector<float> inputs;
};

/// clip((values - mean) * scale, -4, 4).
torch::Tensor standardised(const torch::Tensor& values, const torch::Tensor& mean,
                           const torch::Tensor& scale);

/// A trainable extractor. Its parameters have the names of the tensors of docs/model.md without "extractor.";
/// what standardises its real-valued inputs is the pair of buffers "input_mean" and "input_scale"
/// [order + 1], in a model folder "input.features.mean" and ".scale". Not thread-safe but for prepare().
class TorchExtractor : public torch::nn::Module {
 public:
  /// Depends on the pattern alone, not on parameters: do it once for each matrix.
  virtual std::shared_ptr<const PreparedPattern> prepare(const matrix::SparseTensor& tensor) const = 0;

  /// [patterns.size(), size()], part of the autograd graph. Patterns must come from prepare() of the same
  /// extractor.
  virtual torch::Tensor forward(const std::vector<std::shared_ptr<const PreparedPattern>>& patterns) = 0;

  virtual int size() const = 0;  ///< Q

 protected:
  /// To be called by constructors: registers the buffers, mean 0 and scale 1.
  void register_inputs(int count);

  torch::Tensor input_mean_, input_scale_;
};

/// A fresh extractor of a name that make_extractor (model/learned/extractor.hpp) knows, convolutional ones
/// only; parameters are drawn from torch's generator. `max_sites`: patterns with more nonzeros are seen
/// through panels of that many. Throws UsageError for another name.
std::shared_ptr<TorchExtractor> make_conv_torch_extractor(std::string_view name, int order,
                                                          int64_t max_sites);

}  // namespace waco::train
