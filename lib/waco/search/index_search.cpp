// Retrieval from an index, and what follows it.
#include "waco/search/index_search.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_set>

#include "waco/base/error.hpp"
#include "waco/search/diversity.hpp"

namespace waco::search {

using index::Visit;

namespace {

/// Retrieved vertices that the whole model ranks: half of the budget, and the best hundred before any
/// neighbour. On four real matrices a hundred held the best point that thousands of evaluations found.
constexpr int64_t kRankedFirst = 100;

bool is_cheaper(const Visit& a, const Visit& b) {
  return a.cost != b.cost ? a.cost < b.cost : a.vertex < b.vertex;
}

/// The `count` cheapest visits that fit, in order. Whether a vertex fits is asked from the cheapest on.
std::vector<Visit> cheapest_fitting(std::vector<Visit> visits, int64_t count, const index::Index& index,
                                    const schedule::ScheduleSpace& space) {
  const auto is_dearer = [](const Visit& a, const Visit& b) { return is_cheaper(b, a); };
  std::make_heap(visits.begin(), visits.end(), is_dearer);
  std::vector<Visit> found;
  for (auto end = visits.end(); end != visits.begin() && static_cast<int64_t>(found.size()) < count;) {
    std::pop_heap(visits.begin(), end--, is_dearer);
    if (index.needs(end->vertex).met_by(space)) found.push_back(*end);
  }
  return found;
}

/// Where only half of a point varies, many vertices become the same point: so many are looked at for each.
constexpr int64_t kVerticesPerPoint = 20;

/// The first `count` distinct points that `visits` become.
std::vector<schedule::SuperSchedule> bind_all(const std::vector<Visit>& visits, int64_t count,
                                              const index::Index& index,
                                              const schedule::ScheduleSpace& space) {
  std::vector<schedule::SuperSchedule> points;
  std::unordered_set<std::string> seen;
  for (const Visit& visit : visits) {
    if (static_cast<int64_t>(points.size()) >= count) break;
    auto point = index.bind(visit.vertex, space);
    if (point && seen.insert(schedule::to_text(*point)).second) points.push_back(std::move(*point));
  }
  return points;
}

}  // namespace

std::vector<Visit> retrieve_exact(const Query& query, const schedule::ScheduleSpace& space, int64_t count) {
  const index::Index& index = query.index;
  std::vector<float> costs(static_cast<size_t>(index.size()));
  query.retriever.costs(index.embeddings(), index.size(), costs.data(), query.threads);
  std::vector<Visit> visits;
  visits.reserve(costs.size());
  for (int64_t v = 0; v < index.size(); ++v) visits.push_back({v, costs[static_cast<size_t>(v)]});
  return cheapest_fitting(std::move(visits), count, index, space);
}

WalkOptions walk_for(int64_t count, int64_t num_vertices) {
  const auto breadth = static_cast<int64_t>(200 + 2 * std::sqrt(static_cast<double>(num_vertices)));
  return {.ef = std::max(breadth, 4 * count)};
}

std::vector<Visit> retrieve_anns(const Query& query, const schedule::ScheduleSpace& space, int64_t count,
                                 const WalkOptions& options, int64_t* num_visits) {
  const index::Index& index = query.index;
  const float* embeddings = index.embeddings();
  const int size = index.embedding_size();
  std::vector<Visit> visits =
      index.graph().search([&](int64_t vertex) { return query.retriever.cost(embeddings + vertex * size); },
                           options.ef, std::min(options.max_visits, index.size()));
  if (num_visits != nullptr) *num_visits = static_cast<int64_t>(visits.size());
  // Vertices that do not fit are walked over like all others: ways to good ones may lead through them.
  return cheapest_fitting(std::move(visits), count, index, space);
}

std::vector<Scored> IndexSearch::run(const schedule::ScheduleSpace& space, model::CostModel& model,
                                     const Feasible& feasible, int64_t budget, Random& /*random*/,
                                     int num_results) {
  WACO_ASSERT(query_.index.op() == space.problem().op);
  const int64_t wanted = std::max({int64_t{num_results}, std::min(budget, kRankedFirst), budget / 2});
  const bool whole = space.limits().subspace == schedule::Subspace::kAll;
  const int64_t asked = whole ? wanted : std::min(query_.index.size(), wanted * kVerticesPerPoint);
  num_evaluations_ = query_.index.size();
  const std::vector<Visit> found =
      retrieval_ == Retrieval::kExact
          ? retrieve_exact(query_, space, asked)
          : retrieve_anns(query_, space, asked, walk_for(asked, query_.index.size()), &num_evaluations_);
  Pool pool(model, feasible);
  pool.add({schedule::csr_point(space.problem(), space.limits().max_threads)}, budget);
  pool.add(bind_all(found, wanted, query_.index, space), budget - pool.size());
  follow_neighbours(pool, space, budget);
  return select_diverse(pool, num_results);
}

}  // namespace waco::search
