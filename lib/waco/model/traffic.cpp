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
constexpr int32_t kCacheTile = 64;  // smaller splits stay within registers and L1 whatever their order
constexpr double kAliasBytes =
    512;  // rows of such a stride share cache sets: slices of them leave the rest unused
constexpr int64_t kStretch = 64;       // neighbouring rows whose tiles are counted together
constexpr double kUsableShare = 0.85;  // of a cache: the rest goes to conflicts and everything else

/// The order in which nonzeros are visited: large outer parts cut the pattern in tiles, the rest is mode
/// after mode.
struct Visit {
  ModeOrder modes{0, 1, 2};
  std::array<double, 3> tiles{1, 1, 1};  ///< per mode
  std::vector<int> tiled;                ///< modes with tiles, outermost first
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
        visit.tiled.push_back(m);
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

/// How many tiles of a mode the nonzeros of a window fall in, when visited row after row.
struct Spread {
  double row = 1, of_row = 1;          ///< nonzeros of a row, and its tiles
  double stretch = 1, of_stretch = 1;  ///< the same for kStretch rows

  /// For a window of `nonzeros` in one tile.
  double at(double nonzeros) const {
    if (nonzeros * of_row <= row || stretch <= row) return of_row;
    if (nonzeros * of_stretch >= stretch) return of_stretch;
    const double share = std::log(nonzeros * of_row / row) / std::log(stretch / row);
    return of_row * std::pow(of_stretch / of_row, std::min(1.0, share));
  }
};

/// One dense operand (or the result) as accesses to elements of some bytes, one for each nonzero visited.
struct Stream {
  const FootprintCurve* curve;
  double tiles;   ///< cuts of its own mode
  Spread spread;  ///< over these, of stretches of neighbouring rows
  double element_bytes;
  double occupied_bytes;  ///< of a cache, by an element
  double moved;           ///< times an element that misses is moved: 2 for what is written
  double loads;           ///< elements loaded at all: fewer than nonzeros when a register tile shares them
  double total_bytes() const { return curve->num_distinct() * element_bytes; }

  double visits;   ///< elements touched, counted anew in every tile of the other modes
  double revisit;  ///< nonzeros after which a tile of the other modes touches them again

