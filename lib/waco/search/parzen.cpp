// Choices have few values, so every density is a table.
#include "waco/search/parzen.hpp"

#include <cmath>
#include <numeric>

namespace waco::search {
namespace {

/// Shares of a window that go to values near the observed one and to all values.
constexpr double kNear = 0.06;
constexpr double kAny = 0.04;

}  // namespace

int draw(const std::vector<double>& density, Random& random) {
  double left = random.uniform();
  for (size_t value = 0; value + 1 < density.size(); ++value) {
    left -= density[value];
    if (left < 0) return static_cast<int>(value);
  }
  return static_cast<int>(density.size()) - 1;
}

Parzen::Parzen(const Choice& choice) {
  const auto size = static_cast<size_t>(choice.num_values);
  windows_.assign(size, std::vector<double>(size, kAny / static_cast<double>(size)));
  for (size_t seen = 0; seen < size; ++seen) {
    std::vector<double> near(size, 0.0);
    for (size_t value = 0; value < size && choice.ordered; ++value)
      if (value != seen)
        near[value] = std::pow(0.5, std::abs(static_cast<double>(value) - static_cast<double>(seen)));
    const double total = std::accumulate(near.begin(), near.end(), 0.0);
    const double moved = total > 0 ? kNear : 0;
    for (size_t value = 0; value < size; ++value)
      windows_[seen][value] += total > 0 ? moved * near[value] / total : 0;
    windows_[seen][seen] += 1 - kAny - moved;
  }
}

std::vector<double> Parzen::density(const std::vector<int>& counts) const {
  std::vector<double> density(windows_.size(), uniform());
  int observed = 0;
  for (size_t seen = 0; seen < windows_.size(); ++seen) {
    observed += counts[seen];
    for (size_t value = 0; value < windows_.size() && counts[seen] > 0; ++value)
      density[value] += counts[seen] * windows_[seen][value];
  }
  for (double& share : density) share /= 1 + observed;
  return density;
}

}  // namespace waco::search
