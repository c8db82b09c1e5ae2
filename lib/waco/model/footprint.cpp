// Builds footprint curves from the gaps between accesses to the same element.
#include "waco/model/footprint.hpp"

#include <algorithm>
#include <bit>
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

}  // namespace

/// Gaps by length: how many, and their sum; and what else a trace tells.
struct FootprintCurve::Gaps {
  explicit Gaps(int64_t length)
      : count(static_cast<size_t>(bin_of(static_cast<double>(std::max<int64_t>(2, length)))) + 3),
        sum(count.size()) {}
  void add(int64_t gap) {
    const size_t bin = bin_above(static_cast<uint64_t>(gap));
    count[bin] += 1;
    sum[bin] += static_cast<double>(gap);
  }
  /// Smallest bin whose window is not shorter than the gap: quarters of an octave, without a logarithm.
  static size_t bin_above(uint64_t gap) {
    static_assert(kBinsPerOctave == 4);
    constexpr uint64_t kOne = uint64_t{1} << 63;  // then 2^(1/4), 2^(2/4), 2^(3/4) of it
    constexpr uint64_t kQuarter = 10968499650544839023u, kHalf = 13043817825332782212u,
                       kThreeQuarters = 15511800964685064948u;
    const int octave = std::bit_width(gap) - 1;
    const uint64_t scaled = gap << (63 - octave);
    return static_cast<size_t>(kBinsPerOctave * octave) + (scaled > kOne) + (scaled > kQuarter) +
           (scaled > kHalf) + (scaled > kThreeQuarters);
  }
  /// The gap from the last access of this run to the first of the next.
  void close(int64_t length, int64_t first, int64_t last) {
    num_distinct += 1;
    add(length - last + first);
  }

  std::vector<double> count, sum;
  double num_distinct = 0;
  double far = 0, streamed = 0;
};

/// Over the distinct elements that were sampled, a `share` of all.
void FootprintCurve::finish(const Gaps& gaps, double share) {
  num_distinct_ = gaps.num_distinct / share;
  sequential_ = gaps.far > 0 ? gaps.streamed / gaps.far : 1;
  // distinct(w) = elements - sum over gaps longer than w of (gap - w) / length.
  const size_t bins = gaps.count.size();
  distinct_at_.assign(bins, 0);
  missing_at_.assign(bins, 0);
  double longer = 0, total = 0;
  for (size_t b = bins; b-- > 0;) {
    const double window = window_of(static_cast<int>(b));
    // Of a sample, the frequent elements may be too many or too few; a window holds no more than its length.
    distinct_at_[b] = std::clamp(num_distinct_ - (total - longer * window) / length_, 0.0, window);
    missing_at_[b] = std::min(1.0, longer / length_);
    longer += gaps.count[b] / share;
    total += gaps.sum[b] / share;
  }
}

template <typename ElementAt>
void FootprintCurve::trace(int64_t length, int64_t num_elements, ElementAt element_at) {
  length_ = static_cast<double>(length);
  if (length == 0) return;
  std::vector<int32_t> first(static_cast<size_t>(num_elements), -1),
      last(static_cast<size_t>(num_elements), -1);
  Gaps gaps(length);
  for (int64_t t = 0; t < length; t++) {
    const auto e = static_cast<size_t>(element_at(t));
    const int64_t before = last[e];
    if (before >= 0) gaps.add(t - before);
    if (before < 0) first[e] = static_cast<int32_t>(t);
    if (before < 0 || t - before > kNearAccesses) {
      gaps.far += 1;
      if (e > 0 && last[e - 1] >= 0 && t - last[e - 1] <= kNearAccesses) gaps.streamed += 1;
    }
    last[e] = static_cast<int32_t>(t);
  }
  for (size_t e = 0; e < first.size(); e++)
    if (first[e] >= 0) gaps.close(length, first[e], last[e]);
  finish(gaps, 1);
}

FootprintCurve::FootprintCurve(std::span<const int32_t> trace, int64_t num_elements) {
  this->trace(static_cast<int64_t>(trace.size()), num_elements,
              [&](int64_t t) { return trace[static_cast<size_t>(t)]; });
}

FootprintCurve::FootprintCurve(std::span<const int64_t> coords, int64_t grain, int64_t num_elements) {
  const auto length = static_cast<int64_t>(coords.size());
  const auto divisor = static_cast<uint64_t>(grain);
  if (std::has_single_bit(divisor)) {
    trace(length, num_elements, [&, shift = std::countr_zero(divisor)](int64_t t) {
      return coords[static_cast<size_t>(t)] >> shift;
    });
  } else {
    trace(length, num_elements, [&, divisor = static_cast<uint32_t>(grain)](int64_t t) {
      return static_cast<uint32_t>(coords[static_cast<size_t>(t)]) / divisor;
    });
  }
}

FootprintCurve FootprintCurve::estimate(const AccessSample& sample, int64_t grain) {
  FootprintCurve curve;
  curve.length_ = static_cast<double>(sample.length);
  constexpr int64_t kBlock = AccessSample::kBlock;
  // Of each block the elements that lie in it whole: numbered from 1, so that the first has no neighbour.
  const int64_t room = kBlock / grain + 2;
  std::vector<int32_t> number(sample.starts.size() * static_cast<size_t>(kBlock));  // 0: of none
  int64_t num_sampled = 0;
  for (size_t n = 0; n < sample.starts.size(); n++) {
    const int64_t start = sample.starts[n];
    const int64_t begin = (start + grain - 1) / grain, end = (start + kBlock) / grain;
    num_sampled += end - begin;
    for (int64_t c = begin * grain; c < end * grain; c++)
      number[n * static_cast<size_t>(kBlock) + static_cast<size_t>(c - start)] =
          static_cast<int32_t>(static_cast<int64_t>(n) * room + 1 + c / grain - begin);
  }
  const size_t size = sample.starts.size() * static_cast<size_t>(room);
  std::vector<int32_t> first(size, -1), last(size, -1);
  Gaps gaps(sample.length);
  for (size_t a = 0; a < sample.times.size(); a++) {
    const auto e = static_cast<size_t>(number[static_cast<size_t>(sample.places[a])]);
    if (e == 0) continue;
    const int64_t t = sample.times[a], before = last[e];
    if (before >= 0) gaps.add(t - before);
    if (before < 0) first[e] = static_cast<int32_t>(t);
    const bool has_neighbour = e % static_cast<size_t>(room) != 1;
    if (has_neighbour && (before < 0 || t - before > kNearAccesses)) {
      gaps.far += 1;
      if (last[e - 1] >= 0 && t - last[e - 1] <= kNearAccesses) gaps.streamed += 1;
    }
    last[e] = static_cast<int32_t>(t);
  }
  for (size_t e = 0; e < size; e++)
    if (first[e] >= 0) gaps.close(sample.length, first[e], last[e]);
  const int64_t num_elements = (sample.dim + grain - 1) / grain;
  curve.finish(gaps,
               static_cast<double>(std::max<int64_t>(1, num_sampled)) / static_cast<double>(num_elements));
  return curve;
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
