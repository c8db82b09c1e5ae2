// Ways of proposing the next point, which the bandit search chooses among.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "waco/search/choices.hpp"
#include "waco/search/pool.hpp"

namespace waco::search {

/// What all techniques of one search see.
struct SearchState {
  const schedule::ScheduleSpace& space;
  const Choices& choices;
  Pool& pool;
  Random& random;
  size_t best = 0;  ///< place of the cheapest point in the pool, which is never empty
};

class Technique {
 public:
  virtual ~Technique() = default;
  /// A point to try next, perhaps one that was tried before; nullopt when it has none.
  virtual std::optional<schedule::SuperSchedule> propose(SearchState& state) = 0;
  /// What became of its last proposal: its place in the pool. Not called for one that was tried before.
  virtual void learn(SearchState&, size_t /*place*/) {}
};

/// OpenTuner's default kinds: stratified random points, mutations of the best point (drawn uniformly, and
/// small steps), hill climbing over neighbours, differential evolution.
std::vector<std::unique_ptr<Technique>> all_techniques();

}  // namespace waco::search
