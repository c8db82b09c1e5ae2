// Stratified draws, checked for feasibility.
#include "waco/collect/point_chooser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "waco/base/content_hash.hpp"
#include "waco/codegen/kernel.hpp"
#include "waco/schedule/row_windows.hpp"
#include "waco/search/named.hpp"

namespace waco::collect {
namespace {

using schedule::SuperSchedule;

/// Points predicted to take this many times fixed_csr's time are left out: they would be stopped after one
/// run that takes longer than measuring a good point.
constexpr double kMaxRelativeCost = 10;
constexpr int64_t kModelEvaluations = 1500;
constexpr int kMaxDraws = 500;  ///< for one point; then the family is taken to have no more
/// Draws of which the one with the least predicted cost is taken. Uniform points are not chosen among.
constexpr int kTournament = 3;

uint64_t number_of(const std::string& hash) {
  return std::stoull(hash.substr(0, 16), nullptr, 16);
}

model::Ceilings ceilings(const ChoiceOptions& options) {
  const model::Ceilings whole =
      options.ceilings ? *options.ceilings : model::default_ceilings(options.threads);
  return whole.with_vectors_of(options.vector_bytes);
}

schedule::SpaceLimits limits(const ChoiceOptions& options) {
  return {.max_threads = options.threads, .max_fill = options.max_fill, .max_bytes = options.max_bytes};
}

}  // namespace

PointChooser::PointChooser(const matrix::SparseTensor& tensor, const std::string& hash,
                           const ChoiceOptions& options, StructurePool& pool)
    : tensor_(tensor),
      options_(options),
      pool_(pool),
      random_(Random(options.seed).next() ^ number_of(hash)),
      num_nonzeros_(tensor.num_nonzeros()),
      counts_(tensor),
      space_(options.problem, tensor.dims, limits(options)),
      model_(tensor, ceilings(options)) {
  most_cost_ = kMaxRelativeCost * cost(schedule::csr_point(options.problem, options.threads));
}

/// Points of the space say nothing of the order of rows.
SuperSchedule PointChooser::as_stored(const SuperSchedule& point) const {
  if (!options_.clustered) return point;
  return schedule::clustered(point,
                             schedule::cluster_window(options_.problem, tensor_.dims[0], options_.threads));
}

double PointChooser::cost(const SuperSchedule& point) {
  const double cost = model_.costs({&point, 1})[0];
  return std::isnan(cost) ? INFINITY : cost;
}

bool PointChooser::feasible(const SuperSchedule& point) {
  const auto [entry, is_new] = feasible_by_key_.try_emplace(schedule::limits_key(point), false);
  if (is_new) entry->second = !schedule::exclusion_reason(point, counts_, space_.limits());
  return entry->second;
}

bool PointChooser::take(const SuperSchedule& drawn, Stratum stratum, std::vector<Choice>& choices) {
  const SuperSchedule point = as_stored(drawn);
  const std::string text = schedule::to_text(point);
  if (chosen_.contains(text) || !feasible(point)) return false;
  chosen_.insert(text);
  choices.push_back({point, stratum});
  return true;
}

/// As the matrix has room for it, but in sort windows of any size.
std::optional<SuperSchedule> PointChooser::as_asked(const SuperSchedule& point) const {
  std::optional<SuperSchedule> legal = space_.repaired(point);
  if (legal && legal->format.sort_window > 1) legal->format.sort_window = point.format.sort_window;
  return legal;
}

std::vector<Choice> PointChooser::independent_points() {
  std::vector<Choice> choices;
  const SuperSchedule csr = schedule::csr_point(options_.problem, options_.threads);
  chosen_ = {schedule::to_text(csr)};
  choices.push_back({csr, Stratum::kFixedCsr});
  int num_drawn = options_.per_matrix;
  for (const SuperSchedule& point : options_.asked)
    if (const auto legal = as_asked(point); legal && take(*legal, Stratum::kAsked, choices)) --num_drawn;
  const std::array<int, kNumStrata> sizes = strata_sizes(num_drawn, options_.learned != nullptr);
  add_model_points(sizes[static_cast<size_t>(Stratum::kModel)], choices);
  add_learned_points(sizes[static_cast<size_t>(Stratum::kLearned)], choices);
  for (size_t n = 0; n < kNumStrata; ++n) {
    const auto stratum = static_cast<Stratum>(n);
    if (family_of(stratum)) add_family_points(stratum, sizes[n], choices);
  }
  return choices;
}

void PointChooser::add_model_points(int count, std::vector<Choice>& choices) {
  if (count == 0) return;
  search::NeighbourSearch search;
  add_found(search, model_, Stratum::kModel, count, choices);
}

void PointChooser::add_learned_points(int count, std::vector<Choice>& choices) {
  if (count == 0) return;
  search::LearnedLookup lookup(*options_.learned, tensor_, options_.problem, model_, options_.threads);
  const auto search = search::make_search(lookup.query() ? "exact" : "neighbours", lookup.query());
  add_found(*search, lookup.costs(), Stratum::kLearned, count, choices);
}

void PointChooser::add_found(search::Search& search, model::CostModel& model, Stratum stratum, int count,
                             std::vector<Choice>& choices) {
  const auto allowed = [this](const SuperSchedule& point) { return feasible(point); };
  // One more, because fixed_csr itself may be among them.
  for (const search::Scored& found :
       search.run(space_, model, allowed, kModelEvaluations, random_, count + 1))
    if (count > 0 && take(found.point, stratum, choices)) --count;
}

void PointChooser::add_family_points(Stratum stratum, int count, std::vector<Choice>& choices) {
  const int rounds = stratum == Stratum::kUniform ? 1 : kTournament;
  int draws = 0;
  while (count > 0 && draws < kMaxDraws) {
    SuperSchedule best;
    double least = INFINITY;
    for (int n = 0; n < rounds; ++n) {
      SuperSchedule point = pool_.draw(space_, *family_of(stratum), random_);
      const double predicted = cost(point);
      if (predicted >= least || predicted > most_cost_ ||
          chosen_.contains(schedule::to_text(as_stored(point))))
        continue;
      least = predicted;
      best = std::move(point);
    }
    ++draws;
    if (!std::isfinite(least) || !take(best, stratum, choices)) continue;
    --count;
    draws = 0;
  }
}

std::vector<Choice> PointChooser::neighbours(const std::vector<SuperSchedule>& best, int count,
                                             const std::set<std::string>& taken,
                                             const std::set<std::string>& compiled) {
  constexpr size_t kFollowed = 6;
  std::vector<Choice> choices;
  chosen_.insert(taken.begin(), taken.end());
  for (size_t begin = 0; begin < best.size() && count > 0; begin += kFollowed) {
    std::vector<std::pair<double, SuperSchedule>> found;
    std::set<std::string> seen = chosen_;
    for (size_t n = begin; n < std::min(begin + kFollowed, best.size()); ++n)
      for (SuperSchedule& next : space_.neighbours(best[n])) {
        if (!seen.insert(schedule::to_text(next)).second) continue;
        const double predicted = cost(next);
        if (predicted <= most_cost_) found.emplace_back(predicted, std::move(next));
      }
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    int new_kernels = (count + 2) / 3;
    std::vector<const SuperSchedule*> put_off;
    for (const auto& [predicted, point] : found) {
      if (count == 0) break;
      const bool is_new = !compiled.contains(kernel_name(point));
      if (is_new && new_kernels == 0) {
        put_off.push_back(&point);
      } else if (take(point, Stratum::kNeighbours, choices)) {
        --count;
        new_kernels -= is_new ? 1 : 0;
      }
    }
    for (const SuperSchedule* point : put_off)
      if (count > 0 && take(*point, Stratum::kNeighbours, choices)) --count;
  }
  return choices;
}

std::string PointChooser::kernel_name(const SuperSchedule& point) const {
  return content_hash(codegen::kernel_source(
      point, codegen::bind(point, matrix::three_dims(tensor_.dims), num_nonzeros_, options_.vector_bytes)));
}

}  // namespace waco::collect
