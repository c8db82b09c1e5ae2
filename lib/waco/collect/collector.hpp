// The whole collection: matrix after matrix, record after record, continued where an earlier run was ended.
// The interface of this folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "waco/base/shard.hpp"
#include "waco/base/signals.hpp"
#include "waco/matrix/inputs.hpp"
#include "waco/schedule/limits.hpp"
#include "waco/search/learned.hpp"

namespace waco::collect {

struct CollectOptions {
  matrix::InputOptions inputs;
  schedule::Problem problem;
  int threads = 0;       ///< 0: all that this process may use
  std::string compiler;  ///< empty: $CXX or the system's
  uint64_t seed = 1;
  int per_matrix = 100;
  /// Measured on every matrix where they are feasible; fewer than `per_matrix`, of which they are a part.
  std::vector<schedule::SuperSchedule> asked;
  /// Every point but fixed_csr clusters the rows (of matrices); those that come in a good order are left out.
  bool clustered = false;
  int num_copies = 0;       ///< reshaped copies of every original
  double censor_ratio = 4;  ///< times fixed_csr; 0: nothing is censored
  double validation_share = 0.2;
  double max_fill = schedule::kMaxFill;
  /// A model of the op: what it and the closed-form model rank first is measured, and neighbours of the best
  /// of these. Null: points of all kinds.
  std::shared_ptr<const search::Learned> learned;
  Shard shard;
  std::filesystem::path output;       ///< of the shard, see shard_path
  nlohmann::ordered_json created_by;  ///< of the file's header
};

struct CollectSummary {
  int64_t num_records = 0;   ///< written by this run
  int64_t num_before = 0;    ///< that were in the file
  int64_t num_failed = 0;    ///< records of this run whose status is not ok
  int64_t num_matrices = 0;  ///< of the shard, copies included, that have all their records, or another has
  int64_t num_in_good_order = 0;  ///< matrices of the shard whose rows are not worth clustering
  int64_t num_unreadable = 0;     ///< matrices that could not be read or measured at all
  int64_t num_disturbed = 0;      ///< records of this run that other work disturbed
  double seconds = 0;
  bool stopped = false;  ///< before all was done
};

/// Collects what the output lacks. A matrix that can't be read or measured is reported and the rest goes on.
/// What is returned is on the disk.
///
/// Throws UsageError for options that make no sense or differ from those the output was begun with,
/// InputError for inputs that are not there, and EnvironmentError when the output can't be written, the
/// compiler or the worker can't be used, or the machine fails in another way: the same call then goes on.
CollectSummary collect(const CollectOptions& options, const StopToken& stop);

}  // namespace waco::collect
