// Joining datasets, such as those that the shards of one collection wrote.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "waco/dataset/dataset_file.hpp"

namespace waco::dataset {

struct MergeOptions {
  bool allow_different_machines = false;
  /// Of a record's samples only three are kept, which have their median and its interval.
  bool summarize_samples = false;
  nlohmann::ordered_json created_by;  ///< of the result's header
};

struct MergeSummary {
  int64_t num_records = 0;   ///< written
  int64_t num_repeated = 0;  ///< left out: a file before has the same point on the same pattern
  int64_t num_renamed = 0;   ///< left out: their pattern, or that of their original, has another name before
  int64_t num_resplit = 0;   ///< moved to the side of the split that a file before put their original on
};

/// Writes the records of all inputs, in their order, to `output` in one step; gzipped when its name ends in
/// ".gz". What an earlier file holds is not taken from a later one. Records of different machines are mixed
/// only when allowed, and then say which is theirs. Links at `output` are followed, and permissions kept.
/// Throws UsageError, InputError and EnvironmentError, also when another run appends to `output`, with
/// `output` as it was.
MergeSummary merge_datasets(const std::vector<std::filesystem::path>& inputs,
                            const std::filesystem::path& output, const MergeOptions& options);

}  // namespace waco::dataset
