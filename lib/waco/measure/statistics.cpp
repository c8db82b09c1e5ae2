// Order statistics of samples.
#include "waco/measure/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "waco/base/counted.hpp"
#include "waco/base/machine.hpp"

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

namespace {

constexpr std::array<std::string_view, 3> kNames = {"", "other_work", "shared_processors"};

}  // namespace

std::string_view name(Disturbance disturbance) {
  return kNames[static_cast<size_t>(disturbance)];
}

Disturbance parse_disturbance(std::string_view text) {
  const auto at = std::find(kNames.begin(), kNames.end(), text);
  return at == kNames.end() ? Disturbance::kNone : static_cast<Disturbance>(at - kNames.begin());
}

Disturbed disturbed(const std::vector<double>& rejected_shares, int threads) {
  constexpr double kBusyShare = 0.2;
  if (rejected_shares.empty()) return {};
  const double share = std::accumulate(rejected_shares.begin(), rejected_shares.end(), 0.0) /
                       static_cast<double>(rejected_shares.size());
  if (share <= kBusyShare) return {};
  const int usable = usable_threads();
  if (threads > usable)
    return {Disturbance::kSharedProcessors,
            fmt::format("{} shared {}: {:.0f} % of the samples were thrown away, and times are off",
                        counted(threads, "thread"), counted(usable, "processor"), share * 100)};
  return {Disturbance::kOtherWork,
          fmt::format(
              "this machine is busy: {:.0f} % of the samples were thrown away; times may be off, run again "
              "when it is idle",
              share * 100)};
}

}  // namespace waco::measure
