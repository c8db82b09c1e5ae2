// What points cost on one pattern, and whether they are within the limits there.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "waco/model/closed_form.hpp"
#include "waco/search/learned.hpp"
#include "waco/tune/tune.hpp"

namespace waco::tune {

/// A pattern as models see it: the given one, or one whose nonzeros are arranged.
class PatternCosts {
 public:
  /// Keeps references to `tensor`, `options` and `limits`. The nonzeros of the tensor are arranged already,
  /// and whatever points are asked for, those that arrange them so are meant.
  PatternCosts(const matrix::SparseTensor& tensor, schedule::Arrangement arrangement,
               const TuneOptions& options, const schedule::SpaceLimits& limits, model::Ceilings ceilings);
  PatternCosts(const PatternCosts&) = delete;
  PatternCosts& operator=(const PatternCosts&) = delete;

  /// Looks the pattern up by the learned model, where there is one: from then on it ranks. Returns the
  /// seconds that the features took.
  double look_up();
  bool is_learned() const { return lookup_.has_value(); }

  /// Predicted nanoseconds.
  std::vector<double> costs_ns(std::span<const schedule::SuperSchedule> points);
  /// What a search ranks by: in units of cost_unit_ns().
  model::CostModel& costs() { return counting_; }
  double cost_unit_ns() const { return lookup_ ? csr_ns_ : 1; }
  /// The closed-form model's, in nanoseconds.
  model::CostModel& closed_form_costs() { return closed_form_costs_; }
  /// Null without an index.
  const search::Query* query() const { return lookup_ ? lookup_->query() : nullptr; }
  model::ClosedFormModel& closed_form() { return closed_form_; }
  /// Predicted nanoseconds of fixed_csr.
  double csr_ns() const { return csr_ns_; }
  /// Points whose cost was predicted.
  int64_t num_ranked() const { return counting_.num_points; }

  /// Which limit a point is beyond; nullopt when it may be tried.
  std::optional<std::string> exclusion(const schedule::SuperSchedule& point) const;
  /// Whether a search may propose it: within the limits, and with no result stored past caches that hold it.
  bool feasible(const schedule::SuperSchedule& point) const {
    return !evicts_result(point) && !exclusion(point);
  }
  /// As feasible() says where the estimate leaves no doubt, which spares a pass over the nonzeros;
  /// remembered.
  bool seems_feasible(const schedule::SuperSchedule& point);
  /// From now on seems_feasible() counts, too.
  void distrust_estimates();
  /// About as many bytes as the point stores.
  double expected_bytes(const schedule::SuperSchedule& point);

 private:
  /// Asks for the points as they are stored here, and counts them.
  class CountingModel : public model::CostModel {
   public:
    CountingModel(model::CostModel& model, schedule::Arrangement arrangement)
        : model_(&model), arrangement_(arrangement) {}
    std::vector<double> costs(std::span<const schedule::SuperSchedule> points) override;
    int64_t num_points = 0;

   private:
    model::CostModel* model_;
    schedule::Arrangement arrangement_;
  };

  bool evicts_result(const schedule::SuperSchedule& point) const;
  bool judge_by_estimate(const schedule::SuperSchedule& point);

  const matrix::SparseTensor& tensor_;
  const schedule::Arrangement arrangement_;
  const TuneOptions& options_;
  const schedule::SpaceLimits& limits_;
  pattern::PatternCounts counts_;
  model::ClosedFormModel closed_form_;
  std::optional<search::LearnedLookup> lookup_;  ///< with a learned model
  CountingModel closed_form_costs_;
  CountingModel counting_;
  double csr_ns_ = 0;
  std::unordered_map<std::string, bool> feasible_by_key_;  ///< by limits_key()
  bool counts_storage_ = false;                            ///< no estimate decides what is feasible
};

}  // namespace waco::tune
