// A beam search over one-change neighbours.
#include <algorithm>
#include <map>
#include <unordered_set>

#include "waco/search/diversity.hpp"

namespace waco::search {

using schedule::SuperSchedule;

namespace {

constexpr int kBeam = 12;           // points followed in one round
constexpr int kPerFamily = 3;       // of them at most this many of one family
constexpr double kPromising = 1.6;  // times the best cost: beyond, a point is not followed

/// The best points not followed yet, few of each family.
std::vector<size_t> choose_beam(Pool& pool, std::unordered_set<size_t>& followed) {
  std::vector<size_t> beam;
  std::map<std::string, int> families;
  double best = -1;
  for (const size_t place : pool.by_cost()) {
    const Scored& scored = pool.scored()[place];
    if (static_cast<int>(beam.size()) >= kBeam || (best >= 0 && scored.cost > kPromising * best)) break;
    if (!pool.feasible(place)) continue;
    if (best < 0) best = scored.cost;
    int& family = families[pool.kinship(place).family];
    if (followed.count(place) != 0 || family >= kPerFamily) continue;
    family++;
    followed.insert(place);
    beam.push_back(place);
  }
  return beam;
}

}  // namespace

void follow_neighbours(Pool& pool, const schedule::ScheduleSpace& space, int64_t budget) {
  std::unordered_set<size_t> followed;
  while (pool.size() < budget) {
    const std::vector<size_t> beam = choose_beam(pool, followed);
    if (beam.empty()) break;
    for (const size_t place : beam) {
      if (pool.size() >= budget) break;
      pool.add(space.neighbours(SuperSchedule(pool.scored()[place].point)), budget - pool.size());
    }
  }
}

std::vector<Scored> NeighbourSearch::run(const schedule::ScheduleSpace& space, model::CostModel& model,
                                         const Feasible& feasible, int64_t budget, Random& random,
                                         int num_results) {
  Pool pool(model, feasible);
  pool.add(space.enumerate_structured(), budget);
  pool.add(random_points(space, std::min(budget / 8, budget - pool.size()), random), budget - pool.size());
  follow_neighbours(pool, space, budget);
  return select_diverse(pool, num_results);
}

}  // namespace waco::search