  double footprint_bytes(double window) const {
    const double pass = curve->length() / tiles;
    const double over = spread.at(window);
    const double inside = curve->distinct(std::min(window, pass) * over) / over;
    const double distinct = window <= pass ? inside : inside * window / pass;
    const double fresh = std::min(window, revisit) * visits / curve->length();
    return std::min(curve->num_distinct(), std::max(distinct, fresh)) * occupied_bytes;
  }
  double miss_ratio(double window) const {
    const double once = curve->num_distinct() / curve->length();
    const double anew = window < revisit ? visits / curve->length() : 0;
    const double inside =
        tiles > 1 ? std::max(once, curve->miss_ratio(window * spread.at(window))) : curve->miss_ratio(window);
    return std::max(inside, anew);
  }
};

/// Tiles of a mode that the nonzeros of one row, and of a stretch of neighbouring rows, fall in: few on a
/// band, all of them on a random graph.
Spread spread_of(const Visit& visit, const KernelShape& shape, int mode, PatternProfile& profile) {
  const int first = visit.modes[0];
  const double tiles = visit.tiles[mode];
  if (tiles <= 1) return {};
  if (mode == first) return {1, tiles, 1, tiles};
  const auto tiles_in = [&](int64_t rows, double& window) {
    CellShape both{0, 0, 0}, outer{0, 0, 0};
    outer[first] = both[first] = rows;
    both[mode] = shape.point.format.split[mode];
    const double stretches = std::max(1.0, profile.distinct(outer));
    window = profile.num_nonzeros() / stretches;
    return std::clamp(profile.distinct(both) / stretches, 1.0, tiles);
  };
  Spread spread;
  spread.of_row = tiles_in(1, spread.row);
  spread.of_stretch = std::max(spread.of_row, tiles_in(kStretch, spread.stretch));
  return spread;
}

struct Revisit {
  double visits = 0, distance = 0;
};

/// How tiles of other modes bring back the elements of `mode`.
Revisit revisit_of(const Visit& visit, const KernelShape& shape, int mode, int64_t grain,
                   PatternProfile& profile) {
  Revisit again;
  CellShape cell{0, 0, 0};
  cell[mode] = grain;
  double pieces = 1;
  for (const int tiled : visit.tiled) {
    pieces *= visit.tiles[tiled];
    if (tiled == mode) continue;
    cell[tiled] = shape.point.format.split[tiled];
    again.distance = profile.num_nonzeros() / pieces;
  }
  if (again.distance > 0) again.visits = profile.distinct(cell);
  return again;
}

/// Neighbouring coordinates of a mode that one body covers.
double unrolled_split(const KernelShape& shape, int mode) {
  for (const auto& loop : shape.nest.loops)
    if (loop.unrolled && loop.vars[0].index == mode && loop.kind != LoopKind::kLanes)
      return shape.point.format.split[mode];
  return 1;
}

/// Lanes of a slice in one body: each has a coordinate of its own.
double lanes_of(const KernelShape& shape) {
  for (const auto& loop : shape.nest.loops)
    if (loop.unrolled && loop.kind == LoopKind::kLanes) return shape.point.format.split[loop.vars[0].index];
  return 1;
}

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
    const double row = static_cast<double>(problem.rhs) * value;
    const bool aliases = std::fmod(row, kAliasBytes) == 0;
    const auto add = [&](int mode, bool written) {
      if (written && shape.streams) {
        past_caches_bytes_ = static_cast<double>(profile.dims()[mode]) * row;
        return;
      }
      const double bytes = std::max(value, columns * value);
      // An element is a cache line of a vector, or the rows that a dense block reads together.
      const double block = unrolled_split(shape, mode);
      const double grain = std::max(block, std::floor(kLineBytes / bytes));
      const double occupied = grain * (aliases ? row : bytes);
      const double loads =
          bytes < kLineBytes || written ? nonzeros_ : work.bodies * lanes_of(shape) / work.dense_tiles;
      const Revisit again = revisit_of(visit, shape, mode, static_cast<int64_t>(grain), profile);
      streams_.push_back({&profile.footprint(visit.modes, mode, static_cast<int64_t>(grain)),
                          visit.tiles[mode], spread_of(visit, shape, mode, profile), bytes * grain, occupied,
                          written ? 2.0 : 1.0, loads, again.visits, again.distance});
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
    for (const auto& s : streams_)
      sum += s.footprint_bytes(window) * passes_ * s.element_bytes / s.occupied_bytes;
    return sum;
  }

  std::vector<Stream> streams_;
  double nonzeros_;
  double a_bytes_ = 0;
  double result_bytes_ = 0;       ///< of a sparse result
  double past_caches_bytes_ = 0;  ///< of a result that is streamed to memory
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
    const double once = stream.footprint_bytes(run) / stream.occupied_bytes / run;
    // Real caches are not fully associative: what is about to fit, fits in part.
    const double around =
        (stream.miss_ratio(low * 0.6) + stream.miss_ratio(low) + stream.miss_ratio(low * 1.6)) / 3;
    const double ratio = std::min(pass_fits ? once : around, stream.loads / operands.nonzeros_);
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
  traffic.out_bytes = operands.result_bytes_ + operands.past_caches_bytes_;
  traffic.level_bytes[kNumMemoryLevels - 1] += operands.past_caches_bytes_;
  traffic.level_ns[kNumMemoryLevels - 1] += operands.past_caches_bytes_ / ceilings.stream(threads);
  for (const auto& stream : operands.streams_)
    (stream.moved > 1 ? traffic.out_bytes : traffic.dense_bytes) += stream.total_bytes() * operands.passes_;
  return traffic;
}

}  // namespace waco::model
