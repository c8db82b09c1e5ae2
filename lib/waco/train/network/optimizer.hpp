// Adam with decoupled weight decay, whose state is plain tensors that a checkpoint can keep.
#pragma once

#include <torch/types.h>

#include <map>
#include <string>

#include "waco/model/learned/tensor_file.hpp"

namespace waco::train {

struct OptimizerOptions {
  double weight_decay = 0.01;  ///< of matrices and tables; biases are left alone
  double most_norm = 1;        ///< gradients longer than this are shortened
  double averaging = 0.998;    ///< of the weights that are kept, over steps; 0: none
};

class Optimizer {
 public:
  using Tensors = std::map<std::string, torch::Tensor>;

  /// Keeps references to the parameters.
  Optimizer(const Tensors& parameters, const OptimizerOptions& options);

  /// Takes the gradients of `loss` and makes one step.
  void step(const torch::Tensor& loss, double learning_rate);

  /// Exchanges the parameters with their running averages: once to look at these, again to go on.
  void swap_averages();

  /// State under "<prefix>.<name of the parameter>".
  void save(model::TensorFile& file) const;
  /// Throws InputError when something is missing.
  void load(const model::TensorFile& file, int64_t num_steps);
  int64_t num_steps() const { return num_steps_; }

 private:
  const Tensors& parameters_;
  OptimizerOptions options_;
  Tensors first_, second_, averages_;  ///< moments of the gradients; mean weights
  int64_t num_steps_ = 0;
};

}  // namespace waco::train
