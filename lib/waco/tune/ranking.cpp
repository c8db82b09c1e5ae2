// Which points to measure, by the model at hand.
#include "waco/tune/ranking.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <limits>
#include <new>

#include "waco/base/clock.hpp"
#include "waco/base/error.hpp"
#include "waco/base/machine.hpp"
#include "waco/codegen/clustered.hpp"
#include "waco/tune/prediction_errors.hpp"

namespace waco::tune {
namespace {

using schedule::SuperSchedule;
using schedule::with_row_order;

/// Of memory a nonzero, row or column: the other matrix and its making.
constexpr int64_t kClusteringBytes = 48;

schedule::SpaceLimits limits(const TuneOptions& options, int threads) {
  schedule::SpaceLimits limits;
  limits.max_threads = threads;
  limits.max_fill = options.max_fill;
  limits.subspace = options.subspace;
  // Packing holds the input, the sorted order and the packed form at the same time.
  limits.max_bytes = std::max<int64_t>(available_memory_bytes() / 3, 1 << 20);
  return limits;
}

}  // namespace

Ranking::Ranking(const matrix::SparseTensor& tensor, const TuneOptions& options, int threads,
                 model::Ceilings ceilings)
    : tensor_(tensor),
      options_(options),
      space_(options.problem, tensor.dims, limits(options, threads)),
      given_(tensor, false, options, space_.limits(), std::move(ceilings)),
      random_(options.seed) {
  features_s_ = given_.look_up();
}

std::optional<std::string> Ranking::csr_exclusion() const {
  return given_.exclusion(schedule::csr_point(options_.problem, space_.limits().max_threads));
}

/// Clusters rows where many of the dense rows that nonzeros need would be met again too late, and the
/// closed-form model expects CSR to gain.
void Ranking::consider_clustering() {
  if (std::exchange(considered_, true)) return;
  if (tensor_.order() != 2 || options_.subspace == schedule::Subspace::kSchedule) return;
  if (given_.closed_form().may_gain_by_clustering(options_.problem) && can_be_clustered()) cluster(true);
}

/// The work takes memory.
bool Ranking::can_be_clustered() const {
  if (clustering_failed_ || tensor_.order() != 2) return false;
  if (std::max({tensor_.dims[0], tensor_.dims[1], tensor_.num_nonzeros()}) > schedule::kMostClustered)
    return false;
  const int64_t parts = tensor_.num_nonzeros() + tensor_.dims[0] + tensor_.dims[1];
  return parts <= space_.limits().max_bytes / kClusteringBytes;
}

/// Leaves clustered_ empty where memory runs out, or where CSR has to gain and is not expected to.
void Ranking::cluster(bool has_to_gain) {
  const int threads = space_.limits().max_threads;
  try {
    const auto start = std::chrono::steady_clock::now();
    clustered_tensor_ = codegen::with_clustered_rows(tensor_, threads);
    clustered_.emplace(*clustered_tensor_, true, options_, space_.limits(), ceilings());
    clustering_s_ = seconds_since(start);
    if (!has_to_gain ||
        given_.closed_form().gains_by_clustering(clustered_->closed_form(), options_.problem, threads)) {
      features_s_ += clustered_->look_up();
      return;
    }
  } catch (const TooLargeError&) {  // memory that was free a moment ago
    clustering_failed_ = true;
  } catch (const std::bad_alloc&) {
    clustering_failed_ = true;
  }
  clustered_.reset();
  clustered_tensor_.reset();
}

PatternCosts& Ranking::costs_of(const SuperSchedule& point) {
  if (!point.format.clustered || !can_be_clustered()) return given_;
  if (!clustered_) cluster(false);  // given by hand
  return clustered_ ? *clustered_ : given_;
}

std::vector<double> Ranking::costs_ns(std::span<const SuperSchedule> points) {
  std::vector<double> costs(points.size());
  for (const bool clustered : {false, true}) {
    std::vector<SuperSchedule> same;
    for (const SuperSchedule& point : points)
      if (point.format.clustered == clustered) same.push_back(point);
    if (same.empty()) continue;
    const std::vector<double> found = costs_of(same[0]).costs_ns(same);
    auto next = found.begin();
    for (size_t n = 0; n < points.size(); ++n)
      if (points[n].format.clustered == clustered) costs[n] = *next++;
  }
  return costs;
}

bool Ranking::may_be_tried(const SuperSchedule& point) {
  return costs_of(point).seems_feasible(point) && (!usable_ || usable_(point));
}

Candidate Ranking::candidate(const SuperSchedule& point, double cost_ns) {
  returned_.insert(schedule::to_text(point));
  Candidate candidate;
  candidate.measurement.point = point;
  candidate.predicted_cost_ns = cost_ns;
  return candidate;
}

std::vector<Candidate> Ranking::search_order(bool clustered, int num_results, int64_t evaluations,
                                             size_t num_sure) {
  PatternCosts& costs = clustered ? *clustered_ : given_;
  const auto search = search::make_search(options_.search, costs.query());
  const auto allowed = [&](const SuperSchedule& point) {
    return may_be_tried(with_row_order(point, clustered));
  };
  std::vector<Candidate> candidates;
  for (const search::Scored& found :
       search->run(space_, costs.costs(), allowed, evaluations, random_, num_results)) {
    const SuperSchedule point = with_row_order(found.point, clustered);
    if (returned_.contains(schedule::to_text(point)))
      continue;  // the same but for what clustering leaves out
    if (candidates.size() >= num_sure || costs.feasible(point))
      candidates.push_back(candidate(point, found.cost * costs.cost_unit_ns()));
  }
  return candidates;
}

std::vector<Candidate> Ranking::search(int num_results, int64_t evaluations, size_t num_sure,
                                       bool may_cluster) {
  returned_.clear();
  if (may_cluster) consider_clustering();
  std::vector<Candidate> candidates = search_order(false, num_results, evaluations, num_sure);
  if (!clustered_) return candidates;
  // The models know less of how the two compare than of points of the same rows: some of each are kept.
  const auto num_wanted = static_cast<size_t>(num_results), num_kept = num_wanted / 4;
  std::vector<Candidate> others = search_order(true, num_results, evaluations, num_sure);
  const auto is_cheaper = [](const Candidate& a, const Candidate& b) {
    return *a.predicted_cost_ns < *b.predicted_cost_ns;
  };
  while (candidates.size() + others.size() > num_wanted) {
    const bool drops_other = others.size() > num_kept &&
                             (candidates.size() <= num_kept || is_cheaper(candidates.back(), others.back()));
    (drops_other ? others : candidates).pop_back();
  }
  std::vector<Candidate> both;
  std::merge(candidates.begin(), candidates.end(), others.begin(), others.end(), std::back_inserter(both),
             is_cheaper);
  returned_.clear();
  for (const Candidate& kept : both) returned_.insert(schedule::to_text(kept.measurement.point));
  return both;
}

std::vector<Candidate> Ranking::second_opinions(size_t num_results, int64_t evaluations) {
  if (!given_.is_learned()) return {};
  std::vector<SuperSchedule> points;
  const auto add = [&](bool clustered, size_t wanted) {
    PatternCosts& costs = clustered ? *clustered_ : given_;
    const auto allowed = [&](const SuperSchedule& point) {
      return may_be_tried(with_row_order(point, clustered));
    };
    // As many as were found before may be found again.
    const auto looked_at = static_cast<int>(returned_.size() + wanted);
    for (const search::Scored& found : search::NeighbourSearch().run(
             space_, costs.closed_form_costs(), allowed, evaluations, random_, looked_at)) {
      if (wanted == 0) break;
      SuperSchedule point = with_row_order(found.point, clustered);
      if (returned_.contains(schedule::to_text(point)) || !costs.feasible(point)) continue;
      returned_.insert(schedule::to_text(point));
      points.push_back(std::move(point));
      --wanted;
    }
  };
  const size_t num_clustered = clustered_ ? num_results / 2 : 0;
  add(false, num_results - num_clustered);
  if (num_clustered > 0) add(true, num_clustered);
  const std::vector<double> costs = costs_ns(points);
  std::vector<Candidate> candidates;
  for (size_t n = 0; n < points.size(); ++n) candidates.push_back(candidate(points[n], costs[n]));
  return candidates;
}

std::vector<Candidate> Ranking::neighbours(const std::vector<SuperSchedule>& points,
                                           const std::vector<Candidate>& measured, size_t num_results) {
  std::vector<SuperSchedule> fresh;
  std::set<std::string> seen = returned_;
  for (const SuperSchedule& point : points) {
    std::vector<SuperSchedule> nearby = space_.neighbours(point);
    if (clustered_) nearby.push_back(with_row_order(point, !point.format.clustered));
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
    if (costs_of(point).feasible(point) && (!usable_ || usable_(point))) {
      candidates.push_back(candidate(point, costs[best->place]));
      const double expected = errors.at(best->prospect).mean;
      errors.add(std::move(best->prospect), expected);
    }
    waiting.erase(best);
  }
  return candidates;
}

std::vector<Candidate> Ranking::judge(const std::vector<SuperSchedule>& points) {
  const std::vector<double> costs = costs_ns(points);
  std::vector<Candidate> candidates;
  for (size_t n = 0; n < points.size(); ++n) {
    if (returned_.contains(schedule::to_text(points[n]))) continue;
    Candidate judged = candidate(points[n], costs[n]);
    if (points[n].format.clustered && !can_be_clustered()) {
      judged.measured = true;
      judged.measurement.status = measure::Status::kConstraint;
      judged.measurement.message = "there is not enough memory to cluster the rows, or there are too many";
    } else if (const auto reason = costs_of(points[n]).exclusion(points[n])) {
      judged.measured = true;
      judged.measurement.status = measure::Status::kConstraint;
      judged.measurement.message = *reason;
    }
    candidates.push_back(std::move(judged));
  }
  return candidates;
}

}  // namespace waco::tune
