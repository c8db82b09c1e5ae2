// The moves of a local search: every point one change away.
#include <algorithm>

#include "waco/schedule/building.hpp"
#include "waco/schedule/legal_choices.hpp"
#include "waco/schedule/space.hpp"

namespace waco::schedule {
namespace {

/// The values beside `value` in an ascending list, nearest first.
template <typename Choices, typename Value>
std::vector<Value> beside(const Choices& choices, Value value) {
  std::vector<Value> result;
  const auto at = std::lower_bound(choices.begin(), choices.end(), value);
  if (at != choices.begin()) result.push_back(*std::prev(at));
  const auto above = at != choices.end() && *at == value ? std::next(at) : at;
  if (above != choices.end()) result.push_back(*above);
  return result;
}

/// Collects distinct repaired points that differ from where the moves start.
class Moves {
 public:
  Moves(const ScheduleSpace& space, const SuperSchedule& from) : space_(space), from_(from) {}

  std::vector<SuperSchedule> all() {
    splits();
    kinds();
    level_swaps();
    loop_swaps();
    tiles();
    parallel_loops();
    policies();
    threads();
    extras();
    sort_windows();
    return std::move(found_);
  }

 private:
  void add(SuperSchedule point) {
    const std::optional<SuperSchedule> legal = space_.repaired(std::move(point));
    if (!legal || *legal == from_) return;
    if (std::find(found_.begin(), found_.end(), *legal) == found_.end()) found_.push_back(*legal);
  }

  template <typename Edit>
  void change(Edit edit) {
    SuperSchedule point = from_;
    edit(point);
    add(std::move(point));
  }

  /// Runs `edit` with the parallel loop kept on its variable while loops move.
  template <typename Edit>
  void change_loops(Edit edit) {
    change([&](SuperSchedule& point) {
      const std::optional<Var> parallel = parallel_var(point.compute);
      edit(point);
      set_parallel_var(point.compute, parallel);
    });
  }

  void splits() {
    for (int8_t mode = 0; mode < sparse_order(space_.problem().op); ++mode) {
      const std::vector<int32_t>& choices = space_.splits(mode);
      const int32_t split = from_.format.split[static_cast<size_t>(mode)];
      if (split == 1) {
        for (const int32_t wanted : {2, 3, 4, 6, 8, 16, 256, 4096})
          if (std::binary_search(choices.begin(), choices.end(), wanted)) introduce_split(mode, wanted);
        continue;
      }
      std::vector<int32_t> wanted = beside(choices, split);
      wanted.push_back(1);
      for (const int32_t scaled : {split * 2, split / 2})
        if (std::binary_search(choices.begin(), choices.end(), scaled)) wanted.push_back(scaled);
      for (const int32_t s : wanted) change([&](SuperSchedule& point) { resplit(point.format, mode, s); });
    }
  }

  static void resplit(FormatSchedule& format, int8_t mode, int32_t split) {
    format.split[static_cast<size_t>(mode)] = split;
    if (mode != 0 || format.sort_window == 1) return;
    format.sort_window = (format.sort_window + split - 1) / split * split;
  }

  /// Small blocks become dense innermost; every size may also cut the index in place, its inner level below
  /// its outer.
  void introduce_split(int8_t mode, int32_t split) {
    const Var outer{mode, false};
    const Var inner{mode, true};
    if (split <= 16)
      change_loops([&](SuperSchedule& point) {
        point.format.split[static_cast<size_t>(mode)] = split;
        point.format.levels.push_back({inner, LevelKind::kUncompressed});
        point.compute.loops.insert(end_of_sparse(point.compute.loops), inner);
      });
    change_loops([&](SuperSchedule& point) {
      point.format.split[static_cast<size_t>(mode)] = split;
      std::vector<Level>& levels = point.format.levels;
      const auto level =
          std::find_if(levels.begin(), levels.end(), [&](const Level& l) { return l.var == outer; });
      const LevelKind kind = level->kind;
      levels.insert(std::next(level), {inner, kind});
      std::vector<Var>& loops = point.compute.loops;
      loops.insert(std::next(std::find(loops.begin(), loops.end(), outer)), inner);
    });
    const bool outermost = from_.format.levels[0].var == outer;
    if (split < 256 || outermost) return;
    change_loops([&](SuperSchedule& point) {  // column blocks: the outer part leads
      point.format.split[static_cast<size_t>(mode)] = split;
      for (Level& level : point.format.levels)
        if (level.var == outer) level.var = inner;
      point.format.levels.insert(point.format.levels.begin(), {outer, LevelKind::kUncompressed});
      std::replace(point.compute.loops.begin(), point.compute.loops.end(), outer, inner);
      point.compute.loops.insert(point.compute.loops.begin(), outer);
    });
  }

  std::vector<Var>::iterator end_of_sparse(std::vector<Var>& loops) const {
    const int order = sparse_order(space_.problem().op);
    const auto last =
        std::find_if(loops.rbegin(), loops.rend(), [order](Var var) { return var.index < order; });
    return last.base();
  }

