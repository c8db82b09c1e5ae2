// What tuning found: every candidate, the best of them, and how sure that is.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "waco/base/machine.hpp"
#include "waco/matrix/sparse_tensor.hpp"
#include "waco/measure/measurement.hpp"
#include "waco/schedule/limits.hpp"
#include "waco/schedule/super_schedule.hpp"
#include "waco/tune/effort.hpp"
#include "waco/tune/verdict.hpp"

namespace waco::tune {

/// The input, as far as files mention it.
struct MatrixSummary {
  std::string name;
  std::vector<int64_t> dims;  ///< [order]
  int64_t num_nonzeros = 0;
  std::string hash;  ///< matrix::pattern_hash
};
MatrixSummary summarize(const matrix::SparseTensor& tensor);

/// One point and what became of it.
struct Candidate {
  measure::Measurement measurement;
  std::optional<double> predicted_cost_ns;  ///< by the model that ranks, of points given by hand as well
  double doubt = 1;       ///< by how much longer it is taken to run where nobody measures it
  bool measured = false;  ///< false: ranked only, or the run ended before its turn
  bool finalist = false;  ///< the measurement is of the final's common rounds
};

/// The winner.
struct Best {
  schedule::SuperSchedule point;
  bool is_baseline = false;  ///< fixed_csr itself
  bool significant = false;  ///< faster than fixed_csr by more than the interval
  bool verified = false;     ///< its result was compared with the reference
  measure::Estimate time_ns;
  measure::Estimate speedup;  ///< 1 for fixed_csr; 0 when nothing was timed
  int64_t pack_ns = 0;
  int64_t stored_bytes = 0;
};

struct StageSeconds {
  double load = 0;      ///< waiting for model and index; filled by whoever waited
  double read = 0;      ///< filled by whoever read the input
  double machine = 0;   ///< describing it, and its ceilings (cached after the first run)
  double features = 0;  ///< of the pattern, for a learned model
  double search = 0;    ///< pattern counts, predictions and search
  double measure = 0;   ///< compiling, packing, verifying, timing
  double total = 0;     ///< of all that
  double rank() const { return features + search; }
};

struct TuneResult {
  MatrixSummary matrix;
  schedule::Problem problem;
  int threads = 1;
  Effort effort = Effort::kNormal;
  uint64_t seed = 1;
  std::string cost_model;  ///< "closed-form", or the hash of a learned model; those of several joined by "+"
  std::string model;       ///< folder of a learned model, else empty
  std::vector<std::string> other_models;  ///< folders of those whose opinions counted as well
  std::string search;                     ///< a name of search::search_names()
  schedule::Subspace subspace = schedule::Subspace::kAll;
  Machine machine;

  bool no_compile = false;         ///< nothing was to be compiled
  int64_t num_without_kernel = 0;  ///< points passed over then, as their kernels were not in the cache
  std::optional<measure::Measurement> baseline;
  std::vector<Candidate> candidates;  ///< finalists, then the others, both fastest first; those not timed to
                                      ///< the end; failed ones
  std::optional<Best> best;           ///< none when not one point could be verified
  int64_t num_ranked = 0;
  StageSeconds seconds;
  std::optional<Verdict> verdict;  ///< when the number of calls was told
  measure::Disturbance disturbed = measure::Disturbance::kNone;
  std::vector<std::string> warnings;
  bool complete = true;
  bool machine_failed = false;  ///< that is why it is not complete
  std::string stopped_by;       ///< "SIGTERM", "the time budget is spent", a fault; empty when complete

  /// Calls that repay packing the best plan, and `extra_ns`; none when nothing does: the plan is fixed_csr,
  /// or was not timed.
  std::optional<int64_t> break_even_calls(double extra_ns = 0) const;
  /// GFLOP/s of a call that takes so long, by schedule::num_flops.
  double gflops(double time_ns) const;
};

/// The plan document without its artifact header (docs/file-formats.md).
nlohmann::json to_json(const TuneResult& result);

/// Candidates, in their order, as an aligned table for people; the last line names the winner.
std::string to_table(const TuneResult& result);

}  // namespace waco::tune
