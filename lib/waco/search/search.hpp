// Finding cheap points of a space under a cost model: the one interface of all searches.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "waco/base/random.hpp"
#include "waco/model/cost_model.hpp"
#include "waco/schedule/space.hpp"

namespace waco::search {

/// A point with its cost; smaller is better.
struct Scored {
  schedule::SuperSchedule point;
  double cost = 0;
};

/// Whether a legal point may be tried on this pattern (schedule::exclusion_reason says no reason). Asked only
/// for points that would be followed or returned, because the exact answer takes longer than a cost.
using Feasible = std::function<bool(const schedule::SuperSchedule&)>;

class Search {
 public:
  virtual ~Search() = default;
  /// At most `num_results` distinct feasible points, cheapest first, chosen to differ in more than details
  /// (see select_diverse). Evaluates the model on about `budget` points; deterministic for a given state of
  /// `random`.
  virtual std::vector<Scored> run(const schedule::ScheduleSpace& space, model::CostModel& model,
                                  const Feasible& feasible, int64_t budget, Random& random,
                                  int num_results) = 0;
};

/// Follows the neighbours of the most promising points, starting from the structured points of the space and
/// a stratified random sample.
class NeighbourSearch : public Search {
 public:
  std::vector<Scored> run(const schedule::ScheduleSpace& space, model::CostModel& model,
                          const Feasible& feasible, int64_t budget, Random& random, int num_results) override;
};

/// The Tree-structured Parzen Estimator, as HyperOpt has it: draws each choice of a point from what good
/// points chose, and prefers values that others did not choose.
class TpeSearch : public Search {
 public:
  std::vector<Scored> run(const schedule::ScheduleSpace& space, model::CostModel& model,
                          const Feasible& feasible, int64_t budget, Random& random, int num_results) override;
};

/// OpenTuner's ensemble: a bandit chooses which technique (techniques.hpp) proposes the next point.
class BanditSearch : public Search {
 public:
  std::vector<Scored> run(const schedule::ScheduleSpace& space, model::CostModel& model,
                          const Feasible& feasible, int64_t budget, Random& random, int num_results) override;
};

/// Draws stratified random points: what any other search must beat.
class RandomSearch : public Search {
 public:
  std::vector<Scored> run(const schedule::ScheduleSpace& space, model::CostModel& model,
                          const Feasible& feasible, int64_t budget, Random& random, int num_results) override;
};

}  // namespace waco::search
