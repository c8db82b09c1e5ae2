// Which points to measure, by the model at hand.
#include "waco/tune/ranking.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <new>
#include <numeric>

#include "waco/base/clock.hpp"
#include "waco/base/error.hpp"
#include "waco/base/machine.hpp"
#include "waco/codegen/arranged.hpp"
#include "waco/pattern/diagonals.hpp"
#include "waco/schedule/row_windows.hpp"
#include "waco/schedule/saturating.hpp"
#include "waco/tune/cautious_model.hpp"
#include "waco/tune/row_orders.hpp"

namespace waco::tune {
namespace {

using schedule::Arrangement;
using schedule::SuperSchedule;

/// In the caches, models expect diagonals to take too little beside other formats. With this, the plans they
/// put first for 60 matrices were in the mean 1 % slower than the better of the first with and the first
/// without diagonals; with 1, 6 %, and with 2, 3 %. From memory bytes decide, which they know.
constexpr double kSkewedCost = 1.6;

/// By which clustered points take longer than expected where no model knows it of its machine
/// (Experience::clustered_costs): results are no longer written row after row. Of SpMV, of which no model has
/// learned such records, points of 23 patterns took 1.17 times as long on a Zen 5, in the middle; of the
/// other operations 449 points on a Zen 3 took 1.16 times as long.
constexpr double kClusteredCost = 1.1, kClusteredSpmvCost = 1.17;

/// Of the best points with rows as they are, those by which the two orders are compared.
constexpr size_t kNumCompared = 3;

/// Of memory a nonzero, row or column: the other matrix and its making.
constexpr int64_t kArrangingBytes = 48;

schedule::SpaceLimits limits(const TuneOptions& options, int threads) {
  schedule::SpaceLimits limits;
  limits.max_threads = threads;
  limits.max_fill = options.max_fill;
  limits.subspace = options.subspace;
  // Packing holds the input, the sorted order and the packed form at the same time.
  limits.max_bytes = std::max<int64_t>(available_memory_bytes() / 3, 1 << 20);
  return limits;
}

/// What a candidate is expected to cost, more where few records know its like.
double cost(const Candidate& candidate) {
  return *candidate.predicted_cost_ns * candidate.doubt;
}

bool is_cheaper(const Candidate& a, const Candidate& b) {
  return cost(a) < cost(b);
}

/// Of candidates by arrangement, each from the cheapest on and the given one first, the cheapest of all. The
/// models know less of how arrangements compare than of points of the same one: a quarter is kept of each,
/// but not of one that is hopeless.
std::vector<Candidate> cheapest_of(std::vector<std::vector<Candidate>> found, size_t num_wanted) {
  constexpr double kHopeless = 1.5;
  double least = std::numeric_limits<double>::infinity();
  size_t total = 0;
  for (const std::vector<Candidate>& some : found) {
    if (!some.empty()) least = std::min(least, cost(some[0]));
    total += some.size();
  }
  const auto may_lose = [&](const std::vector<Candidate>& some) {
    if (some.empty()) return false;
    const bool is_hopeless = &some != found.data() && cost(some[0]) > kHopeless * least;
    return some.size() > num_wanted / 4 || is_hopeless;
  };
  for (; total > num_wanted; --total) {
    std::vector<Candidate>* costliest = nullptr;
    for (std::vector<Candidate>& some : found)
      if (may_lose(some) && (costliest == nullptr || cost(some.back()) > cost(costliest->back())))
        costliest = &some;
    costliest->pop_back();
  }
  std::vector<Candidate> all;
  for (std::vector<Candidate>& some : found) std::move(some.begin(), some.end(), std::back_inserter(all));
  std::stable_sort(all.begin(), all.end(), is_cheaper);
  return all;
}

}  // namespace

Ranking::Ranking(const matrix::SparseTensor& tensor, const TuneOptions& options, int threads,
                 model::Ceilings ceilings)
    : tensor_(tensor),
      options_(options),
      space_(options.problem, tensor.dims, limits(options, threads)),
      given_(tensor, Arrangement::kGiven, options, space_.limits(), std::move(ceilings)),
      random_(options.seed) {
  features_s_ = given_.look_up();
}

std::optional<std::string> Ranking::csr_exclusion() const {
  return given_.exclusion(schedule::csr_point(options_.problem, space_.limits().max_threads));
}

/// Clusters rows where many of the dense rows that nonzeros need would be met again too late, and the best
/// points with rows as they are might gain.
void Ranking::consider_clustering(const std::vector<Candidate>& best) {
  if (std::exchange(considered_clustering_, true)) return;
  if (tensor_.order() != 2 || options_.subspace == schedule::Subspace::kSchedule) return;
  for (const Candidate& candidate : best)
    if (compared_.size() < kNumCompared) compared_.push_back(candidate.measurement.point);
  if (given_.closed_form().may_gain_by_clustering(options_.problem) &&
      can_be_arranged(Arrangement::kClustered))
    arrange(Arrangement::kClustered, true);
}

/// Skews columns where short pieces of diagonals are filled well: so well that it is sure to pay where the
/// costs of looking are limited.
void Ranking::consider_skewing(bool is_sparing) {
  constexpr int64_t kRows = 16;
  constexpr double kMostFill = 2.6, kSureToPay = 1.5;
  if (options_.problem.op != schedule::Op::kSpmv || options_.subspace == schedule::Subspace::kSchedule ||
      is_arranged(Arrangement::kSkewed) || tensor_.num_nonzeros() == 0)
    return;
  if (pattern::fill_of_diagonals(tensor_, kRows) <= (is_sparing ? kSureToPay : kMostFill) &&
      can_be_arranged(Arrangement::kSkewed))
    arrange(Arrangement::kSkewed, false);
}

/// The work takes memory.
bool Ranking::can_be_arranged(Arrangement arrangement) const {
  if (failed_[static_cast<size_t>(arrangement)] || tensor_.order() != 2) return false;
  if (arrangement == Arrangement::kClustered &&
      std::max({tensor_.dims[0], tensor_.dims[1], tensor_.num_nonzeros()}) > schedule::kMostClustered)
    return false;
  namespace saturating = schedule::saturating;
  const int64_t parts =
      saturating::sum(tensor_.num_nonzeros(), saturating::sum(tensor_.dims[0], tensor_.dims[1]));
  const auto num_others = std::ranges::count_if(arranged_, [](const auto& other) { return !!other; });
  return parts <= space_.limits().max_bytes / kArrangingBytes / (1 + num_others);
}

/// Leaves no such matrix where memory runs out, or where it has to be worth a look and is not.
void Ranking::arrange(Arrangement arrangement, bool has_to_be_worth_it) {
  const int threads = space_.limits().max_threads;
  const auto at = static_cast<size_t>(arrangement);
  std::optional<Arranged>& result = arranged_[at];
  try {
    const auto start = std::chrono::steady_clock::now();
    const bool clusters = arrangement == Arrangement::kClustered;
    schedule::FormatSchedule format;
    format.arrangement = arrangement;
    if (clusters) format.cluster_window = cluster_window();
    result.emplace(codegen::arranged(tensor_, format, threads), arrangement, options_, space_.limits(),
                   ceilings());
    if (clusters) clustering_s_ = seconds_since(start);
    if (clusters && compared_.empty()) compared_.push_back(schedule::csr_point(options_.problem, threads));
    if (!has_to_be_worth_it || is_worth_clustering(given_, result->costs, compared_)) {
      features_s_ += result->costs.look_up();
      if (clusters) clustered_handicap_ = clustered_cost() * order_handicap(given_, result->costs, compared_);
      return;
    }
  } catch (const TooLargeError&) {  // memory that was free a moment ago
    failed_[at] = true;
  } catch (const std::bad_alloc&) {
    failed_[at] = true;
  }
  result.reset();
}

int64_t Ranking::cluster_window() const {
  return schedule::cluster_window(options_.problem, tensor_.dims[0], space_.limits().max_threads);
}

/// The point as it would be proposed with its nonzeros so arranged.
SuperSchedule Ranking::stored(const SuperSchedule& point, Arrangement arrangement) const {
  return arrangement == Arrangement::kClustered ? schedule::clustered(point, cluster_window())
                                                : schedule::arranged(point, arrangement);
}

PatternCosts& Ranking::costs_of(Arrangement arrangement) {
  if (arrangement == Arrangement::kGiven) return given_;
  if (!is_arranged(arrangement) && can_be_arranged(arrangement)) arrange(arrangement, false);  // by hand
  return is_arranged(arrangement) ? arranged_[static_cast<size_t>(arrangement)]->costs : given_;
}

int64_t Ranking::num_ranked() const {
  int64_t count = given_.num_ranked();
  for (const std::optional<Arranged>& other : arranged_) count += other ? other->costs.num_ranked() : 0;
  return count;
}

std::vector<double> Ranking::costs_ns(std::span<const SuperSchedule> points) {
  std::vector<double> costs(points.size());
  for (const Arrangement arrangement : {Arrangement::kGiven, Arrangement::kClustered, Arrangement::kSkewed}) {
    std::vector<SuperSchedule> same;
    for (const SuperSchedule& point : points)
      if (point.format.arrangement == arrangement) same.push_back(point);
    if (same.empty()) continue;
    std::vector<double> found = costs_of(arrangement).costs_ns(same);
    for (double& cost : found) cost *= handicap(arrangement);
    auto next = found.begin();
    for (size_t n = 0; n < points.size(); ++n)
      if (points[n].format.arrangement == arrangement) costs[n] = *next++;
  }
  return costs;
}

double Ranking::clustered_cost() const {
  const std::optional<double> known =
      options_.learned ? options_.learned->clustered_cost(options_.problem) : std::nullopt;
  return known.value_or(options_.problem.op == schedule::Op::kSpmv ? kClusteredSpmvCost : kClusteredCost);
}

/// By which costs of points of an arrangement are multiplied.
double Ranking::handicap(Arrangement arrangement) {
  if (arrangement == Arrangement::kClustered) return clustered_handicap_;
  return arrangement == Arrangement::kSkewed && fits_caches() ? kSkewedCost : 1;
}

/// Whether the operand as CSR stays in the caches between calls.
bool Ranking::fits_caches() {
  const int64_t nonzero_bytes = schedule::value_bytes(options_.problem.type) + int64_t{sizeof(int32_t)};
  return tensor_.num_nonzeros() * nonzero_bytes <=
         ceilings().levels[model::kNumMemoryLevels - 2].capacity_bytes;
}

bool Ranking::may_be_tried(const SuperSchedule& point) {
  return costs_of(point.format.arrangement).seems_feasible(point) && (!usable_ || usable_(point));
}

Candidate Ranking::candidate(const SuperSchedule& point, double cost_ns) {
  returned_.insert(schedule::to_text(point));
  Candidate candidate;
  candidate.measurement.point = point;
  candidate.predicted_cost_ns = cost_ns;
  return candidate;
}

std::vector<Candidate> Ranking::search_order(Arrangement arrangement, int num_results, int64_t evaluations,
                                             const Manner& manner) {
  PatternCosts& costs = costs_of(arrangement);
  const auto search = search::make_search(options_.search, costs.query());
  const auto allowed = [&](const SuperSchedule& point) { return may_be_tried(stored(point, arrangement)); };
  const double cost_ns = costs.cost_unit_ns() * handicap(arrangement);
  CautiousModel model(costs.costs(), manner.cautious ? options_.learned.get() : nullptr);
  std::vector<Candidate> candidates;
  const size_t num_sure = std::min(manner.num_sure, static_cast<size_t>(num_results));
  size_t num_refused = 0;
  const auto search_once = [&] {
    for (const search::Scored& found :
         search->run(space_, model, allowed, evaluations, random_, num_results)) {
      const SuperSchedule point = stored(found.point, arrangement);
      if (returned_.contains(schedule::to_text(point)))
        continue;  // found before, or the same but for what the arrangement leaves out
      if (candidates.size() < num_sure && !costs.feasible(point)) {
        ++num_refused;
        continue;
      }
      const double doubt = model.doubt(found.point);
      candidates.push_back(candidate(point, found.cost / doubt * cost_ns));
      candidates.back().doubt = doubt;
    }
  };
  search_once();
  // Where most of what an estimate let pass is beyond the limits, it is no guide to what else there is.
  if (num_refused > 0 && 2 * candidates.size() <= num_sure) {
    costs.distrust_estimates();
    search_once();
  }
  if (candidates.size() > static_cast<size_t>(num_results))
    candidates.resize(static_cast<size_t>(num_results));
  if (candidates.size() <= num_sure) std::stable_sort(candidates.begin(), candidates.end(), is_cheaper);
  return candidates;
}

/// The clustered twins of the best few that were found with rows as they are, where they are cheaper than all
/// that the search over clustered rows has found: by few evaluations it meets only some of them.
std::vector<Candidate> Ranking::cheaper_twins(const std::vector<Candidate>& given,
                                              const std::vector<Candidate>& clustered, const Manner& manner) {
  constexpr size_t kNumTwins = 3;
  std::vector<SuperSchedule> twins;
  for (const Candidate& known : given) {
    const SuperSchedule twin = stored(known.measurement.point, Arrangement::kClustered);
    if (twins.size() < kNumTwins && !returned_.contains(schedule::to_text(twin)) && may_be_tried(twin))
      twins.push_back(twin);
  }
  PatternCosts& costs = costs_of(Arrangement::kClustered);
  const CautiousModel model(costs.costs(), manner.cautious ? options_.learned.get() : nullptr);
  const std::vector<double> costs_of_twins = costs_ns(twins);
  std::vector<Candidate> cheaper;
  for (size_t n = 0; n < twins.size(); ++n) {
    const double doubt = model.doubt(twins[n]);
    if (!clustered.empty() && costs_of_twins[n] * doubt >= cost(clustered[0])) continue;
    if (!costs.feasible(twins[n])) continue;
    cheaper.push_back(candidate(twins[n], costs_of_twins[n]));
    cheaper.back().doubt = doubt;
  }
  return cheaper;
}

/// The best of the skewed points, which are few.
std::vector<Candidate> Ranking::skewed_candidates(size_t num_results, size_t num_sure) {
  std::vector<SuperSchedule> points;
  for (const SuperSchedule& point : space_.enumerate_skewed())
    if (may_be_tried(point)) points.push_back(point);
  const std::vector<double> costs = costs_ns(points);
  std::vector<size_t> order(points.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return costs[a] < costs[b]; });
  std::vector<Candidate> candidates;
  for (const size_t n : order)
    if (candidates.size() < num_results &&
        (candidates.size() >= num_sure || costs_of(Arrangement::kSkewed).feasible(points[n])))
      candidates.push_back(candidate(points[n], costs[n]));
  return candidates;
}

