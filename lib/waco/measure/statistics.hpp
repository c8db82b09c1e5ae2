// Medians and their intervals from few samples, without assumptions on the distribution.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace waco::measure {

/// A median and an interval that holds the true median with at least 95 % probability, by order statistics
/// (binomial ranks). With fewer than 6 samples the interval is their whole range, which holds it with 94 % (5
/// samples), 88 % (4) or 75 % (3): so few are taken where one call is slow for the budget, or when others
/// were disturbed. All zero without samples.
struct Estimate {
  double median = 0;
  double low = 0;
  double high = 0;
  /// Half the interval's width as a share of the median.
  double relative_width() const { return median > 0 ? (high - low) / (2 * median) : 0; }
};

Estimate estimate_median(std::vector<double> samples);

/// What took processors away from a contest: other work, or its own threads, of which there were more than
/// can run at once.
enum class Disturbance : uint8_t { kNone, kOtherWork, kSharedProcessors };
std::string_view name(Disturbance disturbance);  ///< "", "other_work", "shared_processors"
Disturbance parse_disturbance(std::string_view text);

struct Disturbed {
  Disturbance by = Disturbance::kNone;
  std::string warning;  ///< empty when all is well
};

/// A contest was disturbed when, in the mean of the contestants, more than a fifth of the samples was thrown
/// away. The largest share tells nothing: of many contestants with few rounds each, some lose a third of them
/// by chance.
Disturbed disturbed(const std::vector<double>& rejected_shares, int threads);

}  // namespace waco::measure
