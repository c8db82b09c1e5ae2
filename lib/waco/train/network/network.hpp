// The network of docs/model.md in libtorch: what is trained. lib/waco/model/learned/ evaluates the same
// network without libtorch.
#pragma once

#include <torch/types.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "waco/model/learned/tensor_file.hpp"
#include "waco/schedule/encoding.hpp"
#include "waco/train/data/batch.hpp"

namespace waco::train {

class TorchExtractor;

/// All sizes of a network.
struct Dims {
  int64_t features = 0;                                           ///< F: real-valued inputs of the extractor
  int64_t extracted = 0;                                          ///< Q
  std::vector<schedule::CategoryField> categories;                ///< [C]
  int64_t level_vars = 0, loop_vars = 0, numbers = 0, terms = 0;  ///< V, L, N, T
  int64_t pattern = 64, embedding = 64, hidden = 64;              ///< P, E, H
  static constexpr int64_t kProblem = 2, kTable = 16, kWide = 128, kNarrow = 32;
};

/// Those of an op, for an extractor that takes `features` numbers and gives `extracted`.
Dims make_dims(schedule::Op op, int64_t features, int64_t extracted);
nlohmann::ordered_json to_json(const Dims& dims);

/// What keeps a network from learning its few hundred patterns by heart; only while training.
struct Regularisation {
  double feature_noise = 0.1;    ///< deviation of what is added to standardised features and terms
  double feature_dropout = 0.1;  ///< chance of a standardised feature to be left out
  double pattern_dropout = 0;    ///< chance of all extracted features of a pattern to be left out
  double hidden_dropout = 0.1;
};

/// Costs of points of M groups, [M, N] each.
struct Costs {
  torch::Tensor retrieved;  ///< by the retrieval half
  torch::Tensor corrected;  ///< with the terms of the closed-form model
};

class Network {
 public:
  /// Weights are drawn by torch's generator, which the caller seeds. `extractor`: null for pyramid and human.
  Network(Dims dims, std::shared_ptr<TorchExtractor> extractor);

  /// Means and deviations of all real-valued inputs: groups count once for what belongs to patterns.
  void standardise(const std::vector<const Example*>& examples);
  /// Makes 0 what tables have for categories that no example shows: training would leave them as they were
  /// drawn, and they would be noise in the costs of points that have them.
  void clear_unused_rows(const std::vector<const Example*>& examples);

  /// `training` switches on what Regularisation asks for.
  Costs forward(const Batch& batch, bool training);

  void set_regularisation(const Regularisation& regularisation) { regularisation_ = regularisation; }
  const Dims& dims() const { return dims_; }

  /// What the optimizer changes, by name; those of the extractor begin with "extractor.".
  const std::map<std::string, torch::Tensor>& parameters() const { return weights_; }

  /// Predicted log2(time / fixed_csr) = calibration[0] + calibration[1] * corrected cost.
  void set_calibration(float offset, float slope);
  std::pair<float, float> calibration() const;

  /// All tensors of docs/model.md.
  model::TensorFile save() const;
  /// Throws InputError when a tensor is missing or has another shape.
  void load(const model::TensorFile& file);
  /// As `load`, to learn on from it: real-valued inputs that were the same in all of that network's examples,
  /// which it could not learn from, keep the standardisation they have, and start without an effect; rows of
  /// tables that are 0 there and not here (clear_unused_rows) keep a small part of what they have, where
  /// `embeddings_learn`.
  void start_from(const model::TensorFile& file, bool embeddings_learn = true);

 private:
  void add_linear(const std::string& name, int64_t outputs, int64_t inputs, bool bias = true);
  /// Standardises the new inputs of `start_from` as `own` does, and makes 0 their columns, which begin at
  /// `first`, of a layer's weights.
  void begin_new_inputs(const std::string& input, const model::TensorFile& own, const std::string& layer,
                        int64_t first);
  /// Gives rows of a category's table that are 0 a part of those of `own`.
  void begin_new_rows(const std::string& field, const model::TensorFile& own);
  void set_input(const std::string& name, const std::vector<std::vector<float>>& rows);
  torch::Tensor standardised(const std::string& input, const torch::Tensor& values) const;
  torch::Tensor linear(const std::string& name, const torch::Tensor& input) const;
  torch::Tensor embed_pattern(const Batch& batch, bool training);  ///< [M, P]
  torch::Tensor embed_points(const Batch& batch) const;            ///< [M, N, E]

  Dims dims_;
  Regularisation regularisation_;
  std::shared_ptr<TorchExtractor> extractor_;
  std::map<std::string, torch::Tensor> weights_;  ///< trained
  std::map<std::string, torch::Tensor> fixed_;    ///< means, scales, calibration
};

}  // namespace waco::train
