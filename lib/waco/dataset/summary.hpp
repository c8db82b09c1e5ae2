// What a dataset holds, in numbers: counts, how good its points are, how noisy its times are.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "waco/dataset/dataset_file.hpp"

namespace waco::dataset {

/// Counts of one stratum.
struct StratumSummary {
  int64_t num_records = 0;
  int64_t num_ok = 0;  ///< verified; censored ones included
  int64_t num_censored = 0;
  int64_t num_within_2x = 0;  ///< at most twice the time of the best on their matrix
  int64_t num_best = 0;       ///< that are the best on their matrix
};

/// A matrix counts once for every problem, number of threads and machine it was measured with.
struct Summary {
  int64_t num_records = 0;
  int64_t num_matrices = 0;                    ///< distinct patterns
  int64_t num_originals = 0;                   ///< distinct names of originals
  int64_t num_plans = 0;                       ///< distinct points
  std::map<std::string, int64_t> per_problem;  ///< "spmm f32 J=256", records
  std::map<std::string, int64_t> per_status;   ///< records
  std::map<std::string, int64_t> per_split;    ///< records
  std::map<std::string, StratumSummary> per_stratum;
  int64_t num_validation_originals = 0;
  int64_t num_censored = 0;
  int64_t num_within_2x = 0;
  double best_speedup = 0;    ///< geometric mean over matrices of the best over fixed_csr
  double sample_spread = 0;   ///< median over records of half the interval of their median / median
  double rejected_share = 0;  ///< mean over timed records
};

/// Times are compared as shares of the fixed_csr time of the same rounds.
Summary summarize(const std::vector<Record>& records);

nlohmann::ordered_json to_json(const Summary& summary);
std::string to_text(const Summary& summary);  ///< for people, several lines

}  // namespace waco::dataset
