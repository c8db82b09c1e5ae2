// Features and terms on the disk, by pattern and by everything else they depend on.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "waco/model/ceilings.hpp"
#include "waco/train/data/groups.hpp"

namespace waco::train {

/// Small files below one folder. Safe for use by several threads and processes: files are only ever replaced
/// as a whole, by what is the same.
class PreparationCache {
 public:
  explicit PreparationCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Of a pattern: [F].
  std::optional<std::vector<float>> features(const Group& group) const;
  void keep_features(const Group& group, const std::vector<float>& features) const;

  /// Of the points of a group: [n, T].
  std::optional<std::vector<float>> terms(const Group& group, const model::Ceilings& ceilings) const;
  void keep_terms(const Group& group, const model::Ceilings& ceilings, const std::vector<float>& terms) const;

 private:
  std::filesystem::path features_file(const Group& group) const;
  std::filesystem::path terms_file(const Group& group, const model::Ceilings& ceilings) const;
  std::filesystem::path folder_;
};

}  // namespace waco::train
