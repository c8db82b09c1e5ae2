// Builds footprint curves from the gaps between accesses to the same element.
#include "waco/model/footprint.hpp"

#include <algorithm>
#include <cmath>

namespace waco::model {

namespace {

constexpr int kBinsPerOctave = 4;
constexpr int64_t kNearAccesses = 4096;

double bin_of(double window) {
  return window <= 1 ? 0 : kBinsPerOctave * std::log2(window);
}
double window_of(int bin) {
  return std::exp2(static_cast<double>(bin) / kBinsPerOctave);
}

double interpolate(const std::vector<double>& values, double at) {
  if (values.empty()) return 0;
  const double last = static_cast<double>(values.size() - 1);
  if (at >= last) return values.back();
  const size_t below = static_cast<size_t>(std::max(0.0, at));
  const double share = at - static_cast<double>(below);
  return values[below] + share * (values[below + 1] - values[below]);
}

/// Gaps by length: how many, and their sum.
struct GapHistogram {
  explicit GapHistogram(int64_t length)
      : count(static_cast<size_t>(bin_of(static_cast<double>(std::max<int64_t>(2, length)))) + 3),
        sum(count.size()) {
    for (int gap = 1; gap < kTable; gap++) table[gap] = static_cast<uint16_t>(exact_bin(gap));
  }
  void add(int64_t gap) {
    const size_t bin = gap < kTable ? table[gap] : exact_bin(gap);
    count[bin] += 1;
    sum[bin] += static_cast<double>(gap);
  }
  /// Smallest bin whose window is not shorter than the gap.
  static size_t exact_bin(int64_t gap) {
    return static_cast<size_t>(std::ceil(bin_of(static_cast<double>(gap)) - 1e-9));
  }

  static constexpr int kTable = 2048;
  uint16_t table[kTable] = {};
  std::vector<double> count, sum;
};

}  // namespace

FootprintCurve::FootprintCurve(std::span<const int32_t> trace, int64_t num_elements)
    : length_(static_cast<double>(trace.size())) {
  if (trace.empty()) return;
  const int64_t length = static_cast<int64_t>(trace.size());
  std::vector<int32_t> first(static_cast<size_t>(num_elements), -1),
      last(static_cast<size_t>(num_elements), -1);
  GapHistogram gaps(length);
  double far = 0, streamed = 0;
  for (int64_t t = 0; t < length; t++) {
    const size_t e = static_cast<size_t>(trace[static_cast<size_t>(t)]);
    const int64_t before = last[e];
    if (before >= 0) gaps.add(t - before);
    if (before < 0) first[e] = static_cast<int32_t>(t);
    if (before < 0 || t - before > kNearAccesses) {
      far += 1;
      if (e > 0 && last[e - 1] >= 0 && t - last[e - 1] <= kNearAccesses) streamed += 1;
    }
    last[e] = static_cast<int32_t>(t);
  }
  for (size_t e = 0; e < first.size(); e++) {
    if (first[e] < 0) continue;
    num_distinct_ += 1;
    gaps.add(length - last[e] + first[e]);  // from the last access of this run to the first of the next
  }
  sequential_ = far > 0 ? streamed / far : 1;

  // distinct(w) = elements - sum over gaps longer than w of (gap - w) / length.
  const size_t bins = gaps.count.size();
  distinct_at_.assign(bins, 0);
  missing_at_.assign(bins, 0);
  double longer = 0, total = 0;
  for (size_t b = bins; b-- > 0;) {
    const double window = window_of(static_cast<int>(b));
    distinct_at_[b] = std::max(0.0, num_distinct_ - (total - longer * window) / length_);
    missing_at_[b] = longer / length_;
    longer += gaps.count[b];
    total += gaps.sum[b];
  }
}

double FootprintCurve::distinct(double window) const {
  if (window < 1) return window * interpolate(distinct_at_, 0);
  return interpolate(distinct_at_, bin_of(window));
}

double FootprintCurve::miss_ratio(double window) const {
  if (window >= length_) return 0;
  return interpolate(missing_at_, bin_of(window));
}

}  // namespace waco::model
