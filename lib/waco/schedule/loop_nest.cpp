// Classifies the loops of a point: concordant walks, tuples, lanes, discordant extents and what they locate.
#include "waco/schedule/loop_nest.hpp"

#include <algorithm>

#include "waco/base/error.hpp"
#include "waco/schedule/saturating.hpp"

namespace waco::schedule {
namespace {

/// Walks the loops from the outside and keeps which levels are resolved so far.
class Walk {
 public:
  explicit Walk(const SuperSchedule& point)
      : point_(point),
        levels_(point.format.levels),
        vars_(point.compute.loops),
        order_(sparse_order(point.problem.op)),
        bound_(levels_.size(), false) {}

  std::vector<Loop> loops() {
    std::vector<Loop> result;
    for (size_t at = 0; at < vars_.size();) {
      Loop loop = next_loop(at);
      const size_t end = at + loop.vars.size();
      const auto parallel = static_cast<size_t>(point_.compute.parallel);
      loop.parallel = point_.compute.parallel >= 0 && parallel >= at && parallel < end;
      result.push_back(std::move(loop));
      at = end;
    }
    return result;
  }

 private:
  int num_levels() const { return static_cast<int>(levels_.size()); }

  int group_end(int first) const {
    int end = first + 1;
    while (end < num_levels() && levels_[end].kind == LevelKind::kSingleton) ++end;
    return end;
  }

  Loop next_loop(size_t at) {
    const Var var = vars_[at];
    Loop loop;
    if (var.index >= order_) {
      loop.kind = at + 1 == vars_.size() ? LoopKind::kDenseTile : LoopKind::kDenseOuter;
      loop.vars = {var};
      return loop;
    }
    if (walks_next_level(at)) {
      bind_concordant(loop);
    } else if (slots_of_all_lanes(at)) {
      loop.kind = LoopKind::kSlots;
      loop.level = 2;
      loop.vars = group_vars(2);
      lanes_pending_ = true;
    } else {
      loop.vars = {var};
      mark_bound(var);
    }
    locate(loop);
    return loop;
  }

  /// Whether the loops from `at` bind, adjacent and in level order, all variables of the group that starts at
  /// `level`.
  bool matches_group(size_t at, int level) const {
    const int end = group_end(level);
    for (int l = level; l < end; ++l, ++at)
      if (at >= vars_.size() || !(vars_[at] == levels_[l].var)) return false;
    return true;
  }

  bool walks_next_level(size_t at) const { return next_ < num_levels() && matches_group(at, next_); }

  /// Slices known, lanes not: the slot loop that runs outside its lane loop.
  bool slots_of_all_lanes(size_t at) const {
    return next_ == 1 && !lanes_pending_ && num_levels() > 2 && is_lane_kind(levels_[2].kind) && !bound_[1] &&
           matches_group(at, 2);
  }

  std::vector<Var> group_vars(int level) const {
    std::vector<Var> vars;
    for (int l = level; l < group_end(level); ++l) vars.push_back(levels_[l].var);
    return vars;
  }

  void bind_concordant(Loop& loop) {
    const int end = group_end(next_);
    const LevelKind kind = levels_[next_].kind;
    loop.level = next_;
    loop.vars = group_vars(next_);
    std::fill(bound_.begin() + next_, bound_.begin() + end, true);
    if (lanes_pending_ && next_ == 1) {
      loop.kind = LoopKind::kLanes;
      const int slots_end = group_end(2);
      std::fill(bound_.begin() + 2, bound_.begin() + slots_end, true);
      lanes_pending_ = false;
      next_ = slots_end;
      return;
    }
    loop.kind = kind == LevelKind::kUncompressed ? LoopKind::kUncompressed
                : is_lane_kind(kind)             ? LoopKind::kSlots
                                                 : LoopKind::kCompressed;
    next_ = end;
  }

  void mark_bound(Var var) {
    for (int l = 0; l < num_levels(); ++l)
      if (levels_[l].var == var) bound_[l] = true;
  }

  /// Levels below the walked ones whose variables are all known already are located now, outermost first.
  void locate(Loop& loop) {
    while (next_ < num_levels()) {
      const int end = group_end(next_);
      if (!std::all_of(bound_.begin() + next_, bound_.begin() + end, [](bool b) { return b; })) return;
      loop.located.push_back(next_);
      next_ = end;
    }
  }

