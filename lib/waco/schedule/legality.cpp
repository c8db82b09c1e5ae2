// Legality: the numbered rules of docs/superschedule.md, each with the reason it gives.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "waco/schedule/legal_choices.hpp"
#include "waco/schedule/loop_nest.hpp"
#include "waco/schedule/trivial_parts.hpp"

namespace waco::schedule {
namespace {

using Reason = std::optional<std::string>;

template <typename Choices>
bool is_one_of(const Choices& choices, int32_t value) {
  return std::find(choices.begin(), choices.end(), value) != choices.end();
}

/// What every later check relies on: variables, splits and positions in range.
Reason check_ranges(const SuperSchedule& point) {
  const Op op = point.problem.op;
  const int order = sparse_order(op);
  if (point.problem.rhs < 1 || point.problem.rhs > kMaxRhs)
    return fmt::format("the size of the dense index must be 1..{}", kMaxRhs);
  if (op == Op::kSpmv && point.problem.rhs != 1) return "spmv has no dense index";
  for (int mode = 0; mode < 3; ++mode) {
    const int32_t split = point.format.split[static_cast<size_t>(mode)];
    if (mode >= order && split != 1) return fmt::format("{} has no index {} to split", name(op), mode);
    if (mode < order && !is_one_of(kSplits, split))
      return fmt::format("split {}/{}: splits are 1..16 or a power of two up to 32768", index_name(op, mode),
                         split);
  }
  for (const Level& level : point.format.levels)
    if (level.var.index < 0 || level.var.index >= order)
      return "a level's index is not one of the sparse operand's";
  const int num_indices = order + (has_dense_index(op) ? 1 : 0);
  for (const Var var : point.compute.loops)
    if (var.index < 0 || var.index >= num_indices)
      return fmt::format("a loop's index is not one of {}'s", name(op));
  if (point.compute.parallel < -1 ||
      point.compute.parallel >= static_cast<int32_t>(point.compute.loops.size()))
    return "the parallel loop is not one of the loops";
  if (point.compute.threads < 1 || point.compute.threads > kMaxThreads)
    return fmt::format("x{}: threads are 1..{}", point.compute.threads, kMaxThreads);
  return std::nullopt;
}

/// Every part of the sparse indices exactly once in `vars`, outer before inner; dense variables are passed
/// over.
Reason check_parts(const SuperSchedule& point, const std::vector<Var>& vars, std::string_view where) {
  const int order = sparse_order(point.problem.op);
  for (int8_t mode = 0; mode < order; ++mode) {
    const Var outer{mode, false};
    const Var inner{mode, true};
    const bool divided = point.format.split[static_cast<size_t>(mode)] > 1;
    const auto count_outer = std::count(vars.begin(), vars.end(), outer);
    const auto count_inner = std::count(vars.begin(), vars.end(), inner);
    if (count_outer != 1)
      return fmt::format("{} must appear exactly once in the {}", var_name(point, outer), where);
    if (count_inner != (divided ? 1 : 0))
      return fmt::format("{} must appear exactly once in the {}", var_name(point, inner), where);
    if (divided && std::find(vars.begin(), vars.end(), inner) < std::find(vars.begin(), vars.end(), outer))
      return fmt::format("{} must come before {} in the {}", var_name(point, outer), var_name(point, inner),
                         where);
  }
  return std::nullopt;
}

Reason check_sliced(const SuperSchedule& point, int at) {
  const std::vector<Level>& levels = point.format.levels;
  const bool in_place = at == 2 && levels[0] == Level{{0, false}, LevelKind::kUncompressed} &&
                        levels[1] == Level{{0, true}, LevelKind::kUncompressed};
  const std::string level = var_name(point, levels[static_cast<size_t>(at)].var);
  if (!in_place)
    return fmt::format("{}: E and L come only third, after the two U levels of the split first index", level);
  for (size_t l = 3; l < levels.size(); ++l) {
    const bool inner_u = levels[l].kind == LevelKind::kUncompressed && levels[l].var.inner;
    if (levels[l].kind != LevelKind::kSingleton && !inner_u)
      return fmt::format("{}: after E or L come only S levels or U levels of inner parts",
                         var_name(point, levels[l].var));
  }
  return std::nullopt;
}

Reason check_sort(const SuperSchedule& point, bool has_lanes) {
  const int64_t window = point.format.sort_window;
  if (window == 1) return std::nullopt;
  if (window < 1) return fmt::format("sort:{}: the window must be at least 1", window);
  constexpr int64_t kMost = int64_t{1} << 40;
  if (window > kMost) return fmt::format("sort:{}: the window must be at most {}", window, kMost);
  if (!has_lanes) return fmt::format("sort:{}: only formats with an E or L level sort rows", window);
  if (window % point.format.split[0] != 0)
    return fmt::format("sort:{}: the window must be a multiple of the slice, {}", window,
                       point.format.split[0]);
  return std::nullopt;
}

/// Spmv over i1:U k:C i0:U, of so few rows that these are unrolled.
bool is_of_row_groups(const SuperSchedule& point) {
  const std::vector<Level> of_row_groups = {{{0, false}, LevelKind::kUncompressed},
                                            {{1, false}, LevelKind::kCompressed},
                                            {{0, true}, LevelKind::kUncompressed}};
  return point.problem.op == Op::kSpmv && point.format.levels == of_row_groups &&
         point.format.split[0] <= kMaxUnrolledSplit;
}

Reason check_levels(const SuperSchedule& point) {
  const std::vector<Level>& levels = point.format.levels;
  std::vector<Var> vars;
  for (const Level& level : levels) vars.push_back(level.var);
  if (Reason reason = check_parts(point, vars, "levels")) return reason;
  bool has_lanes = false;
  bool all_uncompressed = true;
  for (size_t l = 0; l < levels.size(); ++l) {
    all_uncompressed = all_uncompressed && levels[l].kind == LevelKind::kUncompressed;
    if (levels[l].kind == LevelKind::kSingleton && (l == 0 || levels[l - 1].kind == LevelKind::kUncompressed))
      return fmt::format("{}: S must follow a C, S, E or L level", var_name(point, levels[l].var));
    if (!is_lane_kind(levels[l].kind)) continue;
    has_lanes = true;
    if (Reason reason = check_sliced(point, static_cast<int>(l))) return reason;
  }
  if (all_uncompressed) return "at least one level must not be U";
  if (point.format.clustered() && sparse_order(point.problem.op) != 2)
    return "clustered: only rows of matrices are clustered";
  if (point.format.cluster_window < 0 || (point.format.cluster_window > 0 && !point.format.clustered()))
    return fmt::format("clustered:{}: the window must be at least 1, of clustered rows",
                       point.format.cluster_window);
  if (point.format.skewed() && !is_of_row_groups(point))
    return fmt::format(
        "skewed: only spmv over the levels i1:U k:C i0:U, with i split by {} at most, is skewed",
        kMaxUnrolledSplit);
  return check_sort(point, has_lanes);
}

Reason check_skewed_loops(const SuperSchedule& point) {
  if (!point.format.skewed()) return std::nullopt;
  const std::vector<Var> in_level_order{{0, false}, {1, false}, {0, true}};
  if (point.compute.loops != in_level_order || point.compute.parallel > 0)
    return "skewed: the loops are i1 k i0, of which i1 may be parallel";
  return std::nullopt;
}

Reason check_dense_loops(const SuperSchedule& point) {
  const Op op = point.problem.op;
  const ComputeSchedule& compute = point.compute;
  if (!has_dense_index(op)) return compute.dense_tile == 0 ? Reason{} : "spmv has no dense index to tile";
  const auto dense = static_cast<int8_t>(sparse_order(op));
  const bool tiled = compute.dense_tile != 0;
  if (tiled && !is_one_of(kTiles, compute.dense_tile))
    return fmt::format("tile {}/{}: tiles are {}", index_name(op, dense), compute.dense_tile,
                       fmt::join(kTiles, ", "));
  if (tiled && compute.dense_tile >= point.problem.rhs)
    return fmt::format("tile {0}/{1}: must be smaller than the size of {0}, {2}", index_name(op, dense),
                       compute.dense_tile, point.problem.rhs);
  const auto count = [&](bool inner) {
    return std::count(compute.loops.begin(), compute.loops.end(), Var{dense, inner});
  };
  if (count(false) != 1 || count(true) != (tiled ? 1 : 0))
    return tiled ? fmt::format("{0}1 and {0}0 must each appear exactly once in the loops",
                               index_name(op, dense))
                 : fmt::format("{} must appear exactly once in the loops", index_name(op, dense));
  if (!(compute.loops.back() == Var{dense, tiled}))
    return fmt::format("{} must be the last loop", var_name(point, {dense, tiled}));
  return std::nullopt;
}

Reason check_parallel(const SuperSchedule& point) {
  const ComputeSchedule& compute = point.compute;
  if (compute.parallel < 0) return std::nullopt;
  const LoopNest nest = analyze(point);
  const Loop& loop = nest.loops[static_cast<size_t>(nest.parallel)];
  const std::string var = var_name(point, compute.loops[static_cast<size_t>(compute.parallel)]);
  if (loop.kind == LoopKind::kDenseTile)
    return fmt::format("{}: the dense index's innermost loop is not parallel", var);
  if (compute.policy == Policy::kDynamic && !is_one_of(kChunks, compute.chunk))
    return fmt::format("dynamic,{}: chunks are powers of two, 1..4096", compute.chunk);
  if (compute.policy != Policy::kBalanced) return std::nullopt;
  if (loop.level != 0) return fmt::format("{}: balanced needs a loop that walks the first level", var);
  for (int outside = 0; outside < nest.parallel; ++outside)
    if (nest.loops[static_cast<size_t>(outside)].kind != LoopKind::kDenseOuter)
      return fmt::format("{}: balanced allows only the dense outer loop outside it", var);
  return std::nullopt;
}

}  // namespace

std::optional<std::string> illegal_reason(const SuperSchedule& point) {
  if (Reason reason = check_ranges(point)) return reason;
  const SuperSchedule trimmed = without_trivial_parts(point);
  if (Reason reason = check_levels(trimmed)) return reason;
  if (Reason reason = check_parts(trimmed, trimmed.compute.loops, "loops")) return reason;
  if (Reason reason = check_dense_loops(trimmed)) return reason;
  const ComputeSchedule& compute = trimmed.compute;
  if (!is_one_of(kUnrolls, compute.unroll)) return fmt::format("unroll {}: 1, 2, 4, 8 or 16", compute.unroll);
  if (!is_one_of(kPrefetches, compute.prefetch))
    return fmt::format("prefetch {}: 0, 1, 2, 4, 8, 16 or 32", compute.prefetch);
  if (Reason reason = check_skewed_loops(trimmed)) return reason;
  return check_parallel(trimmed);
}

}  // namespace waco::schedule
