// The model folder: manifest and weights, as docs/model.md has them.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "waco/base/files.hpp"
#include "waco/model/learned/experience.hpp"
#include "waco/train/data/preparation.hpp"
#include "waco/train/network/network.hpp"

namespace waco::train {

/// What the manifest says beside what the network knows of itself.
struct ModelDescription {
  nlohmann::ordered_json created_by;
  nlohmann::json machine;  ///< that the times are of
  schedule::Op op = schedule::Op::kSpmv;
  std::string extractor;
  std::vector<const Example*> learned_from;  ///< types and sizes of their problems are listed
  waco::model::Experience experience;
  nlohmann::ordered_json dataset, training, metrics;
};

class ModelFolder {
 public:
  explicit ModelFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Throws UsageError when the folder holds something that is not a model.
  void check() const;
  /// Makes it. What is in it stays until something takes its place. Throws EnvironmentError.
  void create() const;
  /// Keeps other trainings out while it lives. Throws EnvironmentError when one is running.
  LockFile lock() const;

  std::filesystem::path checkpoint() const { return folder_ / "checkpoint"; }
  bool has_checkpoint() const;
  void remove_checkpoint() const;
  bool has_model() const;

  /// Weights and the manifest, which names their hash: both are on the disk before the first takes its place,
  /// so that a model which was there stays whole when something fails. Returns the manifest. Throws
  /// EnvironmentError.
  nlohmann::ordered_json write(const Network& network, const ModelDescription& model) const;

 private:
  std::filesystem::path folder_;
};

/// Weights of a model that must be of this op and extractor. Throws UsageError when it is of others, and as
/// model::read_model_weights.
model::TensorFile load_weights(const std::filesystem::path& folder, schedule::Op op,
                               const std::string& extractor);

}  // namespace waco::train
