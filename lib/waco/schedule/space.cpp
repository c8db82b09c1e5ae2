// The choices of one problem and shape, and the repair that brings an edited point back among them.
#include "waco/schedule/space.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "waco/base/error.hpp"
#include "waco/schedule/building.hpp"
#include "waco/schedule/legal_choices.hpp"
#include "waco/schedule/row_windows.hpp"
#include "waco/schedule/trivial_parts.hpp"

namespace waco::schedule {
namespace {

Var& var_of(Var& var) {
  return var;
}
Var& var_of(Level& level) {
  return level.var;
}

/// Adds missing inner parts at the end and puts every outer part before its inner part.
template <typename Item>
void repair_order(std::vector<Item>& items, const FormatSchedule& format, int order) {
  for (int8_t mode = 0; mode < order; ++mode) {
    if (format.split[static_cast<size_t>(mode)] == 1) continue;
    const auto position = [&](bool inner) {
      return std::find_if(items.begin(), items.end(), [&](Item& item) {
        return var_of(item) == Var{mode, inner};
      });
    };
    if (position(true) == items.end()) {
      Item item{};
      var_of(item) = {mode, true};
      items.push_back(item);
    }
    const auto outer = position(false);
    const auto inner = position(true);
    if (outer != items.end() && inner < outer) std::swap(var_of(*inner), var_of(*outer));
  }
}

void repair_kinds(FormatSchedule& format) {
  std::vector<Level>& levels = format.levels;
  bool sliced = false;
  bool all_uncompressed = true;
  for (size_t l = 0; l < levels.size(); ++l) {
    Level& level = levels[l];
    const bool slices_above = l == 2 && levels[0] == Level{{0, false}, LevelKind::kUncompressed} &&
                              levels[1] == Level{{0, true}, LevelKind::kUncompressed};
    if (sliced) {
      const bool dense_block = level.kind == LevelKind::kUncompressed && level.var.inner;
      if (!dense_block) level.kind = LevelKind::kSingleton;
    } else if (is_lane_kind(level.kind)) {
      sliced = slices_above;
      if (!slices_above) level.kind = LevelKind::kCompressed;
    }
    const bool no_tuple_above = l == 0 || levels[l - 1].kind == LevelKind::kUncompressed;
    if (level.kind == LevelKind::kSingleton && no_tuple_above)
      level.kind = sliced && level.var.inner ? LevelKind::kUncompressed : LevelKind::kCompressed;
    all_uncompressed = all_uncompressed && level.kind == LevelKind::kUncompressed;
  }
  if (all_uncompressed && !levels.empty()) levels.back().kind = LevelKind::kCompressed;
  if (!sliced) format.sort_window = 1;
}

int64_t round_up(int64_t rows, int64_t slice) {
  return (rows + slice - 1) / slice * slice;
}

void repair_compute(SuperSchedule& point, const SpaceLimits& limits) {
  ComputeSchedule& compute = point.compute;
  compute.threads = std::clamp(compute.threads, 1, std::min<int32_t>(limits.max_threads, kMaxThreads));
  if (compute.parallel >= 0 && has_dense_index(point.problem.op) &&
      compute.parallel + 1 == static_cast<int32_t>(compute.loops.size()))
    compute.parallel = -1;
  if (compute.policy == Policy::kDynamic && compute.chunk < 1) compute.chunk = csr_chunk(point.problem.op);
  if (compute.policy == Policy::kBalanced && illegal_reason(point)) compute.policy = Policy::kStatic;
}

/// The format of fixed_csr with the loops that are left of the point's.
void take_csr_format(SuperSchedule& point) {
  const FormatSchedule csr = csr_point(point.problem, 1).format;
  point.format.split = csr.split;
  point = without_trivial_parts(point);
  point.format = csr;
}

}  // namespace

std::string_view name(Stratum stratum) {
  switch (stratum) {
    case Stratum::kUniform:
      return "uniform";
    case Stratum::kCsrLike:
      return "csr_like";
    case Stratum::kBlocked:
      return "blocked";
    case Stratum::kSliced:
      return "sliced";
    case Stratum::kSparseBlocks:
      return "sparse_blocks";
    case Stratum::kCoo:
      return "coo";
  }
  return "";
}

ScheduleSpace::ScheduleSpace(const Problem& problem, std::vector<int64_t> dims, const SpaceLimits& limits)
    : problem_(problem), dims_(std::move(dims)), limits_(limits) {
  if (static_cast<int>(dims_.size()) != sparse_order(problem.op))
    throw UsageError(fmt::format("{} needs a sparse operand of {} dimensions, this one has {}",
                                 name(problem.op), sparse_order(problem.op), dims_.size()));
  if (problem.rhs < 1 || (problem.op == Op::kSpmv && problem.rhs != 1))
    throw UsageError(
        fmt::format("{} cannot run with a dense index of size {}", name(problem.op), problem.rhs));
  limits_.max_threads = std::max(limits_.max_threads, 1);
  for (const int64_t dim : dims_) {
    splits_.emplace_back();
    for (const int32_t split : kSplits)
      if (split == 1 || split < dim) splits_.back().push_back(split);
  }
  tiles_.push_back(0);
  for (const int32_t tile : kTiles)
    if (has_dense_index(problem.op) && tile < problem.rhs) tiles_.push_back(tile);
}

int64_t ScheduleSpace::largest_sort_window(int32_t slice) const {
  if (limits_.max_threads > 1 && rows_share_lines(problem_))
    return rows_of_thread(dims_[0], limits_.max_threads, slice);
  return round_up(dims_[0], slice);
}

void ScheduleSpace::repair_sort(FormatSchedule& format) const {
  if (format.sort_window <= 1) {
    format.sort_window = 1;
    return;
  }
  const int32_t slice = format.split[0];
  const int64_t largest = largest_sort_window(slice);
  format.sort_window = largest < dims_[0] ? window_within(largest, format.sort_window, slice)
                                          : round_up(std::min(format.sort_window, largest), slice);
}

std::optional<SuperSchedule> ScheduleSpace::repaired(SuperSchedule point) const {
  const int order = sparse_order(problem_.op);
  const std::optional<Var> parallel = parallel_var(point.compute);
  for (int mode = 0; mode < order; ++mode) {
    int32_t& split = point.format.split[static_cast<size_t>(mode)];
    if (split >= dims_[static_cast<size_t>(mode)]) split = 1;
  }
  if (limits_.subspace == Subspace::kSchedule) take_csr_format(point);
  point = without_trivial_parts(point);
  repair_order(point.format.levels, point.format, order);
  repair_kinds(point.format);
  repair_sort(point.format);

  const auto is_dense = [order](Var var) { return var.index >= order; };
  std::vector<Var>& loops = point.compute.loops;
  const auto outer_at =
      static_cast<size_t>(std::find_if(loops.begin(), loops.end(), is_dense) - loops.begin());
  std::erase_if(loops, is_dense);
  repair_order(loops, point.format, order);
  const bool has_tile = std::find(tiles_.begin(), tiles_.end(), point.compute.dense_tile) != tiles_.end();
  set_dense_tile(point, has_tile ? point.compute.dense_tile : 0, outer_at);
  set_parallel_var(point.compute, point.compute.threads > 1 ? parallel : std::nullopt);
  repair_compute(point, limits_);
  if (limits_.subspace == Subspace::kFormat)
    return default_point(problem_, point.format, limits_.max_threads);
  if (illegal_reason(point)) return std::nullopt;
  return canonical(point);
}

}  // namespace waco::schedule
