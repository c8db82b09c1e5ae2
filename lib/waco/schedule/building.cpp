// Building points in code.
#include "waco/schedule/building.hpp"

#include <algorithm>
#include <bit>

#include "waco/base/error.hpp"

namespace waco::schedule {

FormatSchedule format_from_levels(std::string_view levels, const std::array<int32_t, 3>& split,
                                  int64_t sort_window) {
  FormatSchedule format;
  format.split = split;
  format.sort_window = sort_window;
  while (!levels.empty()) {
    const std::string_view word = levels.substr(0, levels.find(' '));
    levels.remove_prefix(std::min(levels.size(), word.size() + 1));
    const auto mode = static_cast<int8_t>(word[0] - 'a');
    WACO_ASSERT(mode >= 0 && mode < 3 && word.size() >= 3);
    const auto kind = parse_level_kind(word.back());
    WACO_ASSERT(kind);
    const bool inner = word[1] == '0';
    if (inner && split[static_cast<size_t>(mode)] == 1) continue;
    format.levels.push_back({{mode, inner}, *kind});
  }
  return format;
}

std::vector<Var> concordant_loops(const FormatSchedule& format) {
  std::vector<Var> loops;
  for (const Level& level : format.levels) loops.push_back(level.var);
  if (loops.size() > 2 && is_lane_kind(format.levels[2].kind)) {
    size_t slots_end = 3;
    while (slots_end < loops.size() && format.levels[slots_end].kind == LevelKind::kSingleton) ++slots_end;
    std::rotate(loops.begin() + 1, loops.begin() + 2, loops.begin() + static_cast<std::ptrdiff_t>(slots_end));
  }
  return loops;
}

SuperSchedule concordant_point(const Problem& problem, const FormatSchedule& format) {
  SuperSchedule point;
  point.problem = problem;
  point.format = format;
  point.compute.loops = concordant_loops(format);
  set_dense_tile(point, 0, 0);
  return point;
}

std::optional<SuperSchedule> default_point(const Problem& problem, const FormatSchedule& format,
                                           int threads) {
  const SuperSchedule csr = csr_point(problem, threads);
  SuperSchedule point = concordant_point(problem, format);
  ComputeSchedule& compute = point.compute;
  const auto writes_result = [&](Var var) {
    return var.index < sparse_order(problem.op) && mode_is_output(problem.op, var.index);
  };
  const auto loop = std::find_if(compute.loops.begin(), compute.loops.end(), writes_result);
  WACO_ASSERT(loop != compute.loops.end());
  compute.parallel = static_cast<int32_t>(loop - compute.loops.begin());
  compute.threads = threads;
  compute.policy = Policy::kDynamic;
  const int32_t rows = loop->inner ? 1 : format.split[static_cast<size_t>(loop->index)];
  const auto chunk = static_cast<uint32_t>(std::max(1, csr.compute.chunk / rows));
  compute.chunk = csr.compute.chunk > 0 ? static_cast<int32_t>(std::bit_floor(chunk)) : 0;
  const bool tuples = format.levels.size() > 1 && format.levels[0].kind == LevelKind::kCompressed &&
                      format.levels[1].kind == LevelKind::kSingleton;
  if (tuples && compute.parallel == 0) {
    compute.policy = Policy::kBalanced;
    compute.chunk = 0;
  }
  if (illegal_reason(point)) return std::nullopt;
  return canonical(point);
}

std::optional<Var> parallel_var(const ComputeSchedule& compute) {
  if (compute.parallel < 0 || compute.parallel >= static_cast<int32_t>(compute.loops.size()))
    return std::nullopt;
  return compute.loops[static_cast<size_t>(compute.parallel)];
}

void set_parallel_var(ComputeSchedule& compute, std::optional<Var> var) {
  compute.parallel = -1;
  if (!var) return;
  const auto loop = std::find(compute.loops.begin(), compute.loops.end(), *var);
  if (loop != compute.loops.end()) compute.parallel = static_cast<int32_t>(loop - compute.loops.begin());
}

void set_dense_tile(SuperSchedule& point, int32_t tile, size_t outer_at) {
  ComputeSchedule& compute = point.compute;
  if (!has_dense_index(point.problem.op)) {
    compute.dense_tile = 0;
    return;
  }
  const std::optional<Var> parallel = parallel_var(compute);
  const auto dense = static_cast<int8_t>(sparse_order(point.problem.op));
  std::erase_if(compute.loops, [dense](Var var) { return var.index == dense; });
  compute.dense_tile = tile;
  if (tile > 0) {
    const size_t at = std::min(outer_at, compute.loops.size());
    compute.loops.insert(compute.loops.begin() + static_cast<std::ptrdiff_t>(at), Var{dense, false});
  }
  compute.loops.push_back({dense, tile > 0});
  set_parallel_var(compute, parallel);
  if (parallel == Var{dense, false} && tile == 0) compute.parallel = -1;
}

}  // namespace waco::schedule
