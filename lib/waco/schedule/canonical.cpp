// Canonical form: equal programs become equal values.
#include <algorithm>

#include "waco/base/error.hpp"
#include "waco/schedule/loop_nest.hpp"
#include "waco/schedule/trivial_parts.hpp"

namespace waco::schedule {
namespace {

/// Whether an input of the op (not its result) is addressed by one of these variables, without a look-up of
/// its row in between.
bool reads_dense_operand(const SuperSchedule& point, const std::vector<Var>& vars) {
  const Op op = point.problem.op;
  return std::any_of(vars.begin(), vars.end(), [&](Var var) {
    if (var.index >= sparse_order(op)) return false;
    return var.index != 0 || (op == Op::kSddmm && !point.format.clustered());
  });
}

/// Whether every row of a dense result is complete when it is first written: no reduction outside of it, or
/// in the same loop, as over tuples.
bool writes_rows_once(Op op, const LoopNest& nest) {
  if (!has_dense_index(op) || output_is_sparse(op)) return false;
  const auto is_output = [op](Var var) { return index_is_output(op, var.index); };
  const auto binds_output = [&](const Loop& loop) {
    return std::any_of(loop.vars.begin(), loop.vars.end(), is_output);
  };
  if (nest.parallel >= 0 && !binds_output(nest.loops[static_cast<size_t>(nest.parallel)])) return false;
  bool reduced = false;
  for (int l = 0; l < nest.num_runtime; ++l) {
    const Loop& loop = nest.loops[static_cast<size_t>(l)];
    reduced = reduced || !std::all_of(loop.vars.begin(), loop.vars.end(), is_output);
    if (reduced && binds_output(loop)) return false;
  }
  return true;
}

/// Whether rows of a dense result are whole numbers of the smallest vectors that go past the caches.
bool streams_whole_vectors(const Problem& problem) {
  constexpr int64_t kSmallestBytes = 16;
  return problem.rhs * value_bytes(problem.type) % kSmallestBytes == 0;
}

void make_serial(ComputeSchedule& compute) {
  compute.parallel = -1;
  compute.policy = Policy::kStatic;
  compute.chunk = 0;
  compute.threads = 1;
}

}  // namespace

SuperSchedule without_trivial_parts(const SuperSchedule& point) {
  SuperSchedule result = point;
  const auto trivial = [&](Var var) {
    return var.inner && var.index < sparse_order(point.problem.op) &&
           point.format.split[static_cast<size_t>(var.index)] == 1;
  };
  std::erase_if(result.format.levels, [&](const Level& level) { return trivial(level.var); });
  ComputeSchedule& compute = result.compute;
  compute.loops.clear();
  for (size_t l = 0; l < point.compute.loops.size(); ++l) {
    const bool is_parallel = point.compute.parallel == static_cast<int32_t>(l);
    if (is_parallel) compute.parallel = static_cast<int32_t>(compute.loops.size());
    if (!trivial(point.compute.loops[l])) {
      compute.loops.push_back(point.compute.loops[l]);
    } else if (is_parallel) {
      compute.parallel = -1;
    }
  }
  if (compute.parallel < 0 || compute.threads == 1) make_serial(compute);
  if (compute.policy != Policy::kDynamic) compute.chunk = 0;
  return result;
}

SuperSchedule canonical(const SuperSchedule& point) {
  SuperSchedule result = without_trivial_parts(point);
  ComputeSchedule& compute = result.compute;
  LoopNest nest = analyze(result);
  if (nest.parallel >= 0) {  // a fused tuple is named by its first variable
    int32_t first = 0;
    for (int l = 0; l < nest.parallel; ++l) first += static_cast<int32_t>(nest.loops[l].vars.size());
    compute.parallel = first;
  }
  if (!writes_rows_once(result.problem.op, nest) || !streams_whole_vectors(result.problem))
    compute.stream = false;
  keep_conditional_loops_at_run_time(result, nest);
  WACO_ASSERT(nest.innermost_sparse >= 0);
  const Loop& innermost = nest.loops[static_cast<size_t>(nest.innermost_sparse)];
  const bool walks_stored = innermost.kind == LoopKind::kCompressed || innermost.kind == LoopKind::kSlots;
  const bool gathers = gathers_vectors(result, nest);
  if (!gathers) compute.unroll = nonzeros_in_flight(result, nest);
  if (!walks_stored || result.format.skewed() || !reads_dense_operand(result, innermost.vars) || gathers)
    compute.prefetch = 0;
  return result;
}

SuperSchedule arranged(SuperSchedule point, Arrangement arrangement) {
  point.format.arrangement = arrangement;
  point.format.cluster_window = 0;
  return canonical(point);
}

SuperSchedule with_threads(SuperSchedule point, int threads) {
  if (point.compute.parallel < 0) return point;
  point.compute.threads = threads;
  return canonical(point);
}

SuperSchedule clustered(SuperSchedule point, int64_t window) {
  FormatSchedule& format = point.format;
  format.arrangement = Arrangement::kClustered;
  format.cluster_window = window;
  if (window > 0 && format.sort_window > window)
    format.sort_window = std::max<int64_t>(1, window / format.split[0]) * format.split[0];
  return canonical(point);
}

}  // namespace waco::schedule
