// Random points: uniform over the choices, and stratified by family of formats.
#include <algorithm>
#include <initializer_list>
#include <utility>

#include "waco/base/error.hpp"
#include "waco/schedule/building.hpp"
#include "waco/schedule/legal_choices.hpp"
#include "waco/schedule/space.hpp"

namespace waco::schedule {
namespace {

using Splits = std::array<int32_t, 3>;

template <typename Container>
auto pick(const Container& choices, Random& random) {
  WACO_ASSERT(choices.size() > 0);
  return *(choices.begin() + static_cast<std::ptrdiff_t>(random.below(choices.size())));
}

template <typename T>
T pick(std::initializer_list<T> choices, Random& random) {
  return *(choices.begin() + random.below(choices.size()));
}

/// All parts in a random order with every outer part before its inner part; each such order is equally
/// likely.
std::vector<Var> random_order(const Splits& split, int order, Random& random) {
  std::vector<Var> vars;
  for (int8_t mode = 0; mode < order; ++mode) {
    vars.push_back({mode, false});
    if (split[static_cast<size_t>(mode)] > 1) vars.push_back({mode, true});
  }
  shuffle(vars, random);
  for (int8_t mode = 0; mode < order; ++mode) {
    const auto outer = std::find(vars.begin(), vars.end(), Var{mode, false});
    const auto inner = std::find(vars.begin(), vars.end(), Var{mode, true});
    if (inner < outer) std::iter_swap(inner, outer);
  }
  return vars;
}

/// One random choice after another; what they break together, the caller rejects.
class Draw {
 public:
  Draw(const ScheduleSpace& space, Random& random) : space_(space), random_(random) {}

  SuperSchedule uniform() {
    SuperSchedule point;
    point.problem = space_.problem();
    draw_format(point.format);
    point.compute.loops = random_order(point.format.split, order(), random_);
    const int32_t tile = pick(space_.tiles(), random_);
    set_dense_tile(point, tile, random_.below(point.compute.loops.size() + 1));
    draw_parallel(point);
    draw_extras(point);
    return point;
  }

  /// A schedule for a given format: loops follow the levels, but for an occasional swap.
  SuperSchedule around(const FormatSchedule& format) {
    SuperSchedule point = concordant_point(space_.problem(), format);
    std::vector<Var>& loops = point.compute.loops;
    const size_t num_sparse = format.levels.size();
    if (num_sparse > 1 && random_.chance(0.2)) {
      const size_t at = random_.below(num_sparse - 1);
      std::swap(loops[at], loops[at + 1]);
    }
    const int32_t tile = pick(space_.tiles(), random_);
    set_dense_tile(point, tile, random_.below(num_sparse + 1));
    draw_parallel(point);
    if (random_.chance(0.7)) prefer_outer_parallel(point);
    draw_extras(point);
    return point;
  }

 private:
  int order() const { return sparse_order(space_.problem().op); }

  void draw_format(FormatSchedule& format) {
    for (int mode = 0; mode < order(); ++mode)
      format.split[static_cast<size_t>(mode)] = pick(space_.splits(mode), random_);
    constexpr std::array kKinds{LevelKind::kUncompressed, LevelKind::kCompressed, LevelKind::kSingleton,
                                LevelKind::kEll, LevelKind::kSliced};
    bool sliced = false;
    for (const Var var : random_order(format.split, order(), random_)) {
      LevelKind kind = pick(kKinds, random_);
      format.levels.push_back({var, kind});
      sliced = sliced || is_lane_kind(kind);
    }
    if (sliced && random_.chance(0.5)) format.sort_window = draw_window(format.split[0]);
  }

  int64_t draw_window(int64_t slice) { return slice << random_.below(10); }

