// Builds footprint curves from the gaps between accesses to the same element.
#include "waco/model/footprint.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>
#include <utility>

#include "waco/base/parallel.hpp"

namespace waco::model {

namespace {

constexpr int kBinsPerOctave = 4;
constexpr int64_t kNearAccesses = 4096;
constexpr int64_t kLeastStretch = int64_t{1} << 17;  // of a trace that is worth a thread
constexpr int32_t kNever = -2 * kNearAccesses;       // before the first access, and far from it

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
      : totals(static_cast<size_t>(bin_of(static_cast<double>(std::max<int64_t>(2, length)))) + 3) {}
  /// `time` is that of the access after the gap.
  void add(int64_t time, int64_t gap) {
    if (gap < kShort) {
      short_gaps[static_cast<size_t>(time) % kBanks][static_cast<size_t>(gap)] += 1;
    } else {
      add_to_bin(gap, 1);
    }
  }
  /// The gap from the last access of this run to the first of the next.
  void close(int64_t length, int64_t first, int64_t last) {
    num_distinct += 1;
    add_to_bin(length - last + first, 1);
  }
  /// An access to an element that was not accessed shortly before; its left neighbour was or was not.
  void add_far(bool neighbour_is_near) {
    far += 1;
    streamed += neighbour_is_near ? 1 : 0;
  }
  void add_all(Gaps& others) {
    const std::vector<Total>& added = others.by_bin();
    for (size_t bin = 0; bin < totals.size(); bin++) {
      totals[bin].count += added[bin].count;
      totals[bin].sum += added[bin].sum;
    }
    far += others.far;
    streamed += others.streamed;
  }
  struct Total {
    uint64_t count = 0, sum = 0;
  };
  const std::vector<Total>& by_bin() {
    for (auto& bank : short_gaps)
      for (size_t gap = 1; gap < kShort; gap++)
        if (const uint32_t times = std::exchange(bank[gap], 0)) add_to_bin(static_cast<int64_t>(gap), times);
    return totals;
  }

  double num_distinct = 0;
  double far = 0, streamed = 0;

 private:
  void add_to_bin(int64_t gap, uint64_t times) {
    Total& total = totals[bin_above(static_cast<uint64_t>(gap))];
    total.count += times;
    total.sum += times * static_cast<uint64_t>(gap);
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

  // Most gaps are short, and many in a row alike: counted one by one, in banks by turns, so that no addition
  // waits for the one before.
  static constexpr size_t kBanks = 2;
  static constexpr int64_t kShort = kNearAccesses + 1;
  std::array<std::array<uint32_t, kShort>, kBanks> short_gaps{};
  std::vector<Total> totals;
};

/// Over the distinct elements that were sampled, a `share` of all.
void FootprintCurve::finish(Gaps& gaps, double share) {
  num_distinct_ = gaps.num_distinct / share;
  sequential_ = gaps.far > 0 ? gaps.streamed / gaps.far : 1;
  // distinct(w) = elements - sum over gaps longer than w of (gap - w) / length.
  const std::vector<Gaps::Total>& totals = gaps.by_bin();
  distinct_at_.assign(totals.size(), 0);
  missing_at_.assign(totals.size(), 0);
  double longer = 0, total = 0;
  for (size_t b = totals.size(); b-- > 0;) {
    const double window = window_of(static_cast<int>(b));
    // Of a sample, the frequent elements may be too many or too few; a window holds no more than its length.
    distinct_at_[b] = std::clamp(num_distinct_ - (total - longer * window) / length_, 0.0, window);
    missing_at_[b] = std::min(1.0, longer / length_);
    longer += static_cast<double>(totals[b].count) / share;
    total += static_cast<double>(totals[b].sum) / share;
  }
}

/// A stretch of a trace, followed alone: what the stretches before it held is for `join` to say.
struct FootprintCurve::Stretch {
  Stretch(int64_t length, int64_t num_elements)
      : first(static_cast<size_t>(num_elements), kNever),
        last(first),
        begins_near(first.size(), 0),
        gaps(length) {}

  template <typename ElementAt>
  void follow(int64_t begin, int64_t end, ElementAt element_at) {
    for (int64_t t = begin; t < end; t++) {
      const auto e = static_cast<size_t>(element_at(t));
      const int64_t before = last[e];
      last[e] = static_cast<int32_t>(t);
      if (t - before <= kNearAccesses) {
        gaps.add(t, t - before);
        continue;
      }
      const bool is_near = e > 0 && t - last[e - 1] <= kNearAccesses;
      if (before == kNever) {
        first[e] = static_cast<int32_t>(t);
        begins_near[e] = is_near;
      } else {
        gaps.add(t, t - before);
        gaps.add_far(is_near);
      }
    }
  }

  /// The first access to element e, which in the stretches before was last accessed at `before`, its left
  /// neighbour at `neighbour`.
  void join(size_t e, int64_t before, int64_t neighbour) {
    const int64_t t = first[e];
    if (before != kNever) gaps.add(t, t - before);
    if (t - before <= kNearAccesses) return;
    const bool neighbour_is_here = e > 0 && first[e - 1] != kNever && first[e - 1] < t;
    gaps.add_far(begins_near[e] != 0 || (!neighbour_is_here && t - neighbour <= kNearAccesses));
  }

  std::vector<int32_t> first, last;  ///< access to each element; kNever
  std::vector<uint8_t> begins_near;  ///< whether the left neighbour had been accessed shortly before `first`
  Gaps gaps;
};

template <typename ElementAt>
void FootprintCurve::trace(int64_t length, int64_t num_elements, ElementAt element_at) {
  length_ = static_cast<double>(length);
  if (length == 0) return;
  // Stretches cost time for each element, too.
  const int64_t num_stretches =
      std::clamp<int64_t>(length / std::max(kLeastStretch, 8 * num_elements), 1, omp_get_max_threads());
  std::vector<std::optional<Stretch>> stretches(static_cast<size_t>(num_stretches));
  for_each_parallel(num_stretches, static_cast<int>(num_stretches), [&](int64_t n) {
    stretches[static_cast<size_t>(n)]
        .emplace(length, num_elements)
        .follow(length * n / num_stretches, length * (n + 1) / num_stretches, element_at);
  });
  Stretch& all = *stretches.front();
  for (size_t e = 0; e < all.first.size(); e++)
    if (all.first[e] != kNever) all.join(e, kNever, kNever);
  for (size_t n = 1; n < stretches.size(); n++) {
    Stretch& next = *stretches[n];
    for (size_t e = next.first.size(); e-- > 0;) {  // down: the left neighbour's last is still that of before
      if (next.first[e] == kNever) continue;
      next.join(e, all.last[e], e > 0 ? all.last[e - 1] : kNever);
      if (all.first[e] == kNever) all.first[e] = next.first[e];
      all.last[e] = next.last[e];
    }
    all.gaps.add_all(next.gaps);
  }
  for (size_t e = 0; e < all.first.size(); e++)
    if (all.first[e] != kNever) all.gaps.close(length, all.first[e], all.last[e]);
  finish(all.gaps, 1);
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
    if (before >= 0) gaps.add(t, t - before);
    if (before < 0) first[e] = static_cast<int32_t>(t);
    const bool has_neighbour = e % static_cast<size_t>(room) != 1;
    if (has_neighbour && (before < 0 || t - before > kNearAccesses))
      gaps.add_far(last[e - 1] >= 0 && t - last[e - 1] <= kNearAccesses);
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
