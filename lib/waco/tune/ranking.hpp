// Which points to measure: the cheapest, and different, by a learned model or the closed-form one; later the
// neighbours of the best.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "waco/model/closed_form.hpp"
#include "waco/search/learned.hpp"
#include "waco/search/named.hpp"
#include "waco/tune/result.hpp"
#include "waco/tune/tune.hpp"

namespace waco::tune {

class Ranking {
 public:
  /// Keeps references to `tensor` and `options`.
  Ranking(const matrix::SparseTensor& tensor, const TuneOptions& options, int threads,
          model::Ceilings ceilings);

  /// From now on only points that `usable` accepts are found. It is asked once for a point that would be
  /// followed or returned, after the limits.
  void keep_to(search::Feasible usable) { usable_ = std::move(usable); }

  /// The best points of a search over the whole space, cheapest first. Of the first `num_sure` the storage
  /// is known exactly and within the limits; that of the others is only estimated. Forgets what earlier calls
  /// returned.
  std::vector<Candidate> search(int num_results, int64_t evaluations, size_t num_sure);

  /// The best points of a search by the closed-form model alone that search() has not returned: a learned
  /// model may never rank first what it underrates. None where no learned model ranks.
  std::vector<Candidate> second_opinions(size_t num_results, int64_t evaluations);

  /// Neighbours of `points` that neither the last search() nor a call since has returned, the most promising
  /// first: predictions are corrected by what was `measured`, and of those that are in doubt the best is
  /// hoped for.
  std::vector<Candidate> neighbours(const std::vector<schedule::SuperSchedule>& points,
                                    const std::vector<Candidate>& measured, size_t num_results);

  /// Costs and limits for points given by hand: excluded ones become failed candidates that are not to be
  /// measured.
  std::vector<Candidate> judge(const std::vector<schedule::SuperSchedule>& points);

  /// Which limit the format of fixed_csr is beyond; nullopt when it may be tried.
  std::optional<std::string> csr_exclusion() const;
  /// About as many bytes as the point stores.
  double expected_bytes(const schedule::SuperSchedule& point);
  /// Of this machine.
  const model::Ceilings& ceilings() const { return closed_form_.ceilings(); }
  /// Predicted nanoseconds of fixed_csr.
  double csr_ns() const { return csr_ns_; }

  /// Seconds that the features of the pattern took.
  double features_s() const { return features_s_; }
  /// Points whose cost was predicted.
  int64_t num_ranked() const { return counting_.num_points; }

 private:
  /// Counts what passes through.
  class CountingModel : public model::CostModel {
   public:
    explicit CountingModel(model::CostModel& model) : model_(&model) {}
    std::vector<double> costs(std::span<const schedule::SuperSchedule> points) override;
    int64_t num_points = 0;

   private:
    model::CostModel* model_;
  };

  bool feasible(const schedule::SuperSchedule& point) const;
  bool seems_feasible(const schedule::SuperSchedule& point);
  bool may_be_tried(const schedule::SuperSchedule& point);
  Candidate candidate(const schedule::SuperSchedule& point, double cost);

  const TuneOptions& options_;
  pattern::PatternCounts counts_;
  schedule::ScheduleSpace space_;
  model::ClosedFormModel closed_form_;
  std::optional<search::LearnedLookup> lookup_;  ///< with a learned model
  CountingModel counting_;
  double cost_unit_ns_ = 1;  ///< of the model's costs
  Random random_;
  double csr_ns_ = 0;
  double features_s_ = 0;
  std::set<std::string> returned_;                         ///< text forms
  search::Feasible usable_;                                ///< of keep_to(); null: all are
  std::unordered_map<std::string, bool> feasible_by_key_;  ///< by limits_key()
};

}  // namespace waco::tune
