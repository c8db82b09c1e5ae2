// What waco-bench finds out about one matrix: one record, a line of its JSON Lines files.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "apps/bench/bound.hpp"
#include "waco/base/machine.hpp"
#include "waco/measure/statistics.hpp"
#include "waco/model/ceilings.hpp"
#include "waco/tune/result.hpp"

namespace waco::bench {

inline constexpr std::string_view kBenchFormat = "waco-bench";
inline constexpr int kBenchVersion = 1;

/// Names of the contestants that are not peers.
inline constexpr const char* kFixedCsr = "fixed_csr";
inline constexpr const char* kBalancedCsr = "balanced_csr";
inline constexpr const char* kWaco = "waco";

/// Peers slower than this many times fixed_csr get a few calls only: they would stretch every round of the
/// others.
inline constexpr double kCensorRatio = 8;

/// One contestant's result.
struct Entry {
  std::string name;
  std::string library;  ///< of a peer; otherwise empty
  std::string note;     ///< how a peer is called, or the plan of one of our kernels
  std::string remark;   ///< what a reader of a peer's times should know; mostly empty
  std::string status;   ///< "ok", or why it was not timed, as measure::name says
  std::string message;
  std::vector<double> samples_ns;  ///< time of one call, by round
  measure::Estimate time_ns;
  measure::Estimate speedup;  ///< over fixed_csr, by round
  bool censored = false;  ///< slower than fixed_csr by kCensorRatio: the fastest of a few calls, no interval
  double rejected_share = 0;  ///< of the samples, because a thread was switched out
  double max_rel_error = 0;
  double setup_ns = 0;       ///< packing of our kernels; inspecting, converting, tuning of a peer
  int64_t stored_bytes = 0;  ///< of the sparse operand
  Bound bound;

  bool ok() const { return status == "ok"; }
  /// It was run, and gave no right result.
  bool failed_verification() const { return status == "wrong" || status == "crash" || status == "timeout"; }
  bool timed() const { return ok() && time_ns.median > 0 && speedup.median > 0; }
  bool is_peer() const { return !library.empty(); }
  /// Share of the time that the bound explains; 0 when it was not timed.
  double bound_share() const { return time_ns.median > 0 ? bound.ns() / time_ns.median : 0; }
};

/// A peer that does not take part, and why.
struct Absence {
  std::string name;
  std::string reason;
};

/// Where the plan of the contestant "waco" is from.
struct PlanOrigin {
  static constexpr const char* kTuning = "tuning";      ///< it was tuned on the spot
  static constexpr const char* kSchedule = "schedule";  ///< it was given by hand

  std::string source;      ///< one of these, or the file of --plan; empty in old records
  std::string cost_model;  ///< that chose it: "closed-form", or the hash of a learned one; empty: not known
  std::string search;      ///< by which it was found
  std::string effort;      ///< of that
};

struct Record {
  Machine machine;
  tune::MatrixSummary matrix;
  schedule::Problem problem;
  int threads = 1;
  std::string effort;
  uint64_t seed = 1;
  std::string plan;  ///< of the contestant "waco": text form, or "fixed_csr"
  PlanOrigin plan_origin;
  double tuning_s = 0;  ///< finding and verifying it
  double flops = 0;     ///< of one call
  model::Ceilings ceilings;
  std::vector<Entry> entries;  ///< fixed_csr, balanced_csr, waco, then peers
  std::vector<Absence> absent;
  measure::Disturbance disturbed = measure::Disturbance::kNone;  ///< while tuning or timing
  std::vector<std::string> warnings;

  /// The entry of this name, or null.
  const Entry* find(std::string_view name) const;
  /// The fastest peer that was verified and timed, or null.
  const Entry* best_peer() const;
};

/// A PlanOrigin's cost model, of which something is known, for a person.
std::string model_text(const std::string& cost_model);

/// How many times faster `own` is: the quotient of their speedups over fixed_csr, which compare times of the
/// same rounds. 0 unless both were timed.
double speedup_over(const Entry* own, const Entry* other);

/// One line of a file; `command` goes to the header.
nlohmann::ordered_json to_json(const Record& record, const std::string& command);
/// Throws nlohmann::json::exception when a field is missing or of the wrong kind.
Record record_from_json(const nlohmann::json& json);

}  // namespace waco::bench
