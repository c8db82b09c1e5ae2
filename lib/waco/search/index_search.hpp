// Searches that look a pattern up in an index: the cheapest vertices by the retrieval half of a learned
// model, then the whole model on those, then their neighbours.
#pragma once

#include <cstdint>
#include <vector>

#include "waco/index/index.hpp"
#include "waco/model/learned/learned_model.hpp"
#include "waco/search/search.hpp"

namespace waco::search {

/// How vertices are retrieved.
enum class Retrieval : uint8_t {
  kExact,  ///< all of them are scored
  kAnns,   ///< a walk over the graph (paper section 4.2)
};

/// What is asked of an index.
struct Query {
  const index::Index& index;
  const model::Retriever& retriever;  ///< of the pattern and problem that are tuned
  int threads = 1;                    ///< for exact retrieval
};

/// The `count` cheapest vertices that fit the space, cheapest first, at equal costs the earlier one. Costs
/// are those of the retriever.
std::vector<index::Visit> retrieve_exact(const Query& query, const schedule::ScheduleSpace& space,
                                         int64_t count);

/// The same by a walk over the graph that keeps so many vertices as starting points, and may miss some.
/// `num_visits`: how many vertices were scored.
std::vector<index::Visit> retrieve_anns(const Query& query, const schedule::ScheduleSpace& space,
                                        int64_t count, int64_t breadth, int64_t* num_visits = nullptr);
/// Of a walk that finds nearly all of the `count` cheapest.
int64_t walk_breadth(int64_t count);

/// Retrieves, re-ranks with the cost model and refines over neighbours. The budget of run() is for the cost
/// model; retrieval does not count.
class IndexSearch : public Search {
 public:
  /// What `query` refers to must outlive the search.
  IndexSearch(Retrieval retrieval, const Query& query) : retrieval_(retrieval), query_(query) {}
  std::vector<Scored> run(const schedule::ScheduleSpace& space, model::CostModel& model,
                          const Feasible& feasible, int64_t budget, Random& random, int num_results) override;

 private:
  Retrieval retrieval_;
  Query query_;
};

}  // namespace waco::search