  const SuperSchedule& point_;
  const std::vector<Level>& levels_;
  const std::vector<Var>& vars_;
  const int order_;
  std::vector<bool> bound_;     ///< per level: its variable has a value
  int next_ = 0;                ///< first level whose position is not known
  bool lanes_pending_ = false;  ///< a slot loop over all lanes runs, its lane loop is still to come
};

bool may_unroll(const Loop& loop, const FormatSchedule& format) {
  if (loop.parallel || loop.vars.size() != 1 || !loop.vars[0].inner) return false;
  if (loop.kind == LoopKind::kDenseOuter || loop.kind == LoopKind::kDenseTile) return false;
  if (format.split[static_cast<size_t>(loop.vars[0].index)] > kMaxUnrolledSplit) return false;
  return std::any_of(format.levels.begin(), format.levels.end(), [&](const Level& level) {
    return level.var == loop.vars[0] && level.kind == LevelKind::kUncompressed;
  });
}

/// Marks the unrolled suffix and returns the number of loops before it.
int mark_unrolled(std::vector<Loop>& loops, const FormatSchedule& format) {
  int first = static_cast<int>(loops.size());
  if (first > 0 && loops.back().kind == LoopKind::kDenseTile) --first;
  int64_t iterations = 1;
  while (first > 0 && may_unroll(loops[first - 1], format)) {
    iterations *= format.split[static_cast<size_t>(loops[first - 1].vars[0].index)];
    if (iterations > kMaxUnrolledIterations) break;
    loops[--first].unrolled = true;
  }
  return first;
}

}  // namespace

std::vector<int> level_groups(const FormatSchedule& format) {
  std::vector<int> groups(format.levels.size());
  for (size_t l = 0; l < groups.size(); ++l) {
    const bool joins = l > 0 && format.levels[l].kind == LevelKind::kSingleton;
    groups[l] = joins ? groups[l - 1] : static_cast<int>(l);
  }
  return groups;
}

std::array<int64_t, 3> arranged_dims(Arrangement arrangement, const std::array<int64_t, 3>& dims) {
  if (arrangement != Arrangement::kSkewed) return dims;
  const bool is_empty = dims[0] == 0 || dims[1] == 0;
  return {dims[0], is_empty ? 0 : saturating::sum(dims[0], dims[1] - 1), dims[2]};
}

int64_t extent(const FormatSchedule& format, Var var, const int64_t* dims) {
  const int64_t split = format.split[static_cast<size_t>(var.index)];
  if (var.inner) return split;
  return split == 1 ? dims[var.index] : dims[var.index] / split + (dims[var.index] % split != 0);
}

LoopNest analyze(const SuperSchedule& point) {
  LoopNest nest;
  nest.loops = Walk(point).loops();
  nest.num_runtime = mark_unrolled(nest.loops, point.format);
  const int order = sparse_order(point.problem.op);
  for (int l = 0; l < static_cast<int>(nest.loops.size()); ++l) {
    if (nest.loops[l].parallel) nest.parallel = l;
    if (l < nest.num_runtime && nest.loops[l].vars[0].index < order) nest.innermost_sparse = l;
  }
  return nest;
}

bool may_skip(const FormatSchedule& format, const Loop& loop) {
  return std::any_of(loop.located.begin(), loop.located.end(), [&](int level) {
    return format.levels[static_cast<size_t>(level)].kind != LevelKind::kUncompressed;
  });
}

void keep_conditional_loops_at_run_time(const SuperSchedule& point, LoopNest& nest) {
  const int order = sparse_order(point.problem.op);
  int end = static_cast<int>(nest.loops.size());
  const auto is_conditional = [&](int l) {
    return nest.loops[l].unrolled && may_skip(point.format, nest.loops[l]);
  };
  while (end > nest.num_runtime && !is_conditional(end - 1)) --end;
  for (int l = nest.num_runtime; l < end; ++l) {
    nest.loops[l].unrolled = false;
    if (nest.loops[l].vars[0].index < order) nest.innermost_sparse = l;
  }
  nest.num_runtime = end;
}

int unrolled_iterations(const FormatSchedule& format, const LoopNest& nest) {
  int product = 1;
  for (const Loop& loop : nest.loops)
    if (loop.unrolled) product *= format.split[static_cast<size_t>(loop.vars[0].index)];
  return product;
}

bool gathers_vectors(const SuperSchedule& point, const LoopNest& nest) {
  const Op op = point.problem.op;
  if (op != Op::kSpmv || point.compute.unroll < 4 || nest.num_runtime < std::ssize(nest.loops)) return false;
  const Loop& innermost = nest.loops.back();
  const int last = static_cast<int>(point.format.levels.size()) - 1;
  return innermost.kind == LoopKind::kCompressed && innermost.vars.size() == 1 && innermost.level == last &&
         !innermost.parallel && !index_is_output(op, innermost.vars[0].index);
}

bool may_take_several(const FormatSchedule& format, const LoopNest& nest) {
  if (nest.innermost_sparse < 0) return false;
  const auto innermost = nest.loops.begin() + nest.innermost_sparse;
  return innermost->kind == LoopKind::kCompressed && !innermost->parallel &&
         std::none_of(innermost, nest.loops.end(), [&](const Loop& loop) { return may_skip(format, loop); });
}

int nonzeros_in_flight(const SuperSchedule& point, const LoopNest& nest) {
  if (!may_take_several(point.format, nest)) return 1;
  const int iterations = unrolled_iterations(point.format, nest);
  int nonzeros = point.compute.unroll;
  while (nonzeros > 1 && nonzeros * iterations > kMaxUnrolledIterations) nonzeros /= 2;
  return nonzeros;
}

bool threads_share_outputs(const SuperSchedule& point, const LoopNest& nest) {
  if (nest.parallel < 0 || point.compute.threads == 1) return false;
  const Op op = point.problem.op;
  const Loop& loop = nest.loops[static_cast<size_t>(nest.parallel)];
  const auto is_output = [op](Var var) { return index_is_output(op, var.index); };
  if (output_is_sparse(op)) return loop.kind == LoopKind::kDenseOuter;
  if (loop.vars.size() == 1) return !is_output(loop.vars[0]);
  const bool keeps_rows = point.compute.policy == Policy::kBalanced && is_output(loop.vars[0]);
  return !keeps_rows && !std::all_of(loop.vars.begin(), loop.vars.end(), is_output);
}

}  // namespace waco::schedule
