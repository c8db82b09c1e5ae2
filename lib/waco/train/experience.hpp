// What a model says of the records that it learned from.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "waco/model/learned/experience.hpp"
#include "waco/train/data/preparation.hpp"

namespace waco::train {

/// The factor by which clustered points take longer than model::ClosedFormModel::clustered_share expects, by
/// the bytes of a dense row: the median over patterns, of each in the mean of the points that are in a group
/// with clustered rows and in one of the same machine and problem without. Sizes of fewer than kLeastPatterns
/// patterns are left out.
std::vector<model::ClusteredCost> clustered_costs(const std::vector<const Example*>& examples);

inline constexpr size_t kLeastPatterns = 16;

/// Patterns that each schedule::threaded_family was timed on.
std::map<std::string, int64_t> families_of(const std::vector<const Example*>& examples);

}  // namespace waco::train
