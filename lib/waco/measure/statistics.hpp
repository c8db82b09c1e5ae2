// Medians and their intervals from few samples, without assumptions on the distribution.
#pragma once

#include <vector>

namespace waco::measure {

/// A median and an interval that holds the true median with about 95 % probability, by order statistics
/// (binomial ranks). With fewer than 6 samples the interval is their whole range. All zero without samples.
struct Estimate {
  double median = 0;
  double low = 0;
  double high = 0;
  /// Half the interval's width as a share of the median.
  double relative_width() const { return median > 0 ? (high - low) / (2 * median) : 0; }
};

Estimate estimate_median(std::vector<double> samples);

}  // namespace waco::measure
