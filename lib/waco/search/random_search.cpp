// Stratified random points.
#include <algorithm>

#include "waco/search/diversity.hpp"

namespace waco::search {

using schedule::SuperSchedule;

std::vector<SuperSchedule> random_points(const schedule::ScheduleSpace& space, int64_t count,
                                         Random& random) {
  std::vector<SuperSchedule> points;
  for (int64_t n = 0; n < count; n++)
    points.push_back(space.sample_stratified(random, schedule::kStrata[n % schedule::kStrata.size()]));
  return points;
}

std::vector<Scored> RandomSearch::run(const schedule::ScheduleSpace& space, model::CostModel& model,
                                      const Feasible& feasible, int64_t budget, Random& random,
                                      int num_results) {
  Pool pool(model, feasible);
  // A small space runs out of new points: give up after as many draws again.
  for (int64_t draws = 0; pool.size() < budget && draws < 2 * budget;) {
    const int64_t count = std::min<int64_t>(budget - pool.size(), 256);
    pool.add(random_points(space, count, random), count);
    draws += count;
  }
  return select_diverse(pool, num_results);
}

}  // namespace waco::search
