// Order statistics of samples.
#include "waco/measure/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace waco::measure {

Estimate estimate_median(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  const size_t count = samples.size();
  const double median =
      count % 2 == 1 ? samples[count / 2] : (samples[count / 2 - 1] + samples[count / 2]) / 2;
  // Ranks r and count + 1 - r (1-based) with r = (n - 1.96 sqrt(n)) / 2, rounded outwards.
  const double rank = (static_cast<double>(count) - 1.96 * std::sqrt(static_cast<double>(count))) / 2;
  const auto low = static_cast<size_t>(std::max(1.0, std::floor(rank)));
  return {median, samples[low - 1], samples[count - low]};
}

}  // namespace waco::measure
