// Training a network on prepared examples, epoch by epoch, with checkpoints. The interface of this folder is
// training.hpp.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "waco/base/signals.hpp"
#include "waco/train/metrics.hpp"
#include "waco/train/network/network.hpp"
#include "waco/train/network/optimizer.hpp"
#include "waco/train/network/ranking_loss.hpp"

namespace waco::train {

/// Everything that decides the weights, beside the examples.
struct TrainerOptions {
  int epochs = 80;
  double learning_rate = 2e-3;
  double warm_up = 0.05;  ///< share of the steps in which the rate rises; then it falls as a cosine
  int groups_per_step = 8;
  int points_per_group = 128;  ///< of one step; larger groups are sampled anew each time
  int patience = 0;  ///< epochs without a better validation after which training ends; 0: all epochs
  uint64_t seed = 1;
  bool freeze_embeddings = false;  ///< only the predictor changes: retrieve and correct of docs/model.md
  std::string
      start;  ///< extractor, and hash of the weights that the network begins with unless they are drawn
  LossOptions loss;
  Regularisation regularisation;
  OptimizerOptions optimizer;
};
nlohmann::ordered_json to_json(const TrainerOptions& options);
/// Changes the numbers that `tweaks` (an object, or null) names as to_json() does. Throws UsageError for a
/// name that is none, or something else than a number.
void apply_tweaks(const nlohmann::json& tweaks, TrainerOptions& options);

/// A hash of what a training is asked for: patterns, points and labels of the examples, sizes of the network,
/// options. Not of the rest that decides the weights, so that a run can go on where it is another: the
/// threads, and the closed-form model's terms, which follow from the ceilings of this machine where datasets
/// have none.
std::string fingerprint_of(const Dims& dims, const std::vector<const Example*>& training,
                           const std::vector<const Example*>& validation, const TrainerOptions& options);

/// What an epoch ended with; validation by the averaged weights.
struct Epoch {
  int number = 0;  ///< from 1
  double training_loss = 0;
  double validation_loss = 0;
  Metrics retrieved, corrected;  ///< of the validation examples
  double seconds = 0;
};
nlohmann::ordered_json to_json(const Epoch& epoch);
Epoch epoch_from_json(const nlohmann::json& json);

struct History {
  std::vector<Epoch> epochs;
  int best = 0;          ///< number of the epoch whose weights are kept; 0: none yet
  bool stopped = false;  ///< ended early by a stop token
};

/// Costs of all points of examples, by both halves.
struct ExampleCosts {
  std::vector<GroupCosts> retrieved, corrected;
  double loss = 0;
};
ExampleCosts costs_of(Network& network, const std::vector<const Example*>& examples, const LossOptions& loss);

/// Trains `network` and leaves the weights of the best epoch in it. `checkpoint`: a folder where the state is
/// kept after every epoch; what is there is continued when `resume`, and gives the same weights as a run that
/// was never ended. Throws UsageError when it was written with other options or examples, and
/// EnvironmentError when the loss is no longer finite in the first epoch; later that ends the training.
History train_network(Network& network, const std::vector<const Example*>& training,
                      const std::vector<const Example*>& validation, const TrainerOptions& options,
                      const std::filesystem::path& checkpoint, bool resume, const StopToken& stop);

}  // namespace waco::train
