// The points a search has scored so far, without duplicates.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "waco/schedule/kinship.hpp"
#include "waco/search/search.hpp"

namespace waco::search {

class Pool {
 public:
  Pool(model::CostModel& model, const Feasible& feasible) : model_(model), feasible_(feasible) {}

  /// Scores the points that were not seen before, at most `limit` of them; returns how many were new.
  int64_t add(std::vector<schedule::SuperSchedule> points, int64_t limit);
  /// Places of all points in `scored()` by increasing cost; ties in order of arrival.
  std::vector<size_t> by_cost() const;
  const std::vector<Scored>& scored() const { return scored_; }
  /// Whether a scored point may be tried; asked at most once.
  bool feasible(size_t place);
  /// Of a scored point; made at most once. Stays where it is.
  const schedule::Kinship& kinship(size_t place);
  int64_t size() const { return static_cast<int64_t>(scored_.size()); }

 private:
  model::CostModel& model_;
  const Feasible& feasible_;
  std::vector<Scored> scored_;
  std::unordered_set<std::string> seen_;
  std::unordered_map<size_t, bool> feasible_places_;
  std::unordered_map<size_t, schedule::Kinship> kinships_;
};

/// `count` points of all strata in turn; some may be equal.
std::vector<schedule::SuperSchedule> random_points(const schedule::ScheduleSpace& space, int64_t count,
                                                   Random& random);

/// Adds the neighbours of the most promising points, few of each family, again and again until the pool holds
/// `budget` points or no promising one is left.
void follow_neighbours(Pool& pool, const schedule::ScheduleSpace& space, int64_t budget);

}  // namespace waco::search
