// The whole job for one input: rank formats and schedules together, measure the best, decide. The interface
// of this folder.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "waco/base/machine.hpp"
#include "waco/base/signals.hpp"
#include "waco/matrix/sparse_tensor.hpp"
#include "waco/schedule/limits.hpp"
#include "waco/search/learned.hpp"
#include "waco/tune/result.hpp"

namespace waco::tune {

struct TuneOptions {
  schedule::Problem problem;
  int threads = 0;       ///< 0: all that this process may use
  std::string compiler;  ///< empty: $CXX or the system's
  uint64_t seed = 1;
  Effort effort = Effort::kNormal;
  /// How often the kernel will run: adds a verdict to the result, and fixed_csr wins unless the plan pays.
  std::optional<int64_t> calls;
  bool effort_by_calls = false;  ///< the verdict chooses the effort, or to stay on CSR
  bool check = false;            ///< effort none also compiles the first point and checks its result
  /// Nothing is compiled: only points whose kernels are in the user's cache are measured.
  bool no_compile = false;
  std::optional<int> top;                ///< candidates to measure; by default what the effort says
  double max_fill = schedule::kMaxFill;  ///< values stored per nonzero
  std::optional<double> budget_s;     ///< no new work is started after this; by default what the effort says
  std::string search = "neighbours";  ///< a name of search::search_names()
  /// Ranks points; without one the closed-form model does. Of the problem's op.
  std::shared_ptr<const search::Learned> learned;
  schedule::Subspace subspace = schedule::Subspace::kAll;  ///< what of a point the search may vary
  /// Measured, all in common rounds, instead of searching, when not empty.
  std::vector<schedule::SuperSchedule> points;

  int num_threads() const { return threads_or_all(threads); }
  /// This machine, with what its compiler says of itself, unless none is asked.
  Machine machine() const;
  /// "closed-form", or the hash of the learned model.
  std::string cost_model() const { return learned ? learned->hash() : "closed-form"; }
};

/// Throws UsageError when the model is not of the problem's op, or the search lacks its index.
void check_ranking(const TuneOptions& options);
/// The same before anything is opened: `model` is the op of a learned model, and `indexed` whether it has an
/// index.
void check_ranking(schedule::Op op, std::string_view search, std::optional<schedule::Op> model, bool indexed);

/// Finds the best plan for `tensor`. Candidates that fail are part of the result; when a stop is requested,
/// the budget is spent, or the machine fails once a candidate was found right, the result holds what was
/// found until then and says that it is not complete.
///
/// Throws UsageError when op and order, a given point or the model do not fit the tensor, or the search lacks
/// its index, and EnvironmentError when
/// nothing can be measured at all (see measure::Session; with no_compile measure::compiler_of_kernels).
TuneResult tune(const matrix::SparseTensor& tensor, const TuneOptions& options, const StopToken& stop);

}  // namespace waco::tune