  void kinds() {
    for (size_t l = 0; l < from_.format.levels.size(); ++l)
      for (const LevelKind kind : {LevelKind::kUncompressed, LevelKind::kCompressed, LevelKind::kSingleton,
                                   LevelKind::kEll, LevelKind::kSliced})
        change([&](SuperSchedule& point) { point.format.levels[l].kind = kind; });
  }

  /// Two adjacent levels change places, with and without the loops following.
  void level_swaps() {
    for (size_t l = 0; l + 1 < from_.format.levels.size(); ++l) {
      change([&](SuperSchedule& point) { std::swap(point.format.levels[l], point.format.levels[l + 1]); });
      change([&](SuperSchedule& point) {  // the kinds stay where they are
        std::swap(point.format.levels[l].var, point.format.levels[l + 1].var);
        follow_levels(point);
      });
    }
    change([&](SuperSchedule& point) { follow_levels(point); });
  }

  void follow_levels(SuperSchedule& point) {
    const std::optional<Var> parallel = parallel_var(point.compute);
    const size_t outer_at = dense_outer_position();
    point.compute.loops = concordant_loops(point.format);
    set_dense_tile(point, point.compute.dense_tile, outer_at);
    set_parallel_var(point.compute, parallel);
  }

  size_t dense_outer_position() const {
    const std::vector<Var>& loops = from_.compute.loops;
    const Var dense{static_cast<int8_t>(sparse_order(space_.problem().op)), false};
    return static_cast<size_t>(std::find(loops.begin(), loops.end(), dense) - loops.begin());
  }

  void loop_swaps() {
    const size_t num_loops = from_.compute.loops.size() - (has_dense_index(space_.problem().op) ? 1 : 0);
    for (size_t l = 0; l + 1 < num_loops; ++l)
      change_loops(
          [&](SuperSchedule& point) { std::swap(point.compute.loops[l], point.compute.loops[l + 1]); });
  }

  void tiles() {
    if (from_.compute.dense_tile > 0) {
      for (const int32_t tile : beside(space_.tiles(), from_.compute.dense_tile))
        change([&](SuperSchedule& point) { set_dense_tile(point, tile, dense_outer_position()); });
      change([&](SuperSchedule& point) { set_dense_tile(point, 0, 0); });
      return;
    }
    for (const int32_t tile : space_.tiles())
      for (const size_t outer_at : {size_t{0}, size_t{1}, from_.format.levels.size() - 1})
        if (tile > 0) change([&](SuperSchedule& point) { set_dense_tile(point, tile, outer_at); });
  }

  void parallel_loops() {
    for (size_t l = 0; l < from_.compute.loops.size(); ++l)
      change([&](SuperSchedule& point) {
        if (point.compute.parallel < 0) point.compute.threads = space_.limits().max_threads;
        point.compute.parallel = static_cast<int32_t>(l);
      });
    change([](SuperSchedule& point) { point.compute.parallel = -1; });
  }

  void policies() {
    if (from_.compute.parallel < 0) return;
    for (const Policy policy : {Policy::kStatic, Policy::kBalanced})
      change([&](SuperSchedule& point) { point.compute.policy = policy; });
    const bool dynamic = from_.compute.policy == Policy::kDynamic;
    std::vector<int32_t> chunks{8, 32, 128};
    if (dynamic) chunks = beside(kChunks, from_.compute.chunk);
    for (const int32_t chunk : chunks)
      change([&](SuperSchedule& point) {
        point.compute.policy = Policy::kDynamic;
        point.compute.chunk = chunk;
      });
  }

  void threads() {
    if (from_.compute.parallel < 0) return;
    const int32_t now = from_.compute.threads;
    for (const int32_t threads : {now - 1, now + 1, now / 2, now * 2, space_.limits().max_threads})
      change([&](SuperSchedule& point) { point.compute.threads = threads; });
  }

  void extras() {
    for (const int32_t unroll : beside(kUnrolls, from_.compute.unroll))
      change([&](SuperSchedule& point) { point.compute.unroll = unroll; });
    for (const int32_t prefetch : beside(kPrefetches, from_.compute.prefetch))
      change([&](SuperSchedule& point) { point.compute.prefetch = prefetch; });
    for (const int32_t prefetch : {0, 4, 16})
      change([&](SuperSchedule& point) { point.compute.prefetch = prefetch; });
    change([&](SuperSchedule& point) { point.compute.stream = !point.compute.stream; });
  }

  void sort_windows() {
    const int64_t window = from_.format.sort_window;
    const int64_t slice = from_.format.split[0];
    std::vector<int64_t> windows{1, slice * 8, slice * 128, space_.dims()[0]};
    if (window > 1) {
      windows.push_back(window * 4);
      windows.push_back(window / 4);
    }
    for (const int64_t wanted : windows)
      change([&](SuperSchedule& point) { point.format.sort_window = wanted; });
  }

  const ScheduleSpace& space_;
  const SuperSchedule& from_;
  std::vector<SuperSchedule> found_;
};

}  // namespace

std::vector<SuperSchedule> ScheduleSpace::neighbours(const SuperSchedule& point) const {
  return Moves(*this, point).all();
}

}  // namespace waco::schedule