  void draw_parallel(SuperSchedule& point) {
    ComputeSchedule& compute = point.compute;
    compute.threads =
        1 + static_cast<int32_t>(random_.below(static_cast<uint64_t>(space_.limits().max_threads)));
    compute.parallel = static_cast<int32_t>(random_.below(compute.loops.size() + 1)) - 1;
    compute.policy = pick({Policy::kDynamic, Policy::kStatic, Policy::kBalanced}, random_);
    compute.chunk = compute.policy == Policy::kDynamic ? pick(kChunks, random_) : 0;
  }

  /// The outermost loop over an index of the output, on as many threads as there are or half as many.
  void prefer_outer_parallel(SuperSchedule& point) {
    const Op op = space_.problem().op;
    const std::vector<Var>& loops = point.compute.loops;
    const auto loop = std::find_if(loops.begin(), loops.end(), [op](Var var) {
      return var.index < sparse_order(op) && mode_is_output(op, var.index);
    });
    point.compute.parallel = static_cast<int32_t>(loop - loops.begin());
    const int threads = space_.limits().max_threads;
    point.compute.threads = random_.chance(0.75) ? threads : std::max(1, threads / 2);
  }

  void draw_extras(SuperSchedule& point) {
    point.compute.unroll = pick(kUnrolls, random_);
    point.compute.prefetch = pick(kPrefetches, random_);
    point.compute.stream = random_.chance(0.25);
  }

  const ScheduleSpace& space_;
  Random& random_;
};

/// Formats of each stratum; splits not smaller than the dimension become 1.
class StratumFormats {
 public:
  StratumFormats(const ScheduleSpace& space, Random& random)
      : space_(space), random_(random), is_3d_(sparse_order(space.problem().op) == 3) {}

  FormatSchedule draw(Stratum stratum) {
    switch (stratum) {
      case Stratum::kBlocked:
        return blocked();
      case Stratum::kSliced:
        return sliced();
      case Stratum::kSparseBlocks:
        return sparse_blocks();
      case Stratum::kCoo:
        return coo();
      default:
        return csr_like();
    }
  }

 private:
  int32_t small_split() { return pick({1, 2, 3, 4, 5, 6, 7, 8, 16}, random_); }
  int32_t large_split() { return int32_t{64} << random_.below(10); }

  Splits fitting(Splits split) const {
    for (int mode = 0; mode < 3; ++mode) {
      const auto m = static_cast<size_t>(mode);
      if (m >= space_.dims().size() || split[m] >= space_.dims()[m]) split[m] = 1;
    }
    return split;
  }

  FormatSchedule csr_like() {
    FormatSchedule format;
    for (const Var var : random_order({1, 1, 1}, is_3d_ ? 3 : 2, random_)) {
      const bool dense = format.levels.empty() ? random_.chance(0.6) : random_.chance(0.1);
      format.levels.push_back({var, dense ? LevelKind::kUncompressed : LevelKind::kCompressed});
    }
    return format;
  }

  FormatSchedule blocked() {
    if (is_3d_) {
      const Splits split = fitting({small_split(), pick({1, 1, 2, 4}, random_), pick({1, 1, 2, 4}, random_)});
      return format_from_levels(pick({"a1:U b1:C c1:C a0:U b0:U c0:U", "a1:U b1:C c1:S a0:U b0:U c0:U",
                                      "a1:C b1:S c1:S b0:U c0:U a0:U", "b1:C a1:C c1:C a0:U b0:U c0:U"},
                                     random_),
                                split);
    }
    const int32_t rows = small_split();
    const int32_t cols = random_.chance(0.4) ? 1 : random_.chance(0.4) ? rows : small_split();
    return format_from_levels(pick({"a1:U b1:C a0:U b0:U", "a1:U b1:C b0:U a0:U", "a1:C b1:C a0:U b0:U",
                                    "b1:U a1:C a0:U b0:U", "b1:C a1:C b0:U a0:U", "a1:C b1:S a0:U b0:U"},
                                   random_),
                              fitting({rows, cols, 1}));
  }

