// The Tree-structured Parzen Estimator (Bergstra et al. 2011), with HyperOpt's defaults but for one thing:
// candidates are drawn around whole good trials (a multivariate kernel, as in BOHB), because an order and
// the kinds of its levels make sense only together. Drawn choice by choice, as HyperOpt does, the search did
// not even reach random sampling of the strata.
#include <algorithm>
#include <cmath>

#include "waco/search/choices.hpp"
#include "waco/search/diversity.hpp"
#include "waco/search/parzen.hpp"

namespace waco::search {

using schedule::SuperSchedule;

namespace {

constexpr int64_t kStartTrials = 20;  // stratified random ones before the estimate is trusted
constexpr double kGamma = 0.25;       // good trials are the best kGamma * sqrt(trials), at most kMostGood
constexpr size_t kMostGood = 25;
constexpr int kCandidates = 24;  // drawn for a trial; the most promising one is taken
constexpr int kPatience = 12;    // proposals seen before until the next is drawn at random

class Trials {
 public:
  Trials(const Choices& choices, Pool& pool) : choices_(choices), pool_(pool) {
    for (const Choice& choice : choices.all()) {
      totals_.emplace_back(static_cast<size_t>(choice.num_values));
      parzen_.emplace_back(choice);
    }
  }

  /// Takes over everything that is new in the pool.
  void update() {
    for (; num_seen_ < pool_.scored().size(); ++num_seen_) {
      values_.push_back(choices_.values_of(pool_.scored()[num_seen_].point));
      for (size_t c = 0; c < totals_.size(); ++c) ++totals_[c][static_cast<size_t>(values_.back()[c])];
      insert(num_seen_);
    }
  }

  /// Of some candidates like the good trials, the one that is least like the others.
  Values propose(Random& random, int candidates) const {
    const size_t num_good = good_size();
    std::vector<std::vector<double>> others;
    for (size_t c = 0; c < totals_.size(); ++c) {
      std::vector<int> counts = totals_[c];
      for (size_t n = 0; n < num_good; ++n) --counts[static_cast<size_t>(values_[ranked_[n]][c])];
      others.push_back(parzen_[c].density(counts));
    }
    Values best;
    double most = 0;
    for (int n = 0; n < candidates; ++n) {
      Values candidate = draw_good(num_good, random);
      double promise = std::log(good_density(candidate, num_good));
      for (size_t c = 0; c < candidate.size(); ++c)
        promise -= std::log(others[c][static_cast<size_t>(candidate[c])]);
      if (n == 0 || promise > most) best = std::move(candidate), most = promise;
    }
    return best;
  }

 private:
  size_t good_size() const {
    const auto wanted = static_cast<size_t>(std::ceil(kGamma * std::sqrt(static_cast<double>(num_seen_))));
    return std::min({wanted, kMostGood, ranked_.size()});
  }

  /// From the mixture of the prior and a window around each good trial.
  Values draw_good(size_t num_good, Random& random) const {
    const size_t around = random.below(num_good + 1);
    if (around == num_good) return choices_.draw(random);
    Values values;
    for (size_t c = 0; c < parzen_.size(); ++c)
      values.push_back(draw(parzen_[c].window(values_[ranked_[around]][c]), random));
    return values;
  }

  double good_density(const Values& values, size_t num_good) const {
    double density = 1;
    for (size_t c = 0; c < parzen_.size(); ++c) density *= parzen_[c].uniform();
    for (size_t n = 0; n < num_good; ++n) {
      double window = 1;
      for (size_t c = 0; c < parzen_.size(); ++c)
        window *= parzen_[c].window(values_[ranked_[n]][c])[static_cast<size_t>(values[c])];
      density += window;
    }
    return density / static_cast<double>(num_good + 1);
  }

  /// Keeps the best trials in order. Whether one is feasible is asked only when it would be among them.
  void insert(size_t place) {
    const auto cheaper = [&](size_t a, size_t b) { return pool_.scored()[a].cost < pool_.scored()[b].cost; };
    const auto at = std::upper_bound(ranked_.begin(), ranked_.end(), place, cheaper);
    if (at == ranked_.end() && ranked_.size() >= kMostGood) return;
    if (!pool_.feasible(place)) return;
    ranked_.insert(at, place);
    if (ranked_.size() > kMostGood) ranked_.pop_back();
  }

  const Choices& choices_;
  Pool& pool_;
  std::vector<Parzen> parzen_;  ///< by choice
  size_t num_seen_ = 0;
  std::vector<Values> values_;            ///< of every trial
  std::vector<std::vector<int>> totals_;  ///< trials by choice and value
  std::vector<size_t> ranked_;            ///< places of the best feasible trials
};

}  // namespace

std::vector<Scored> TpeSearch::run(const schedule::ScheduleSpace& space, model::CostModel& model,
                                   const Feasible& feasible, int64_t budget, Random& random,
                                   int num_results) {
  const Choices choices(space);
  Pool pool(model, feasible);
  Trials trials(choices, pool);
  pool.add({schedule::csr_point(space.problem(), space.limits().max_threads)}, budget);
  pool.add(random_points(space, std::min(kStartTrials, budget - pool.size()), random), budget - pool.size());
  int64_t failures = 0;  // in a row; a small space runs out of new points
  while (pool.size() < budget && failures < budget + 100) {
    trials.update();
    const bool at_random = failures % kPatience == kPatience - 1;
    // Taking the best of many draws proposes the same again and again once it has been tried.
    const Values values =
        at_random ? choices.draw(random) : trials.propose(random, failures == 0 ? kCandidates : 1);
    const std::optional<SuperSchedule> point = choices.point_of(values);
    failures = point && pool.add({*point}, 1) == 1 ? 0 : failures + 1;
  }
  return select_diverse(pool, num_results);
}

}  // namespace waco::search
