// OpenTuner's way (Ansel et al. 2014): a multi-armed bandit gives the next trial to the technique that has
// found the most improvements of late, or has been tried little.
#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>

#include "waco/search/diversity.hpp"
#include "waco/search/techniques.hpp"

namespace waco::search {

using schedule::SuperSchedule;

namespace {

constexpr size_t kWindow = 500;        // trials remembered
constexpr double kExploration = 0.05;  // weight of trying what was tried little

class Bandit {
 public:
  explicit Bandit(size_t num_arms) : num_arms_(num_arms) {}

  /// The arm with the largest area under the curve of its improvements, recent ones counting most, plus a
  /// bonus for rare use; one that was not used lately first.
  size_t choose() const {
    std::vector<double> used(num_arms_), credit(num_arms_);
    for (const auto& [arm, improved] : history_) {
      used[arm] += 1;
      if (improved) credit[arm] += used[arm];
    }
    size_t best = 0;
    double most = -1;
    for (size_t arm = 0; arm < num_arms_; ++arm) {
      const double n = used[arm];
      const double score =
          n == 0 ? std::numeric_limits<double>::infinity()
                 : 2 * credit[arm] / (n * (n + 1)) +
                       kExploration * std::sqrt(2 * std::log(static_cast<double>(history_.size())) / n);
      if (score > most) best = arm, most = score;
    }
    return best;
  }

  void record(size_t arm, bool improved) {
    history_.emplace_back(arm, improved);
    if (history_.size() > kWindow) history_.pop_front();
  }

 private:
  size_t num_arms_;
  std::deque<std::pair<size_t, bool>> history_;  ///< oldest first
};

}  // namespace

std::vector<Scored> BanditSearch::run(const schedule::ScheduleSpace& space, model::CostModel& model,
                                      const Feasible& feasible, int64_t budget, Random& random,
                                      int num_results) {
  if (budget < 1) return {};
  const Choices choices(space);
  Pool pool(model, feasible);
  pool.add({schedule::csr_point(space.problem(), space.limits().max_threads)}, budget);
  SearchState state{space, choices, pool, random, 0};
  const auto techniques = all_techniques();
  Bandit bandit(techniques.size());
  double least = pool.feasible(0) ? pool.scored()[0].cost : std::numeric_limits<double>::infinity();
  int64_t failures = 0;  // in a row; a small space runs out of new points
  while (pool.size() < budget && failures < budget + 100) {
    const size_t arm = bandit.choose();
    const std::optional<SuperSchedule> point = techniques[arm]->propose(state);
    const bool is_new = point && pool.add({*point}, 1) == 1;
    failures = is_new ? 0 : failures + 1;
    bool improved = false;
    if (is_new) {
      const size_t place = pool.scored().size() - 1;
      improved = pool.scored()[place].cost < least && pool.feasible(place);
      if (improved) least = pool.scored()[place].cost, state.best = place;
      techniques[arm]->learn(state, place);
    }
    bandit.record(arm, improved);
  }
  return select_diverse(pool, num_results);
}

}  // namespace waco::search
