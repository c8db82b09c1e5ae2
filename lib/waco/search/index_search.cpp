// Retrieval from an index, and what follows it.
#include "waco/search/index_search.hpp"

#include <algorithm>
#include <array>
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

/// Starting points of a walk for few vertices. With fewer it misses some under weights drawn at random, where
/// costs are as rough as can be; with more its own lists take more than a tenth of its time.
constexpr int64_t kLeastBreadth = 150;

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

/// Vertices that are looked at for each point that is wanted: many become the same point where only half of
/// it varies, or are of a kind that there are enough of.
constexpr int64_t kVerticesPerPoint = 20;

/// Of the points, those of one kind of format at most. The cheapest vertices are often all of one kind that
/// the model takes for better than it is, and nothing after retrieval could find another.
constexpr double kShareOfKind = 0.4;

/// `count` distinct points that `visits` become: the first ones within the share of their kind, then the
/// first of the others.
std::vector<schedule::SuperSchedule> bind_all(const std::vector<Visit>& visits, int64_t count,
                                              const index::Index& index,
                                              const schedule::ScheduleSpace& space) {
  const auto wanted = static_cast<size_t>(count);
  const auto most = static_cast<size_t>(std::ceil(kShareOfKind * static_cast<double>(count)));
  std::vector<schedule::SuperSchedule> points, others;
  std::array<size_t, schedule::kNumFormatKinds> of_kind{};
  std::unordered_set<std::string> seen;
  for (const Visit& visit : visits) {
    if (points.size() >= wanted) break;
    auto point = index.bind(visit.vertex, space);
    if (!point) continue;
    size_t& of_this = of_kind[static_cast<size_t>(kind_of(*point))];
    if (of_this >= most && others.size() >= wanted) continue;
    if (!seen.insert(schedule::to_text(*point)).second) continue;
    (of_this < most ? points : others).push_back(std::move(*point));
    of_this = std::min(of_this + 1, most);
  }
  for (auto& point : others) {
    if (points.size() >= wanted) break;
    points.push_back(std::move(point));
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
  for (int64_t v = 0; v < index.size(); ++v) {
    const float cost = costs[static_cast<size_t>(v)];
    visits.push_back({v, std::isnan(cost) ? INFINITY : cost});
  }
  return cheapest_fitting(std::move(visits), count, index, space);
}

int64_t walk_breadth(int64_t count) {
  return std::max(kLeastBreadth, 4 * count);
}

std::vector<Visit> retrieve_anns(const Query& query, const schedule::ScheduleSpace& space, int64_t count,
                                 int64_t breadth, int64_t* num_visits) {
  const index::Index& index = query.index;
  const float* embeddings = index.embeddings();
  const int size = index.embedding_size();
  std::vector<Visit> visits = index.graph().search(
      [&](int64_t vertex) { return query.retriever.cost(embeddings + vertex * size); }, breadth);
  if (num_visits != nullptr) *num_visits = static_cast<int64_t>(visits.size());
  // Vertices that do not fit are walked over like all others: ways to good ones may lead through them.
  return cheapest_fitting(std::move(visits), count, index, space);
}

std::vector<Scored> IndexSearch::run(const schedule::ScheduleSpace& space, model::CostModel& model,
                                     const Feasible& feasible, int64_t budget, Random& /*random*/,
                                     int num_results) {
  WACO_ASSERT(query_.index.op() == space.problem().op);
  const int64_t wanted = std::max({int64_t{num_results}, std::min(budget, kRankedFirst), budget / 2});
  const int64_t asked = std::min(query_.index.size(), wanted * kVerticesPerPoint);
  const bool whole = space.limits().subspace == schedule::Subspace::kAll;
  const int64_t breadth = walk_breadth(whole ? wanted : asked);
  const std::vector<Visit> found = retrieval_ == Retrieval::kExact
                                       ? retrieve_exact(query_, space, asked)
                                       : retrieve_anns(query_, space, asked, breadth);
  Pool pool(model, feasible);
  pool.add({schedule::csr_point(space.problem(), space.limits().max_threads)}, budget);
  pool.add(bind_all(found, wanted, query_.index, space), budget - pool.size());
  follow_neighbours(pool, space, budget);
  return select_diverse(pool, num_results);
}

}  // namespace waco::search