  FormatSchedule sliced() {
    const Splits split =
        fitting({pick({2, 4, 8, 16, 32, 64}, random_), random_.chance(0.8) ? 1 : pick({2, 4}, random_), 1});
    if (split[0] == 1) return csr_like();
    const int64_t window = pick<int64_t>({1, 64, 256, 1024, 16384, space_.dims()[0]}, random_);
    const int64_t rounded = window == 1 ? 1 : (window + split[0] - 1) / split[0] * split[0];
    if (is_3d_)
      return format_from_levels(
          pick({"a1:U a0:U b1:L c:S b0:U", "a1:U a0:U c:L b1:S b0:U", "a1:U a0:U b1:E c:S b0:U"}, random_),
          split, rounded);
    return format_from_levels(
        pick({"a1:U a0:U b1:L b0:U", "a1:U a0:U b1:L b0:U", "a1:U a0:U b1:E b0:U", "a1:U a0:U b1:L b0:S"},
             random_),
        split, rounded);
  }

  FormatSchedule sparse_blocks() {
    const Splits split = fitting({random_.chance(0.5) ? 1 : large_split(), large_split(), large_split()});
    if (is_3d_)
      return format_from_levels(pick({"a1:U b1:C c1:C a0:C b0:C c0:C", "a1:C b1:S c1:S a0:C b0:C c0:C",
                                      "b1:U c1:U a1:C a0:C b0:C c0:C", "c1:U a1:U a0:C b1:C b0:C c0:C"},
                                     random_),
                                split);
    return format_from_levels(
        pick({"a1:U b1:C a0:C b0:C", "a1:U b1:C a0:U b0:C", "a1:U b1:C a0:C b0:S", "b1:U a1:C a0:C b0:C",
              "b1:C a1:U a0:U b0:C", "b1:U a1:U a0:C b0:C", "a1:U b1:U a0:C b0:C", "a1:C b1:S a0:C b0:C"},
             random_),
        split);
  }

  FormatSchedule coo() {
    const auto block = [&] { return random_.chance(0.4) ? 1 : int32_t{4} << random_.below(8); };
    const Splits split = fitting({block(), block(), block()});
    const char* levels = is_3d_ ? pick({"a1:C b1:S c1:S a0:C b0:S c0:S", "a1:U b1:C c1:S a0:C b0:S c0:S",
                                        "b1:C a1:S c1:S a0:C b0:S c0:S", "a1:U b1:C c1:S a0:C c0:S b0:S"},
                                       random_)
                                : pick({"a1:C b1:S a0:C b0:S", "a1:U b1:C a0:C b0:S", "b1:C a1:S a0:C b0:S",
                                        "b1:C a1:S b0:C a0:S"},
                                       random_);
    const FormatSchedule format = format_from_levels(levels, split);
    const bool has_tuple = std::any_of(format.levels.begin(), format.levels.end(), [](const Level& level) {
      return level.kind == LevelKind::kSingleton;
    });
    return has_tuple ? format : format_from_levels(is_3d_ ? "a:C b:S c:S" : "a:C b:S");
  }

  const ScheduleSpace& space_;
  Random& random_;
  const bool is_3d_;
};

constexpr int kMaxDraws = 100000;

}  // namespace

SuperSchedule ScheduleSpace::sample_uniform(Random& random) const {
  for (int n = 0; n < kMaxDraws; ++n) {
    const SuperSchedule point = Draw(*this, random).uniform();
    if (illegal_reason(point)) continue;
    if (const std::optional<SuperSchedule> within = repaired(point)) return *within;
  }
  return csr_point(problem_, limits_.max_threads);
}

SuperSchedule ScheduleSpace::sample_stratified(Random& random, Stratum stratum) const {
  if (stratum == Stratum::kUniform) return sample_uniform(random);
  const FormatSchedule format = StratumFormats(*this, random).draw(stratum);
  const std::optional<SuperSchedule> point = repaired(Draw(*this, random).around(format));
  return point ? *point : sample_uniform(random);
}

}  // namespace waco::schedule