std::vector<Candidate> Ranking::search(int num_results, int64_t evaluations, const Manner& manner) {
  returned_.clear();
  std::vector<std::vector<Candidate>> found;
  found.push_back(search_order(Arrangement::kGiven, num_results, evaluations, manner));
  if (manner.may_cluster && !manner.stop()) consider_clustering(found[0]);
  if (!manner.stop()) consider_skewing(manner.sparing);
  if (is_arranged(Arrangement::kClustered) && !manner.stop()) {
    found.push_back(search_order(Arrangement::kClustered, num_results, evaluations, manner));
    std::vector<Candidate> twins = cheaper_twins(found[0], found[1], manner);
    std::move(twins.begin(), twins.end(), std::back_inserter(found[1]));
    std::stable_sort(found[1].begin(), found[1].end(), is_cheaper);
  }
  const auto num_wanted = static_cast<size_t>(num_results);
  if (is_arranged(Arrangement::kSkewed) && !manner.stop())
    found.push_back(skewed_candidates(num_wanted, manner.num_sure));
  std::vector<Candidate> all = cheapest_of(std::move(found), num_wanted);
  returned_.clear();
  for (const Candidate& kept : all) returned_.insert(schedule::to_text(kept.measurement.point));
  return all;
}

std::vector<Candidate> Ranking::second_opinions(size_t num_results, int64_t evaluations) {
  if (!given_.is_learned()) return {};
  std::vector<SuperSchedule> points;
  const auto add = [&](Arrangement arrangement, size_t wanted) {
    PatternCosts& costs = costs_of(arrangement);
    const auto allowed = [&](const SuperSchedule& point) { return may_be_tried(stored(point, arrangement)); };
    // As many as were found before may be found again.
    const auto looked_at = static_cast<int>(returned_.size() + wanted);
    for (const search::Scored& found : search::NeighbourSearch().run(
             space_, costs.closed_form_costs(), allowed, evaluations, random_, looked_at)) {
      if (wanted == 0) break;
      SuperSchedule point = stored(found.point, arrangement);
      if (returned_.contains(schedule::to_text(point)) || !costs.feasible(point)) continue;
      returned_.insert(schedule::to_text(point));
      points.push_back(std::move(point));
      --wanted;
    }
  };
  const size_t num_clustered = is_arranged(Arrangement::kClustered) ? num_results / 2 : 0;
  add(Arrangement::kGiven, num_results - num_clustered);
  if (num_clustered > 0) add(Arrangement::kClustered, num_clustered);
  const std::vector<double> costs = costs_ns(points);
  std::vector<Candidate> candidates;
  for (size_t n = 0; n < points.size(); ++n) candidates.push_back(candidate(points[n], costs[n]));
  return candidates;
}

}  // namespace waco::tune
