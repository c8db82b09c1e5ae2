// Composes the footprints of all operands of a loop nest and finds the window that fills each cache.
#include "waco/model/traffic.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace waco::model {

using codegen::KernelShape;
using schedule::LoopKind;
using schedule::Op;

namespace {

constexpr double kLineBytes = 64;
constexpr int32_t kCacheTile = 64;     // smaller splits stay within registers and L1 whatever their order
constexpr double kUsableShare = 0.85;  // of a cache: the rest goes to conflicts and everything else

/// The order in which nonzeros are visited: large outer parts cut the pattern in tiles, the rest is mode
/// after mode.
struct Visit {
  ModeOrder modes{0, 1, 2};
  std::array<double, 3> tiles{1, 1, 1};  ///< per mode
  bool passes = false;                   ///< tiles of the dense index are outside of everything sparse
};

Visit visit_of(const KernelShape& shape, const PatternProfile& profile) {
  Visit visit;
  const int order = profile.order();
  const auto& format = shape.point.format;
  std::array<bool, 3> placed{};
  int next = 0;
  bool leading = true;
  for (int l = 0; l < shape.nest.num_runtime; l++) {
    const auto& loop = shape.nest.loops[l];
    if (loop.kind == LoopKind::kDenseOuter) visit.passes = visit.passes || next == 0;
    if (loop.vars[0].index >= order) continue;
    for (const auto var : loop.vars) {
      const int m = var.index;
      if (leading && !var.inner && format.split[m] >= kCacheTile) {
        visit.tiles[m] = std::ceil(static_cast<double>(profile.dims()[m]) / format.split[m]);
        continue;
      }
      leading = false;
      if (!placed[m]) visit.modes[next++] = static_cast<int8_t>(m);
      placed[m] = true;
    }
  }
  for (int m = 0; m < order; m++)
    if (!placed[m]) visit.modes[next++] = static_cast<int8_t>(m);
  return visit;
}

/// One dense operand (or the result) as accesses to elements of some bytes, one for each nonzero visited.
struct Stream {
  const FootprintCurve* curve;
  double tiles;  ///< cuts of its own mode
  double element_bytes;
  double moved;  ///< times an element that misses is moved: 2 for what is written
  double total_bytes() const { return curve->num_distinct() * element_bytes; }

  double footprint_bytes(double window) const {
    const double pass = curve->length() / tiles;
    const double inside = curve->distinct(std::min(window, pass) * tiles) / tiles;
    const double distinct = window <= pass ? inside : std::min(curve->num_distinct(), inside * window / pass);
    return distinct * element_bytes;
  }
  double miss_ratio(double window) const {
    const double once = curve->num_distinct() / curve->length();
    return tiles > 1 ? std::max(once, curve->miss_ratio(window * tiles)) : curve->miss_ratio(window);
  }
};

class Operands {
 public:
  Operands(const KernelShape& shape, const WorkCounts& work, const FormatCounts& format,
           PatternProfile& profile)
      : nonzeros_(profile.num_nonzeros()) {
    const auto& problem = shape.point.problem;
    const double value = schedule::value_bytes(problem.type);
    const Visit visit = visit_of(shape, profile);
    passes_ = visit.passes ? work.dense_tiles : 1;
    const double columns = static_cast<double>(problem.rhs) / passes_;
    const auto add = [&](int mode, bool written) {
      const double bytes = std::max(value, columns * value);
      const double grain = std::max(1.0, std::floor(kLineBytes / bytes));
      streams_.push_back({&profile.footprint(visit.modes, mode, static_cast<int64_t>(grain)),
                          visit.tiles[mode], bytes * grain, written ? 2.0 : 1.0});
    };
    a_bytes_ = format.stored_values * value + format.index_bytes;
    switch (problem.op) {
      case Op::kSpmv:
      case Op::kSpmm:
        add(1, false), add(0, true);
        break;
      case Op::kSddmm:
        add(0, false), add(1, false);
        result_bytes_ = 2 * format.stored_values * value;
        break;
      case Op::kMttkrp:
        add(1, false), add(2, false), add(0, true);
        break;
    }
  }

  double footprint_bytes(double window) const {
    double sum = streamed_per_nonzero() * std::min(window, nonzeros_);
    for (const auto& s : streams_) sum += s.footprint_bytes(window);
    return sum;
  }
  double streamed_per_nonzero() const { return (a_bytes_ + result_bytes_) / nonzeros_; }
  /// Everything a thread touches in `window` nonzeros of every pass.
  double total_bytes(double window) const {
    double sum = streamed_per_nonzero() * window;
    for (const auto& s : streams_) sum += s.footprint_bytes(window) * passes_;
    return sum;
  }

