// What the measuring process and its worker say to each other, in order:
//
//   parent  open      problem, threads, seed, limits            -> worker  opened
//   parent  baseline  contestant                                -> worker  result (of contestant 0), timed
//   parent  measure   contestants, timing options, censor ratio -> worker  started and result for each
//   contestant,
//                                                                           then timed
//   any time          worker  failed: an environment fault, with a message
//
// A contestant is a plan text, the library that holds its kernel, and the width of pos entries that the
// kernel reads (0: not checked). `result` says how preparing and verifying went, `timed` holds the times of
// all contestants that were verified and not censored, and how verifying went once more after that.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "waco/measure/measurement.hpp"
#include "waco/measure/timing.hpp"

namespace waco::measure {

/// Descriptors in the worker.
inline constexpr int kChannelDescriptor = 3;
inline constexpr int kTensorDescriptor = 4;

struct Contestant {
  schedule::SuperSchedule point;
  std::filesystem::path library;
  int pos_bytes = 0;
  bool fixed_csr = false;  ///< packed as the baseline is
};

/// What the worker finds out about a contestant before it is timed; of the check after that all is unset but
/// status, message and error.
struct Preparation {
  Status status = Status::kConstraint;
  std::string message;
  int needed_pos_bytes = 0;  ///< when the kernel was compiled for another width: the right one
  bool unloadable = false;   ///< its library can't be loaded
  bool censored = false;
  double first_run_ns = 0;
  double max_rel_error = 0;
  int64_t pack_ns = 0;
  int64_t stored_bytes = 0;
  int64_t num_stored = 0;
};

void to_json(nlohmann::json& json, const Contestant& contestant);
void from_json(const nlohmann::json& json, Contestant& contestant);
void to_json(nlohmann::json& json, const Preparation& preparation);
void from_json(const nlohmann::json& json, Preparation& preparation);
void to_json(nlohmann::json& json, const ContestantTimes& times);
void from_json(const nlohmann::json& json, ContestantTimes& times);
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TimingOptions, budget_s, precision, min_sample_ns, min_rounds, max_rounds,
                                   warm_below_ns, drop_settled, tries, alike)

}  // namespace waco::measure
