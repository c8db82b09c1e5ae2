// What to measure on one matrix.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "waco/collect/strata.hpp"
#include "waco/collect/structure_pool.hpp"
#include "waco/matrix/sparse_tensor.hpp"
#include "waco/model/closed_form.hpp"
#include "waco/pattern/pattern_counts.hpp"
#include "waco/search/learned.hpp"

namespace waco::collect {

/// A point and the stratum it was drawn from.
struct Choice {
  schedule::SuperSchedule point;
  Stratum stratum = Stratum::kFixedCsr;
};

struct ChoiceOptions {
  schedule::Problem problem;
  int threads = 1;  ///< the most a point may use
  int per_matrix = 100;
  uint64_t seed = 1;
  double max_fill = schedule::kMaxFill;  ///< values stored per nonzero
  int64_t max_bytes = INT64_MAX;         ///< as in schedule::SpaceLimits
  int vector_bytes = 32;                 ///< of the compiler's target
  /// What the closed-form model takes, of `threads`; nullopt: the default ones of this kind of machine.
  std::optional<model::Ceilings> ceilings;
  /// Measured wherever they are feasible, as parts of `per_matrix`, which has room for them; of `problem`.
  std::vector<schedule::SuperSchedule> asked;
  /// All points but fixed_csr cluster the rows, in windows for `threads`.
  bool clustered = false;
  /// Of the op: what it ranks first is measured, and neighbours of the best. Null: points of all strata.
  const search::Learned* learned = nullptr;
};

/// Draws legal points whose storage is feasible and whose predicted time is not beyond measuring. All draws
/// depend on seed, pattern and options alone, never on what the machine was doing.
class PointChooser {
 public:
  /// Keeps references to tensor and pool. The tensor has its rows in the order that the points store them
  /// in. `hash`: the pattern_hash of the matrix as it is.
  PointChooser(const matrix::SparseTensor& tensor, const std::string& hash, const ChoiceOptions& options,
               StructurePool& pool);

  /// The points of all strata but the neighbours, distinct, stratum by stratum with fixed_csr first. Fewer
  /// than strata_sizes() says where the space has no more.
  std::vector<Choice> independent_points();

  /// At most `count` neighbours of `best` (fastest first) that are not in `taken`, the most promising by the
  /// model; two thirds of them have kernels in `compiled` if there are enough such.
  std::vector<Choice> neighbours(const std::vector<schedule::SuperSchedule>& best, int count,
                                 const std::set<std::string>& taken, const std::set<std::string>& compiled);

  /// A name of the kernel's source: equal for points that share it.
  std::string kernel_name(const schedule::SuperSchedule& point) const;

 private:
  schedule::SuperSchedule as_stored(const schedule::SuperSchedule& point) const;
  std::optional<schedule::SuperSchedule> as_asked(const schedule::SuperSchedule& point) const;
  bool feasible(const schedule::SuperSchedule& point);
  double cost(const schedule::SuperSchedule& point);
  void add_model_points(int count, std::vector<Choice>& choices);
  void add_learned_points(int count, std::vector<Choice>& choices);
  void add_found(search::Search& search, model::CostModel& model, Stratum stratum, int count,
                 std::vector<Choice>& choices);
  void add_family_points(Stratum stratum, int count, std::vector<Choice>& choices);
  bool take(const schedule::SuperSchedule& drawn, Stratum stratum, std::vector<Choice>& choices);

  const matrix::SparseTensor& tensor_;
  const ChoiceOptions options_;
  StructurePool& pool_;
  Random random_;
  int64_t num_nonzeros_;
  pattern::PatternCounts counts_;
  schedule::ScheduleSpace space_;
  model::ClosedFormModel model_;
  double most_cost_;  ///< predicted; beyond this nothing is measured
  std::set<std::string> chosen_;
  std::unordered_map<std::string, bool> feasible_by_key_;  ///< by limits_key()
};

}  // namespace waco::collect
