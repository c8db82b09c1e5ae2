// Names for likeness.
#include "waco/schedule/kinship.hpp"

#include <array>
#include <bit>

#include "waco/schedule/loop_nest.hpp"

namespace waco::schedule {

namespace {

void append(std::string& text, Var var) {
  text += static_cast<char>('a' + var.index);
  text += var.inner ? '0' : '1';
}

/// Whether level `l` is the inner part of a split whose parts follow each other, so that the nonzeros are
/// stored in the order of the whole index: splits of tuples, and of uncompressed indices that are not slices.
bool splits_nothing(const FormatSchedule& format, size_t l) {
  const auto& levels = format.levels;
  if (l == 0 || !levels[l].var.inner || levels[l - 1].var.index != levels[l].var.index) return false;
  if (levels[l].kind == LevelKind::kSingleton || levels[l].kind == LevelKind::kCompressed) return true;
  const bool slices = l + 1 < levels.size() && is_lane_kind(levels[l + 1].kind);
  return levels[l].kind == LevelKind::kUncompressed && levels[l - 1].kind == LevelKind::kUncompressed &&
         !slices;
}

}  // namespace

FormatKind kind_of(const SuperSchedule& point) {
  const auto& levels = point.format.levels;
  bool whole = true, small_blocks = true, tuples = false;
  for (const auto& level : levels) {
    if (is_lane_kind(level.kind)) return FormatKind::kSlices;
    tuples = tuples || level.kind == LevelKind::kSingleton;
    if (point.format.split[level.var.index] == 1) continue;
    whole = false;
    small_blocks = small_blocks && point.format.split[level.var.index] <= kMaxUnrolledSplit &&
                   (!level.var.inner || level.kind == LevelKind::kUncompressed);
  }
  if (tuples) return FormatKind::kOther;
  if (whole)
    return mode_is_output(point.problem.op, levels[0].var.index) ? FormatKind::kRows : FormatKind::kOther;
  return small_blocks ? FormatKind::kBlocks : FormatKind::kOther;
}

Kinship kinship(const SuperSchedule& point) {
  Kinship kin;
  const auto& levels = point.format.levels;
  std::array<bool, 3> idle{};  // split without an effect on the order of storage
  for (size_t l = 0; l < levels.size(); l++) {
    if (splits_nothing(point.format, l)) idle[levels[l].var.index] = true;
  }
  for (const auto& level : levels) {
    if (idle[level.var.index] && level.var.inner) continue;
    append(kin.family, level.var);
    kin.family += static_cast<char>('0' + static_cast<int>(level.kind));
  }
  kin.format = kin.family;
  for (size_t m = 0; m < idle.size(); m++)
    kin.format += '/' + std::to_string(idle[m] ? 1 : point.format.split[m]);
  // Windows of about the same length sort alike.
  kin.format += " sort " + std::to_string(std::bit_width(static_cast<uint64_t>(point.format.sort_window)));
  kin.family += point.format.sort_window > 1 ? " sorted |" : " |";
  for (const Var var : point.compute.loops) {
    const bool skipped = var.inner && var.index < 3 && idle[var.index];
    if (!skipped) append(kin.family, var);
  }
  kin.structure = kin.format + " |";
  for (const Var var : point.compute.loops) append(kin.structure, var);
  kin.structure +=
      '/' + std::to_string(point.compute.dense_tile) + " u" + std::to_string(point.compute.unroll);
  return kin;
}

std::string threaded_family(const SuperSchedule& point) {
  const ComputeSchedule& compute = point.compute;
  std::string family = kinship(point).family + " | ";
  if (compute.parallel >= 0) append(family, compute.loops[static_cast<size_t>(compute.parallel)]);
  return family;
}

}  // namespace waco::schedule
