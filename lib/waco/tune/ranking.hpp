// Which points to measure: the cheapest, and different, by the closed-form model; later the neighbours of the
// best.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "waco/model/closed_form.hpp"
#include "waco/search/search.hpp"
#include "waco/tune/result.hpp"
#include "waco/tune/tune.hpp"

namespace waco::tune {

class Ranking {
 public:
  /// Keeps a reference to `tensor`.
  Ranking(const matrix::SparseTensor& tensor, const TuneOptions& options, int threads,
          model::Ceilings ceilings);

  /// The best points of a search over the whole space, cheapest first.
  std::vector<Candidate> search(int num_results);

  /// Neighbours of `points` that neither this nor an earlier call has returned, cheapest first.
  std::vector<Candidate> neighbours(const std::vector<schedule::SuperSchedule>& points, size_t num_results);

  /// Costs and limits for points given by hand: excluded ones become failed candidates that are not to be
  /// measured.
  std::vector<Candidate> judge(const std::vector<schedule::SuperSchedule>& points);

  /// Points whose cost was predicted.
  int64_t num_ranked() const { return counting_.num_points; }

 private:
  /// Counts what passes through.
  class CountingModel : public model::CostModel {
   public:
    CountingModel(const matrix::SparseTensor& tensor, model::Ceilings ceilings)
        : model_(tensor, std::move(ceilings)) {}
    std::vector<double> costs(std::span<const schedule::SuperSchedule> points) override;
    int64_t num_points = 0;

   private:
    model::ClosedFormModel model_;
  };

  bool feasible(const schedule::SuperSchedule& point) const;
  Candidate candidate(const schedule::SuperSchedule& point, double cost);

  pattern::PatternCounts counts_;
  schedule::ScheduleSpace space_;
  CountingModel counting_;
  Random random_;
  int64_t evaluations_;
  std::set<std::string> returned_;  ///< text forms
};

}  // namespace waco::tune
