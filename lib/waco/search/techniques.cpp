// The techniques.
#include "waco/search/techniques.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace waco::search {

using schedule::SuperSchedule;

namespace {

class RandomTechnique : public Technique {
 public:
  std::optional<SuperSchedule> propose(SearchState& state) override {
    return state.space.sample_stratified(state.random,
                                         schedule::kStrata[drawn_++ % schedule::kStrata.size()]);
  }

 private:
  size_t drawn_ = 0;
};

const SuperSchedule& best_point(const SearchState& state) {
  return state.pool.scored()[state.best].point;
}

/// Changes some choices of the best point; at least one.
class Mutation : public Technique {
 public:
  /// `rate`: share of the choices that change. `sigma`: of the step of an ordered choice, as a share of its
  /// values; 0 draws uniformly.
  Mutation(double rate, double sigma) : rate_(rate), sigma_(sigma) {}
  std::optional<SuperSchedule> propose(SearchState& state) override {
    Random& random = state.random;
    const std::vector<Choice>& choices = state.choices.all();
    Values values = state.choices.values_of(best_point(state));
    const size_t forced = random.below(choices.size());
    for (size_t c = 0; c < choices.size(); ++c)
      if (c == forced || random.chance(rate_)) values[c] = changed(choices[c], values[c], random);
    return state.choices.point_of(values);
  }

 private:
  int changed(const Choice& choice, int value, Random& random) const {
    if (sigma_ == 0 || !choice.ordered)
      return static_cast<int>(random.below(static_cast<uint64_t>(choice.num_values)));
    const double normal =
        std::sqrt(-2 * std::log(1 - random.uniform())) * std::cos(2 * std::numbers::pi * random.uniform());
    const double step = normal * sigma_ * choice.num_values;
    const int least = step < 0 ? -1 : 1;
    const int rounded = static_cast<int>(std::lround(step));
    return std::clamp(value + (rounded == 0 ? least : rounded), 0, choice.num_values - 1);
  }

  double rate_, sigma_;
};

/// The neighbours of the best point in a random order, anew whenever there is a better one. When all have
/// been tried, those of a random point of the better half.
class HillClimbing : public Technique {
 public:
  std::optional<SuperSchedule> propose(SearchState& state) override {
    if (state.best != followed_) follow(state, state.best);
    if (waiting_.empty()) {
      const std::vector<size_t> order = state.pool.by_cost();
      refill(state, order[state.random.below(std::max<size_t>(1, order.size() / 2))]);
    }
    if (waiting_.empty()) return std::nullopt;
    SuperSchedule next = std::move(waiting_.back());
    waiting_.pop_back();
    return next;
  }

 private:
  void follow(SearchState& state, size_t place) {
    followed_ = place;
    refill(state, place);
  }
  void refill(SearchState& state, size_t place) {
    waiting_ = state.space.neighbours(state.pool.scored()[place].point);
    for (size_t n = waiting_.size(); n > 1; --n) std::swap(waiting_[n - 1], waiting_[state.random.below(n)]);
  }

  size_t followed_ = SIZE_MAX;
  std::vector<SuperSchedule> waiting_;
};

/// Differential evolution: a member of the population is replaced by a mix of itself and a + F (b - c) of
/// three others when the mix is cheaper.
class DifferentialEvolution : public Technique {
 public:
  std::optional<SuperSchedule> propose(SearchState& state) override {
    if (population_.size() < kPopulation) {
      parent_ = population_.size();
      return state.space.sample_stratified(state.random,
                                           schedule::kStrata[parent_ % schedule::kStrata.size()]);
    }
    Random& random = state.random;
    parent_ = random.below(kPopulation);
    const Values &a = member(random), &b = member(random), &c = member(random);
    Values values = population_[parent_].values;
    const std::vector<Choice>& choices = state.choices.all();
    const size_t forced = random.below(choices.size());
    for (size_t n = 0; n < choices.size(); ++n)
      if (n == forced || random.chance(kCrossover)) values[n] = mixed(choices[n], a[n], b[n], c[n], random);
    return state.choices.point_of(values);
  }

  void learn(SearchState& state, size_t place) override {
    const Scored& scored = state.pool.scored()[place];
    if (parent_ == population_.size()) {
      const bool feasible = state.pool.feasible(place);
      population_.push_back({state.choices.values_of(scored.point), feasible ? scored.cost : HUGE_VAL});
    } else if (scored.cost < population_[parent_].cost && state.pool.feasible(place)) {
      population_[parent_] = {state.choices.values_of(scored.point), scored.cost};
    }
  }

 private:
  static constexpr size_t kPopulation = 30;
  static constexpr double kCrossover = 0.5;
  struct Member {
    Values values;
    double cost;
  };

  const Values& member(Random& random) const { return population_[random.below(kPopulation)].values; }

  /// Unordered choices have no differences: where b and c agree it is a's, otherwise any of the three.
  static int mixed(const Choice& choice, int a, int b, int c, Random& random) {
    if (b == c) return a;
    if (choice.ordered) {
      const double scale = 0.5 + 0.5 * random.uniform();
      return std::clamp(a + static_cast<int>(std::lround(scale * (b - c))), 0, choice.num_values - 1);
    }
    const int any[] = {a, b, c};
    return any[random.below(3)];
  }

  std::vector<Member> population_;
  size_t parent_ = 0;
};

}  // namespace

std::vector<std::unique_ptr<Technique>> all_techniques() {
  std::vector<std::unique_ptr<Technique>> techniques;
  techniques.push_back(std::make_unique<HillClimbing>());
  techniques.push_back(std::make_unique<Mutation>(0.1, 0));
  techniques.push_back(std::make_unique<Mutation>(0.1, 0.1));
  techniques.push_back(std::make_unique<DifferentialEvolution>());
  techniques.push_back(std::make_unique<RandomTechnique>());
  return techniques;
}

}  // namespace waco::search
