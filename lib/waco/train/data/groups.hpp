// What is learned from: the records of datasets, grouped by what may be ranked against each other.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "waco/base/machine.hpp"
#include "waco/dataset/record.hpp"
#include "waco/model/ceilings.hpp"

namespace waco::train {

/// What measuring said of one point.
struct Label {
  float cost = 0;         ///< log2(time / time of fixed_csr)
  float noise = 0;        ///< half the width of the time's 95 % interval, in the same unit
  bool censored = false;  ///< `cost` is a lower bound
};

/// The records of one pattern, one problem and one number of threads on one machine, whose points all cluster
/// the rows in windows of one size or all leave them as they are.
struct Group {
  std::string matrix;       ///< name
  std::string matrix_hash;  ///< of the pattern
  std::string original;
  std::string source;  ///< as records have it
  std::vector<int64_t> dims;
  int64_t num_nonzeros = 0;
  schedule::Problem problem;
  bool clustered = false;
  int64_t cluster_window = 0;  ///< of clustered points, as formats have it
  int threads = 1;             ///< the most a point may use
  int vector_bytes = 0;        ///< of the compiler's target on the machine; 0 when the dataset does not say
  size_t machine = 0;          ///< place in Records::machines
  std::shared_ptr<const model::Ceilings> ceilings;  ///< of the machine; null when the dataset does not say
  dataset::Split split = dataset::Split::kTraining;
  std::vector<schedule::SuperSchedule> points;  ///< [size()], without those that failed
  std::vector<Label> labels;                    ///< [size()]

  size_t size() const { return points.size(); }
  int baseline() const;  ///< place of fixed_csr's point; -1: not measured, as in groups that are clustered
  float best() const;    ///< least cost that was measured to the end; infinite when none was
};

/// How originals are divided, when not as the records say.
struct Resplit {
  uint64_t seed = 1;
  double validation_share = 0.2;
};

/// Everything that was read, and what a model says of it.
struct Records {
  schedule::Op op = schedule::Op::kSpmv;
  std::vector<Group> groups;      ///< in the order of the files; each has at least two points
  int64_t num_records = 0;        ///< in the groups
  int64_t num_failed = 0;         ///< left out: crashed, wrong, ...
  int64_t num_alone = 0;          ///< left out: nothing of their group to compare with
  nlohmann::json machine;         ///< of the first dataset's header
  std::vector<Machine> machines;  ///< of the groups, each once, in the order they are met
  nlohmann::json files;           ///< name and content hash of every dataset
};

/// Reads datasets of one op. Where they divide originals differently, an original, and a pattern under
/// whatever name, is on the side where it was met first, with one warning. Throws InputError for files that
/// are none or have a damaged record, UsageError when their ops differ or nothing was timed.
Records load_records(const std::vector<std::filesystem::path>& files, const std::optional<Resplit>& resplit);

/// Whether the first is slower than the second beyond noise: by more than `margin` (log2) and beyond both
/// intervals. A censored label can only be the slower one.
bool is_slower(const Label& slow, const Label& fast, float margin);

}  // namespace waco::train