  std::vector<Stream> streams_;
  double nonzeros_;
  double a_bytes_ = 0;
  double result_bytes_ = 0;  ///< of a sparse result
  double passes_ = 1;
};

/// Misses of one cache: bytes fetched from beyond it, all threads together.
struct Misses {
  double streamed = 0;
  std::vector<double> dense;
};

Misses misses_of(const Operands& operands, double capacity, double run) {
  Misses misses;
  misses.dense.assign(operands.streams_.size(), 0);
  if (operands.total_bytes(run) <= capacity) return misses;
  // The largest window whose footprint fits, by bisection on a logarithmic scale.
  double low = 0.25, high = run;
  if (operands.footprint_bytes(run) <= capacity) {
    low = run;
  } else {
    while (high / low > 1.1) {
      const double middle = std::sqrt(low * high);
      (operands.footprint_bytes(middle) <= capacity ? low : high) = middle;
    }
  }
  const bool pass_fits = low >= run;
  misses.streamed = pass_fits ? operands.a_bytes_ + operands.result_bytes_
                              : (operands.a_bytes_ + operands.result_bytes_) * operands.passes_;
  for (size_t s = 0; s < operands.streams_.size(); s++) {
    const Stream& stream = operands.streams_[s];
    const double once = stream.footprint_bytes(run) / stream.element_bytes / run;
    const double ratio = pass_fits ? once : stream.miss_ratio(low);
    misses.dense[s] = ratio * operands.nonzeros_ * stream.element_bytes * stream.moved * operands.passes_;
  }
  return misses;
}

/// How much of the time of random row starts remains when they are asked for ahead.
double prefetch_factor(int prefetch) {
  if (prefetch == 0) return 1;
  return prefetch >= 4 && prefetch <= 16 ? 0.7 : 0.85;
}

double random_rate(const Ceilings& ceilings, int level, const Stream& stream, int threads) {
  const double capacity = static_cast<double>(ceilings.levels[level == 3 ? 2 : level].capacity_bytes);
  const double bytes = level == 1   ? capacity * 0.5
                       : level == 2 ? std::min(capacity * 0.5, stream.total_bytes())
                                    : std::max(capacity * 2, stream.total_bytes());
  return ceilings.gather(bytes, threads);
}

}  // namespace

Traffic estimate_traffic(const KernelShape& shape, const WorkCounts& work, const FormatCounts& format,
                         PatternProfile& profile, const Ceilings& ceilings, int threads, bool migrates) {
  Traffic traffic;
  if (profile.num_nonzeros() == 0) return traffic;
  const Operands operands(shape, work, format, profile);
  const double run = operands.nonzeros_;
  std::array<Misses, kNumMemoryLevels> misses;
  for (int level = 0; level < kNumMemoryLevels - 1; level++) {
    const auto& memory = ceilings.levels[level];
    const double mine = memory.shared || migrates ? run : run / threads;
    misses[level] = misses_of(operands, kUsableShare * static_cast<double>(memory.capacity_bytes), mine);
  }
  misses[kNumMemoryLevels - 1].dense.assign(operands.streams_.size(), 0);
  const double ahead = prefetch_factor(shape.point.compute.prefetch);
  for (int level = 1; level < kNumMemoryLevels; level++) {
    const double bandwidth = ceilings.read(level, threads);
    const double streamed = std::max(0.0, misses[level - 1].streamed - misses[level].streamed);
    traffic.level_bytes[level] += streamed;
    traffic.level_ns[level] += streamed / bandwidth;
    for (size_t s = 0; s < operands.streams_.size(); s++) {
      const Stream& stream = operands.streams_[s];
      const double bytes = std::max(0.0, misses[level - 1].dense[s] - misses[level].dense[s]);
      const double starts = bytes / std::max(kLineBytes, stream.element_bytes);
      const double rest = std::max(0.0, bytes - starts * kLineBytes);
      const double random_ns =
          starts * ahead / random_rate(ceilings, level, stream, threads) + rest / bandwidth;
      const double share = 1 - stream.curve->sequential();
      traffic.level_bytes[level] += bytes;
      traffic.level_ns[level] +=
          share * std::max(random_ns, bytes / bandwidth) + (1 - share) * bytes / bandwidth;
    }
  }
  traffic.a_bytes = operands.a_bytes_ * operands.passes_;
  traffic.out_bytes = operands.result_bytes_;
  for (const auto& stream : operands.streams_)
    (stream.moved > 1 ? traffic.out_bytes : traffic.dense_bytes) += stream.total_bytes() * operands.passes_;
  return traffic;
}

}  // namespace waco::model
