// From datasets to a model folder, and from a model folder to its metrics. The interface of this folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "waco/base/signals.hpp"
#include "waco/train/data/groups.hpp"

namespace waco::train {

/// What is learned from.
struct DataOptions {
  std::vector<std::filesystem::path> datasets;
  std::vector<std::string> matrices;  ///< folders, files and lists; see MatrixFiles
  std::optional<Resplit> resplit;     ///< divide originals anew
  std::filesystem::path cache;        ///< the user's cache folder; empty: keep nothing
  int threads = 1;
};

struct TrainingOptions {
  DataOptions data;
  std::filesystem::path output;  ///< model folder
  std::string extractor = "pyramid";
  std::string loss = "rank";  ///< or "l2"
  std::optional<int> epochs;  ///< each of these: the default suits the extractor
  std::optional<double> learning_rate;
  std::optional<int> patience;
  nlohmann::json tweaks;  ///< further options of TrainerOptions by name, for experiments
  uint64_t seed = 1;
  bool resume = false;
  std::filesystem::path init;      ///< model folder to start from; empty: random weights
  bool freeze_embeddings = false;  ///< only the predictor is trained
  nlohmann::ordered_json created_by;
};

/// Trains and writes the model folder. Returns the report: data, epochs, metrics of the learned model, of the
/// closed-form model, of random choice and of fixed_csr on the validation examples. `stop` ends it with the
/// best weights so far, `complete` false and a checkpoint that `resume` continues from. A model in `output`
/// that this training has ended with already stays when it is asked to `resume`: its report has no epochs.
/// One of the same settings and datasets that has learned from more of their records stays too:
/// EnvironmentError.
///
/// Throws UsageError, InputError and EnvironmentError, with what was in `output` as it was. Without `resume`
/// a folder with a checkpoint is refused.
nlohmann::ordered_json run_training(const TrainingOptions& options, const StopToken& stop);

/// The same metrics of a model on the validation examples of datasets, or on all with `every_group`.
nlohmann::ordered_json run_evaluation(const std::filesystem::path& model, const DataOptions& data,
                                      bool every_group, const StopToken& stop);

}  // namespace waco::train
