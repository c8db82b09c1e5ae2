// Features and terms on the disk, by pattern and by everything else they depend on.
#pragma once

#include <atomic>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "waco/model/ceilings.hpp"
#include "waco/train/data/groups.hpp"

namespace waco::train {

/// Small files below one folder; without a folder nothing is there and nothing is kept. What can't be written
/// costs a later run time, so it is told once and no fault. Safe for use by several threads and processes:
/// files are only ever replaced as a whole, by what is the same.
class PreparationCache {
 public:
  explicit PreparationCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Of a pattern: [F].
  std::optional<std::vector<float>> features(const Group& group) const;
  void keep_features(const Group& group, const std::vector<float>& features) const;

  /// Of the points of a group: [n, T].
  std::optional<std::vector<float>> terms(const Group& group, const model::Ceilings& ceilings) const;
  void keep_terms(const Group& group, const model::Ceilings& ceilings, const std::vector<float>& terms) const;

  /// Where something was kept, removes what was not used for a month. Called when all that a run needs was
  /// loaded, since loading is a use.
  void tidy() const;

 private:
  std::filesystem::path features_file(const Group& group) const;
  std::filesystem::path terms_file(const Group& group, const model::Ceilings& ceilings) const;
  std::optional<std::vector<float>> load(const std::filesystem::path& file,
                                         const std::vector<int64_t>& shape) const;
  void keep(const std::filesystem::path& file, std::vector<int64_t> shape,
            const std::vector<float>& values) const;

  std::filesystem::path folder_;
  mutable std::once_flag told_;             ///< that something can't be written
  mutable std::atomic<bool> grown_{false};  ///< something was kept
};

}  // namespace waco::train
