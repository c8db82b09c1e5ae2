// Plans that waco-tune found, read back for the matrices they were found for.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "waco/schedule/super_schedule.hpp"
#include "waco/tune/problem_options.hpp"
#include "waco/tune/result.hpp"

namespace waco::tune {

/// One plan, and what chose it.
struct TunedPlan {
  std::optional<schedule::SuperSchedule> point;  ///< none: that run found none
  bool is_baseline = false;                      ///< the answer was fixed_csr itself
  std::string input;                             ///< as its list names it; empty outside of lists
  MatrixSummary matrix;                          ///< what it was found for
  Machine machine;                               ///< where
  int64_t num_stored = 0;                        ///< values that the point stored there; 0: not measured
  int threads = 0;
  std::string cost_model, search, effort;  ///< empty where the file does not say
  std::string error;                       ///< why there is no point
};

/// The plans of one file: a plan document (`waco-tune MATRIX -o`), whose plan is taken for any matrix, or the
/// lines of a list (`waco-tune --list FILE -o`), each for the matrix it was found for.
class TunedPlans {
 public:
  /// A torn last line is left out with a warning. Throws InputError when the file can't be read, holds
  /// something else or no plan, is of a newer version, or has a plan of several parts.
  static TunedPlans read(const std::filesystem::path& file);

  /// Whether the file holds one plan, for any matrix.
  bool for_all() const { return for_all_; }

  /// The one problem that the plans and the options agree on. Throws UsageError when there is none, or
  /// several.
  schedule::Problem choose_problem(const ProblemOptions& options) const;

  /// What the plans are for, each problem once.
  std::vector<schedule::Problem> problems() const;

  /// The plan for a matrix of this pattern; of several the one found with as many threads, then the one whose
  /// input has this name, then the last. Throws InputError when there is none, with what is known about why.
  const TunedPlan& find(const std::string& input, const std::string& matrix_hash,
                        const schedule::Problem& problem, int threads) const;

 private:
  std::filesystem::path file_;
  std::vector<TunedPlan> plans_;
  bool for_all_ = false;
};

}  // namespace waco::tune
