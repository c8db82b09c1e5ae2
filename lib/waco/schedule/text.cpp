// Printing the text form of a point. Grammar: docs/superschedule.md.
#include <fmt/format.h>

#include <cctype>

#include "waco/schedule/super_schedule.hpp"

namespace waco::schedule {
namespace {

std::string parallel_text(const SuperSchedule& point) {
  const ComputeSchedule& compute = point.compute;
  if (compute.parallel < 0) return "serial";
  const std::string name = var_name(point, compute.loops[static_cast<size_t>(compute.parallel)]);
  switch (compute.policy) {
    case Policy::kDynamic:
      return fmt::format("{} dynamic,{} x{}", name, compute.chunk, compute.threads);
    case Policy::kStatic:
      return fmt::format("{} static x{}", name, compute.threads);
    case Policy::kBalanced:
      return fmt::format("{} balanced x{}", name, compute.threads);
  }
  return "serial";
}

}  // namespace

std::string to_text(const FormatSchedule& format, Op op) {
  std::string text;
  std::string brackets;
  for (const Level& level : format.levels) {
    const bool divided = format.split[static_cast<size_t>(level.var.index)] > 1;
    text += fmt::format("{}{}:{}", text.empty() ? "" : " ", var_name(op, level.var, divided),
                        kind_letter(level.kind));
  }
  for (int mode = 0; mode < sparse_order(op); ++mode) {
    const int32_t split = format.split[static_cast<size_t>(mode)];
    if (split > 1)
      brackets += fmt::format("{}{}/{}", brackets.empty() ? "" : " ", index_name(op, mode), split);
  }
  if (format.arrangement != Arrangement::kGiven)
    brackets += fmt::format("{}{}", brackets.empty() ? "" : " ", name(format.arrangement));
  if (format.cluster_window > 0) brackets += fmt::format(":{}", format.cluster_window);
  if (format.sort_window > 1)
    brackets += fmt::format("{}sort:{}", brackets.empty() ? "" : " ", format.sort_window);
  return brackets.empty() ? text : fmt::format("{} [{}]", text, brackets);
}

std::string to_text(const SuperSchedule& point) {
  const Op op = point.problem.op;
  const ComputeSchedule& compute = point.compute;
  std::string text = fmt::format("{} | A: {} | loop:", to_text(point.problem), to_text(point.format, op));
  for (const Var var : compute.loops) text += fmt::format(" {}", var_name(point, var));
  if (compute.dense_tile > 0)
    text += fmt::format(" [{}/{}]", index_name(op, sparse_order(op)), compute.dense_tile);
  text += fmt::format(" | par: {}", parallel_text(point));
  std::string extras;
  if (compute.unroll != 1) extras += fmt::format(" unroll {}", compute.unroll);
  if (compute.prefetch != 0) extras += fmt::format(" prefetch {}", compute.prefetch);
  if (compute.stream) extras += " stream";
  return extras.empty() ? text : fmt::format("{} |{}", text, extras);
}

}  // namespace waco::schedule
