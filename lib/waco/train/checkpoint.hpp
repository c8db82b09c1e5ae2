// The state of a training run on the disk: tensors in one file, everything else in another that names it.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "waco/base/files.hpp"
#include "waco/model/learned/tensor_file.hpp"

namespace waco::train {

struct Checkpoint {
  nlohmann::json state;       ///< epoch, steps, options, history
  model::TensorFile tensors;  ///< current and best weights, state of the optimizer
};

/// A folder with the latest checkpoint of one run.
class CheckpointFolder {
 public:
  explicit CheckpointFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// For the one run that writes here; makes the folder. Throws as LockFile.
  LockFile lock(const std::string& held) const;
  /// Replaces the checkpoint in one step: whenever the process dies, the old or the new one is there.
  void write(const Checkpoint& checkpoint);
  /// nullopt when there is none. Throws InputError for a damaged one.
  std::optional<Checkpoint> read() const;
  /// Throws the InputError of a damaged checkpoint.
  [[noreturn]] void fail() const;
  bool exists() const;
  /// Whether something there is of another making.
  bool holds_others() const;
  /// Removes the checkpoint, and the folder unless it holds something else.
  void remove() const;

 private:
  std::filesystem::path folder_;
};

}  // namespace waco::train
