// What a model says of the records that it learned from, beside its weights: keys of model.json.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "waco/schedule/super_schedule.hpp"

namespace waco::model {

/// What clustered rows cost on a machine where dense rows have about so many bytes.
struct ClusteredCost {
  int64_t row_bytes = 0;
  double factor = 1;  ///< of what ClosedFormModel::clustered_share expects; positive
  bool operator==(const ClusteredCost&) const = default;
};

struct Experience {
  std::vector<ClusteredCost> clustered_costs;  ///< of each size that enough records tell of
  std::map<std::string, int64_t> families;  ///< by schedule::threaded_family: patterns that it was timed on

  /// By which clustered points of the problem take longer than expected: of the size that is nearest by its
  /// logarithm; nothing where no size is known.
  std::optional<double> clustered_cost(const schedule::Problem& problem) const;
  /// Patterns that points of a schedule::threaded_family were timed on; nothing where no family is known.
  std::optional<int64_t> patterns_of(const std::string& family) const;
  /// With what a model knew from which this one began: the sizes that are not known anew, and half of the
  /// patterns, as a model forgets.
  void add_earlier(const Experience& earlier);
};

/// The keys of a manifest that are there. Throws UsageError for one that is not as waco-train writes it.
Experience experience_of(const nlohmann::json& manifest);
/// The keys.
nlohmann::ordered_json to_json(const Experience& experience);

}  // namespace waco::model
