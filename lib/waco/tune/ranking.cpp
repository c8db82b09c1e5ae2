// Which points to measure, by the model at hand.
#include "waco/tune/ranking.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "waco/base/clock.hpp"
#include "waco/base/machine.hpp"
#include "waco/tune/prediction_errors.hpp"

namespace waco::tune {
namespace {

using schedule::SuperSchedule;

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

std::vector<double> Ranking::CountingModel::costs(std::span<const SuperSchedule> points) {
  num_points += static_cast<int64_t>(points.size());
  return model_->costs(points);
}

Ranking::Ranking(const matrix::SparseTensor& tensor, const TuneOptions& options, int threads,
                 model::Ceilings ceilings)
    : options_(options),
      counts_(tensor),
      space_(options.problem, tensor.dims, limits(options, threads)),
      closed_form_(tensor, std::move(ceilings)),
      counting_(closed_form_),
      random_(options.seed) {
  csr_ns_ = closed_form_.terms(schedule::csr_point(options.problem, threads)).total_ns;
  if (!options.learned) return;
  const auto start = std::chrono::steady_clock::now();
  lookup_.emplace(*options.learned, tensor, options.problem, closed_form_, threads);
  features_s_ = seconds_since(start);
  counting_ = CountingModel(lookup_->costs());
  // A learned model predicts shares of fixed_csr's time, which the closed-form model knows in nanoseconds.
  cost_unit_ns_ = csr_ns_;
}

std::optional<std::string> Ranking::csr_exclusion() const {
  const schedule::SpaceLimits& limits = space_.limits();
  return schedule::exclusion_reason(schedule::csr_point(options_.problem, limits.max_threads), counts_,
                                    limits);
}

double Ranking::expected_bytes(const SuperSchedule& point) {
  const model::FormatCounts expected = closed_form_.expected_storage(point);
  return expected.stored_values * static_cast<double>(value_bytes(point.problem.type)) + expected.index_bytes;
}

/// As feasible() says where the estimate leaves no doubt, which spares a pass over the nonzeros.
bool Ranking::seems_feasible(const SuperSchedule& point) {
  constexpr double kDoubt = 2;
  const double stored_values = closed_form_.expected_storage(point).stored_values;
  const auto nonzeros = static_cast<double>(std::max<int64_t>(1, counts_.num_nonzeros()));
  const schedule::SpaceLimits& limits = space_.limits();
  const double excess = std::max(stored_values / nonzeros / limits.max_fill,
                                 expected_bytes(point) / static_cast<double>(limits.max_bytes));
  if (excess > kDoubt) return false;
  const bool is_small =
      excess * kDoubt < 1 && !schedule::threads_share_outputs(point, schedule::analyze(point));
  return is_small ? point.compute.threads <= limits.max_threads : feasible(point);
}

bool Ranking::feasible(const SuperSchedule& point) const {
  return !schedule::exclusion_reason(point, counts_, space_.limits());
}

bool Ranking::may_be_tried(const SuperSchedule& point) {
  const auto [entry, is_new] = feasible_by_key_.try_emplace(schedule::limits_key(point), false);
  if (is_new) entry->second = seems_feasible(point);
  return entry->second && (!usable_ || usable_(point));
}

Candidate Ranking::candidate(const SuperSchedule& point, double cost) {
  returned_.insert(schedule::to_text(point));
  Candidate candidate;
  candidate.measurement.point = point;
  candidate.predicted_cost_ns = cost * cost_unit_ns_;
  return candidate;
}

std::vector<Candidate> Ranking::search(int num_results, int64_t evaluations, size_t num_sure) {
  returned_.clear();
  const search::Query* query = lookup_ ? lookup_->query() : nullptr;
  const auto search = search::make_search(options_.search, query);
  const auto allowed = [this](const SuperSchedule& point) { return may_be_tried(point); };
  std::vector<Candidate> candidates;
  for (const search::Scored& found :
       search->run(space_, counting_, allowed, evaluations, random_, num_results))
    if (candidates.size() >= num_sure || feasible(found.point))
      candidates.push_back(candidate(found.point, found.cost));
  return candidates;
}

std::vector<Candidate> Ranking::second_opinions(size_t num_results, int64_t evaluations) {
  if (!lookup_) return {};
  const auto allowed = [this](const SuperSchedule& point) { return may_be_tried(point); };
  // As many as were found before may be found again.
  const auto wanted = static_cast<int>(returned_.size() + num_results);
  std::vector<SuperSchedule> points;
  for (search::Scored& found :
       search::NeighbourSearch().run(space_, closed_form_, allowed, evaluations, random_, wanted))
    if (points.size() < num_results && !returned_.contains(schedule::to_text(found.point)) &&
        feasible(found.point))
      points.push_back(std::move(found.point));
  const std::vector<double> costs = counting_.costs(points);
  std::vector<Candidate> candidates;
  for (size_t n = 0; n < points.size(); ++n) candidates.push_back(candidate(points[n], costs[n]));
  return candidates;
}

std::vector<Candidate> Ranking::neighbours(const std::vector<SuperSchedule>& points,
                                           const std::vector<Candidate>& measured, size_t num_results) {
  std::vector<SuperSchedule> fresh;
  std::set<std::string> seen = returned_;
  for (const SuperSchedule& point : points)
    for (SuperSchedule& next : space_.neighbours(point))
      if (seen.insert(schedule::to_text(next)).second) fresh.push_back(std::move(next));
  PredictionErrors errors;
  for (const Candidate& known : measured) {
    const measure::Measurement& m = known.measurement;
    if (!known.measured || !m.ok() || m.censored || !known.predicted_cost_ns) continue;
    // Times of different rounds compare as shares of fixed_csr's, and so do predictions.
    errors.add(PredictionErrors::Prospect(m.point),
               -std::log2(m.speedup.median * *known.predicted_cost_ns / csr_ns_));
  }
  struct Neighbour {
    size_t place;
    PredictionErrors::Prospect prospect;
    double log2_cost;
  };
  std::vector<Neighbour> waiting;
  const std::vector<double> costs = counting_.costs(fresh);
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
    if ((!usable_ || usable_(point)) && feasible(point)) {
      candidates.push_back(candidate(point, costs[best->place]));
      const double expected = errors.at(best->prospect).mean;
      errors.add(std::move(best->prospect), expected);
    }
    waiting.erase(best);
  }
  return candidates;
}

std::vector<Candidate> Ranking::judge(const std::vector<SuperSchedule>& points) {
  const std::vector<double> costs = counting_.costs(points);
  std::vector<Candidate> candidates;
  for (size_t n = 0; n < points.size(); ++n) {
    if (returned_.contains(schedule::to_text(points[n]))) continue;
    Candidate judged = candidate(points[n], costs[n]);
    if (const auto reason = schedule::exclusion_reason(points[n], counts_, space_.limits())) {
      judged.measured = true;
      judged.measurement.status = measure::Status::kConstraint;
      judged.measurement.message = *reason;
    }
    candidates.push_back(std::move(judged));
  }
  return candidates;
}

}  // namespace waco::tune
