// Densities over the values of one choice: the window around one observation, and the estimate that many
// observations suggest.
#pragma once

#include <vector>

#include "waco/base/random.hpp"
#include "waco/search/choices.hpp"

namespace waco::search {

/// A value drawn from a density, [num_values] and summing to 1.
int draw(const std::vector<double>& density, Random& random);

/// Parzen windows of one choice.
class Parzen {
 public:
  explicit Parzen(const Choice& choice);

  /// The window around an observation, [num_values]: mostly the value itself; of the rest, some goes to the
  /// values near it, if the choice is ordered, and some to all.
  const std::vector<double>& window(int seen) const { return windows_[static_cast<size_t>(seen)]; }
  /// The prior: every value alike.
  double uniform() const { return 1.0 / static_cast<double>(windows_.size()); }
  /// The estimate from `counts` observations of each value, [num_values]; the prior weighs as much as one
  /// observation.
  std::vector<double> density(const std::vector<int>& counts) const;

 private:
  std::vector<std::vector<double>> windows_;  ///< [seen][value]
};

}  // namespace waco::search
