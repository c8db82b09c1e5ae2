// What is recorded of one candidate: how it ended, how long it took, how much faster than the baseline it is.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "waco/measure/statistics.hpp"
#include "waco/schedule/super_schedule.hpp"

namespace waco::measure {

enum class Status : uint8_t {
  kOk,          ///< verified and timed
  kConstraint,  ///< its storage or memory can't be had
  kCompile,     ///< the compiler refused it
  kCrash,       ///< its process died
  kTimeout,     ///< it did not finish in time
  kWrong,       ///< its result is not the reference's
};

std::string_view name(Status status);  ///< "ok", "constraint", ...
std::optional<Status> parse_status(std::string_view text);

struct Measurement {
  schedule::SuperSchedule point;
  Status status = Status::kConstraint;
  std::string message;             ///< why it is not ok; one or a few lines
  bool machine_failed = false;     ///< kCompile: the machine, not the kernel, was at fault (not in documents)
  bool disk_full = false;          ///< that was its fault, and not a lack of memory (not in documents)
  std::vector<double> samples_ns;  ///< time of one call, by round
  Estimate time_ns;
  double baseline_median_ns = 0;  ///< of fixed_csr in the same rounds
  Estimate speedup;               ///< fixed_csr's time / own, by round
  int num_rounds = 0;             ///< that `speedup` is of (not in documents)
  bool censored = false;          ///< stopped after its first run: time_ns is "at least about this"
  double rejected_share = 0;      ///< of rounds whose sample other work disturbed
  bool is_disturbed = false;      ///< hardly any round was undisturbed: the times may be anything
  double max_rel_error = 0;       ///< largest |error| / sum of |products|
  int64_t pack_ns = 0;
  int64_t stored_bytes = 0;  ///< as packed: pos, crd, values, row permutation
  int64_t num_stored = 0;    ///< values stored, fill included
  int64_t compile_ns = 0;    ///< 0 when the kernel was cached

  bool ok() const { return status == Status::kOk; }
  /// It was run, and gave no right result.
  bool failed_verification() const {
    return status == Status::kWrong || status == Status::kCrash || status == Status::kTimeout;
  }
  double median_ns() const { return time_ns.median; }
  /// Verified, timed to the end, and faster than fixed_csr by more than the interval. A kernel as fast as
  /// fixed_csr is taken for faster in one of 40 cases or fewer; with 5, 4 or 3 rounds in one of 32, 16 or 8.
  bool significantly_faster() const { return ok() && !censored && speedup.low > 1; }
};

/// All fields; the point as its text form, intervals as [low, high].
void to_json(nlohmann::json& json, const Measurement& measurement);

}  // namespace waco::measure
