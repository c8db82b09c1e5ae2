// A learned model and its index, as tuning uses them.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "waco/index/index.hpp"
#include "waco/model/learned/learned_model.hpp"

namespace waco::tune {

/// Read once and shared by all matrices of a run.
struct Learned {
  model::LearnedModel model;
  std::optional<index::Index> index;  ///< of the model, for this machine's threads

  double load_s = 0;  ///< seconds that reading took

  /// Whether the model was trained on a dense index of about this size: within a factor of two.
  bool has_seen(int64_t rhs) const;

  /// Reads the model, and the index unless that path is empty; what the index lacks is made and cached.
  /// Throws InputError when one of them can't be used, or they do not belong together.
  static std::shared_ptr<const Learned> open(const std::filesystem::path& model,
                                             const std::filesystem::path& index, int threads);
};

}  // namespace waco::tune
