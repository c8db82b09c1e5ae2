// Scores new points in batches.
#include "waco/search/pool.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace waco::search {

using schedule::SuperSchedule;

int64_t Pool::add(std::vector<SuperSchedule> points, int64_t limit) {
  std::vector<SuperSchedule> fresh;
  for (auto& point : points) {
    if (static_cast<int64_t>(fresh.size()) >= limit) break;
    if (seen_.insert(schedule::to_text(point)).second) fresh.push_back(std::move(point));
  }
  const std::vector<double> costs = model_.costs(fresh);
  for (size_t n = 0; n < fresh.size(); n++)
    scored_.push_back({std::move(fresh[n]), std::isnan(costs[n]) ? INFINITY : costs[n]});
  return static_cast<int64_t>(fresh.size());
}

std::vector<size_t> Pool::by_cost() const {
  std::vector<size_t> places(scored_.size());
  std::iota(places.begin(), places.end(), size_t{0});
  std::stable_sort(places.begin(), places.end(),
                   [&](size_t a, size_t b) { return scored_[a].cost < scored_[b].cost; });
  return places;
}

bool Pool::feasible(size_t place) {
  const Scored& scored = scored_[place];
  if (!std::isfinite(scored.cost)) return false;
  if (!feasible_) return true;
  const auto [entry, is_new] = feasible_places_.try_emplace(place, false);
  if (is_new) entry->second = feasible_(scored.point);
  return entry->second;
}

const schedule::Kinship& Pool::kinship(size_t place) {
  const auto known = kinships_.find(place);
  if (known != kinships_.end()) return known->second;
  return kinships_.emplace(place, schedule::kinship(scored_[place].point)).first->second;
}

}  // namespace waco::search
