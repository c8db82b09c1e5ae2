// Positions of levels and executions of loops.
#include "waco/model/work_counts.hpp"

#include <algorithm>
#include <cmath>

#include "waco/schedule/storage_size.hpp"

namespace waco::model {

using schedule::FormatSchedule;
using schedule::LevelKind;
using schedule::Loop;
using schedule::LoopKind;
using schedule::SuperSchedule;

namespace {

std::string key_of(const FormatSchedule& format) {
  std::string key;
  for (const int32_t split : format.split) key += std::to_string(split) + '/';
  for (const auto& level : format.levels) {
    key += static_cast<char>('a' + level.var.index * 2 + (level.var.inner ? 1 : 0));
    key += static_cast<char>('0' + static_cast<int>(level.kind));
  }
  return key + std::to_string(format.sort_window) + (format.permutes_rows() ? "p" : "");
}

double crd_bytes(double extent) {
  return schedule::coordinate_bytes(static_cast<int64_t>(std::min(extent, 0x1p62)));
}

double parent_positions(const FormatCounts& format, int level) {
  return level > 0 ? format.positions[level - 1] : 1;
}

}  // namespace

FormatCounts WorkCounter::compute(const FormatSchedule& format) const {
  const auto groups = schedule::level_groups(format);
  const int num_levels = static_cast<int>(format.levels.size());
  FormatCounts counts;
  counts.positions.resize(num_levels);
  for (int l = 0; l < num_levels; l++) {
    const auto& level = format.levels[l];
    const double extent = static_cast<double>(schedule::extent(format, level.var, profile_.dims().data()));
    int group_end = l + 1;
    while (group_end < num_levels && groups[group_end] == groups[l]) group_end++;
    double& positions = counts.positions[l];
    if (level.kind == LevelKind::kUncompressed) {
      positions = parent_positions(counts, l) * extent;
      continue;
    }
    if (level.kind == LevelKind::kSingleton) {
      positions = counts.positions[l - 1];
    } else if (is_lane_kind(level.kind)) {
      const auto& slots = profile_.lane_slots(format.split[0], format.sort_window);
      // Slots hold coordinates at the granules of their variables: fewer than nonzeros when those are blocks.
      const double share = profile_.distinct(schedule::cells_of_prefix(format, group_end)) /
                           std::max(1.0, profile_.num_nonzeros());
      positions = (level.kind == LevelKind::kEll ? slots.fixed : slots.sliced) * share;
      counts.index_bytes += level.kind == LevelKind::kSliced ? 4 * slots.slices : 0;
    } else {
      positions = profile_.distinct(schedule::cells_of_prefix(format, group_end));
      counts.index_bytes += 4 * (parent_positions(counts, l) + 1);
    }
    counts.index_bytes += positions * crd_bytes(extent);
  }
  counts.stored_values = counts.positions.back();
  if (format.permutes_rows()) counts.index_bytes += 4.0 * static_cast<double>(profile_.dims()[0]);
  return counts;
}

const FormatCounts& WorkCounter::format_counts(const SuperSchedule& point) {
  const auto [entry, is_new] = formats_.try_emplace(key_of(point.format));
  if (is_new) entry->second = compute(point.format);
  return entry->second;
}

WorkCounts WorkCounter::count(const SuperSchedule& point, const schedule::LoopNest& nest,
                              const FormatCounts& format) const {
  WorkCounts work;
  const auto& levels = point.format.levels;
  const auto extent_of = [&](schedule::Var var) {
    return static_cast<double>(schedule::extent(point.format, var, profile_.dims().data()));
  };
  double running = 1;
  for (int l = 0; l < static_cast<int>(nest.loops.size()); l++) {
    const Loop& loop = nest.loops[l];
    if (l >= nest.num_runtime) {
      if (loop.kind != LoopKind::kDenseTile) work.unrolled *= extent_of(loop.vars[0]);
      continue;
    }
    LoopCount count{running, 0, 0, 0};
    const int level = loop.level;
    switch (loop.kind) {
      case LoopKind::kDenseOuter:
        work.dense_tiles =
            std::ceil(static_cast<double>(point.problem.rhs) / std::max(1, point.compute.dense_tile));
        running *= work.dense_tiles;
        break;
      case LoopKind::kDenseTile:
        break;
      case LoopKind::kUncompressed:
      case LoopKind::kLanes:
      case LoopKind::kExtent:
        running *= extent_of(loop.vars[0]);
        break;
      case LoopKind::kCompressed:
        running *= format.positions[level] / std::max(1.0, parent_positions(format, level));
        break;
      case LoopKind::kSlots:
        // Positions of a lane; the slots of all lanes together are as many, the lane loop coming inside.
        running *= format.positions[level] / std::max(1.0, parent_positions(format, level));
        break;
    }
    for (const int first : loop.located) {
      const LevelKind kind = levels[first].kind;
      if (kind == LevelKind::kUncompressed) continue;
      int last = first;
      double coordinates = extent_of(levels[first].var);
      while (last + 1 < static_cast<int>(levels.size()) && levels[last + 1].kind == LevelKind::kSingleton)
        coordinates *= extent_of(levels[++last].var);
      const double parents = std::max(1.0, parent_positions(format, first));
      const double segment = std::max(1.0, format.positions[first] / parents);
      count.searched += running;
      count.search_steps = is_lane_kind(kind) ? segment / 2 : std::log2(segment) + 1;
      running *= std::min(1.0, segment / coordinates);
    }
    count.iterations = running;
    work.loops.push_back(count);
  }
  work.bodies = running;
  return work;
}

}  // namespace waco::model
