// Neighbours of the best points, by predictions that measurements have corrected.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "waco/tune/prediction_errors.hpp"
#include "waco/tune/ranking.hpp"

namespace waco::tune {

using schedule::Arrangement;
using schedule::SuperSchedule;

std::vector<Candidate> Ranking::neighbours(const std::vector<SuperSchedule>& points,
                                           const std::vector<Candidate>& measured, size_t num_results) {
  std::vector<SuperSchedule> fresh;
  std::set<std::string> seen = returned_;
  for (const SuperSchedule& point : points) {
    std::vector<SuperSchedule> nearby = space_.neighbours(point);
    if (point.format.clustered()) {
      for (SuperSchedule& next : nearby) next = stored(next, Arrangement::kClustered);
      nearby.push_back(stored(point, Arrangement::kGiven));
    } else if (is_arranged(Arrangement::kClustered) && !point.format.skewed()) {
      nearby.push_back(stored(point, Arrangement::kClustered));
    }
    if (is_arranged(Arrangement::kSkewed)) {
      SuperSchedule twin = point;
      twin.format.arrangement = Arrangement::kSkewed;
      twin.format.cluster_window = 0;
      if (!schedule::illegal_reason(twin)) nearby.push_back(schedule::canonical(twin));
    }
    for (SuperSchedule& next : nearby)
      if (seen.insert(schedule::to_text(next)).second) fresh.push_back(std::move(next));
  }
  PredictionErrors errors;
  for (const Candidate& known : measured) {
    const measure::Measurement& m = known.measurement;
    if (!known.measured || !m.ok() || m.censored || !known.predicted_cost_ns) continue;
    // Times of different rounds compare as shares of fixed_csr's, and so do predictions.
    errors.add(PredictionErrors::Prospect(m.point),
               -std::log2(m.speedup.median * *known.predicted_cost_ns / csr_ns()));
  }
  struct Neighbour {
    size_t place;
    PredictionErrors::Prospect prospect;
    double log2_cost;
  };
  std::vector<Neighbour> waiting;
  const std::vector<double> costs = costs_ns(fresh);
  for (size_t n = 0; n < fresh.size(); ++n)
    if (std::isfinite(costs[n]))
      waiting.push_back({n, PredictionErrors::Prospect(fresh[n]), std::log2(costs[n])});
  std::vector<Candidate> candidates;
  while (candidates.size() < num_results && !waiting.empty()) {
    auto best = waiting.begin();
    double least = std::numeric_limits<double>::infinity();
    for (auto at = waiting.begin(); at != waiting.end(); ++at) {
      const PredictionErrors::Estimate error = errors.at(at->prospect);
      const double hoped = at->log2_cost + error.mean - error.deviation;
      if (hoped < least) best = at, least = hoped;
    }
    const SuperSchedule& point = fresh[best->place];
    if (costs_of(point.format.arrangement).feasible(point) && (!usable_ || usable_(point))) {
      candidates.push_back(candidate(point, costs[best->place]));
      const double expected = errors.at(best->prospect).mean;
      errors.add(std::move(best->prospect), expected);
    }
    waiting.erase(best);
  }
  return candidates;
}

}  // namespace waco::tune
