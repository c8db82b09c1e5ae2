// Chooses vectors, accumulators, zeroing and thread outputs of a kernel (see kernel_shape.hpp).
#include "waco/codegen/kernel_shape.hpp"

#include <algorithm>

#include "waco/base/error.hpp"

namespace waco::codegen {

using schedule::LevelKind;
using schedule::Loop;
using schedule::LoopKind;
using schedule::Op;
using schedule::Var;

namespace {

bool is_output(Op op, Var var) {
  return schedule::index_is_output(op, var.index);
}

bool binds_output(Op op, const Loop& loop) {
  return std::any_of(loop.vars.begin(), loop.vars.end(), [&](Var v) { return is_output(op, v); });
}

bool binds_reduction(Op op, const Loop& loop) {
  return std::any_of(loop.vars.begin(), loop.vars.end(), [&](Var v) { return !is_output(op, v); });
}

int largest_power_of_two_divisor(int value, int limit) {
  int result = 1;
  while (result * 2 <= limit && value % (result * 2) == 0) result *= 2;
  return result;
}

int next_power_of_two(int value) {
  int result = 1;
  while (result < value) result *= 2;
  return result;
}

int split_of(const KernelShape& shape, Var var) {
  return shape.point.format.split[static_cast<size_t>(var.index)];
}

/// Vectors along all of a dense block whose columns follow one another: fewer than those along its columns,
/// which small ones leave partly empty, but what they multiply has to be put in place. They have 32 bytes:
/// wider ones are emptier, too, and were no faster on Zen 4.
bool choose_block(KernelShape& shape, int target_lanes) {
  constexpr int kVectorBytes = 32;
  const auto& nest = shape.nest;
  const auto& levels = shape.point.format.levels;
  const Var column{1, true}, row{0, true};
  const size_t num_loops = nest.loops.size();
  if (static_cast<size_t>(nest.num_runtime) + 2 != num_loops || levels.size() < 2 ||
      nest.loops[num_loops - 2].vars[0] != column || levels[levels.size() - 2].var != column ||
      levels.back().var != row)
    return false;
  const int rows = split_of(shape, row), columns = split_of(shape, column);
  int lanes = std::min(target_lanes, kVectorBytes / schedule::value_bytes(shape.point.problem.type));
  while (lanes > rows * columns) lanes /= 2;
  const int vectors = (rows * columns + lanes - 1) / lanes;
  if (rows > lanes || columns > lanes || vectors >= columns * column_vectors(rows, target_lanes).count)
    return false;
  shape.axis = VectorAxis::kBlock;
  shape.lanes = lanes;
  shape.num_vectors = vectors;
  return true;
}

void choose_spmv_axis(KernelShape& shape, int target_lanes) {
  const auto& nest = shape.nest;
  const auto& levels = shape.point.format.levels;
  const Op op = shape.point.problem.op;
  const int num_loops = static_cast<int>(nest.loops.size());
  if (nest.num_runtime < num_loops) {
    const Loop& last = nest.loops.back();
    const Var var = last.vars[0];
    const int split = split_of(shape, var);
    const bool on_last_level = levels.back().var == var;
    if (last.kind == LoopKind::kLanes) {
      const int lanes = largest_power_of_two_divisor(split, target_lanes);
      const bool alone = nest.num_runtime == num_loops - 1 && levels.size() == 3;
      if (alone && lanes >= 2)
        shape.axis = VectorAxis::kLanes, shape.lanes = lanes, shape.num_vectors = split / lanes;
    } else if (on_last_level && is_output(op, var)) {
      if (choose_block(shape, target_lanes)) return;
      const ColumnVectors vectors = column_vectors(split, target_lanes);
      shape.axis = VectorAxis::kBlockOutput;
      shape.lanes = vectors.lanes;
      shape.num_vectors = vectors.count;
    } else if (on_last_level) {
      const int lanes = largest_power_of_two_divisor(split, target_lanes);
      if (lanes >= 2)
        shape.axis = VectorAxis::kBlockReduced, shape.lanes = lanes, shape.num_vectors = split / lanes;
    }
    return;
  }
  if (schedule::gathers_vectors(shape.point, nest)) {
    const int unroll = shape.point.compute.unroll;
    shape.axis = VectorAxis::kPositions;
    shape.lanes = std::min(unroll, target_lanes);
    shape.num_vectors = unroll / shape.lanes;
  }
}

void choose_dense_axis(KernelShape& shape, int target_lanes) {
  const auto& point = shape.point;
  const int tile = point.compute.dense_tile;
  shape.axis = VectorAxis::kDense;
  if (tile > 0) {
    shape.lanes = largest_power_of_two_divisor(tile, target_lanes);
    shape.num_vectors = tile / shape.lanes;
  } else {
    const int64_t size = point.problem.rhs;
    shape.lanes = static_cast<int>(
        std::min<int64_t>(target_lanes, next_power_of_two(static_cast<int>(std::min<int64_t>(size, 64)))));
    shape.lanes = std::max(2, shape.lanes);
    shape.num_vectors = static_cast<int>((size + shape.lanes - 1) / shape.lanes);
    shape.tile_tail = static_cast<int>(size % shape.lanes);
  }
}

void choose_copies(KernelShape& shape) {
  const auto& nest = shape.nest;
  if (shape.axis == VectorAxis::kPositions || !schedule::may_take_several(shape.point.format, nest)) return;
  shape.copies = schedule::nonzeros_in_flight(shape.point, nest);
  const Loop& innermost = nest.loops[static_cast<size_t>(nest.innermost_sparse)];
  shape.copies_are_outputs = binds_output(shape.point.problem.op, innermost);
}

/// Whether results may be stored in whole vectors past the caches as far as the dense index is concerned.
bool has_whole_vectors(const KernelShape& shape) {
  const auto& problem = shape.point.problem;
  return shape.axis == VectorAxis::kDense && !schedule::dense_index_is_reduced(problem.op) &&
         problem.rhs % shape.lanes == 0 && shape.lanes * schedule::value_bytes(problem.type) >= 16;
}

/// Rows that are summed up in memory can be streamed only from a buffer, where they are complete.
bool fits_row_buffer(const KernelShape& shape, int outputs) {
  constexpr int64_t kMaxBytes = 16 << 10;  // stays in L1 beside the rows that are read
  const auto& problem = shape.point.problem;
  if (!shape.point.compute.stream || shape.point.compute.dense_tile > 0 || !has_whole_vectors(shape) ||
      shape.copies_are_outputs || shape.private_outputs)
    return false;
  for (int d = 0; d < shape.scope_depth; ++d)
    if (binds_reduction(problem.op, shape.nest.loops[static_cast<size_t>(d)])) return false;
  return outputs * problem.rhs * schedule::value_bytes(problem.type) <= kMaxBytes;
}

void choose_scope(KernelShape& shape) {
  const Op op = shape.point.problem.op;
  const auto& nest = shape.nest;
  shape.scope_depth = 0;
  for (int d = 0; d < nest.num_runtime; ++d)
    if (binds_output(op, nest.loops[static_cast<size_t>(d)])) shape.scope_depth = d + 1;
  const bool reduced = schedule::dense_index_is_reduced(op);
  const int outputs = unrolled_outputs(shape) * (shape.copies_are_outputs ? shape.copies : 1);
  const int budget = num_registers(shape.binding) - 3;
  const int vectors = reduced ? 1 : shape.num_vectors;
  if (shape.axis == VectorAxis::kDense) {
    shape.tile_in_memory =
        reduced
            ? shape.num_vectors * schedule::unrolled_iterations(shape.point.format, nest) * shape.copies > 256
            : shape.num_vectors > 1 && outputs * vectors > std::max(budget, 2 * outputs);
    shape.row_buffer = shape.tile_in_memory && !reduced && fits_row_buffer(shape, outputs);
    if (shape.tile_in_memory && !reduced && !shape.row_buffer) shape.scope_depth = nest.num_runtime;
  }
}

void choose_factoring(KernelShape& shape) {
  const auto& nest = shape.nest;
  if (shape.point.problem.op != Op::kMttkrp || shape.tile_in_memory) return;
  if (nest.innermost_sparse < shape.scope_depth || nest.innermost_sparse != nest.num_runtime - 1) return;
  const Loop& inner = nest.loops[static_cast<size_t>(nest.innermost_sparse)];
  // Coordinates in a slice belong to its lanes: they are known, and differ, only inside the lane loop.
  for (size_t d = static_cast<size_t>(nest.innermost_sparse); d < nest.loops.size(); ++d)
    if (nest.loops[d].kind == LoopKind::kLanes) return;
  const auto depends = [&](int mode) {
    const auto has = [&](const Loop& loop) {
      return std::any_of(loop.vars.begin(), loop.vars.end(), [&](Var v) { return v.index == mode; });
    };
    for (size_t d = static_cast<size_t>(nest.num_runtime); d < nest.loops.size(); ++d)
      if (has(nest.loops[d])) return true;
    return has(inner);
  };
  if (!depends(1))
    shape.factored = 0;
  else if (!depends(2))
    shape.factored = 1;
}

/// A set of accumulators for every nonzero in flight if they fit the registers, otherwise as many sets as
/// latency asks for and fit beside the values of the nonzeros: each is zeroed and added up for every row.
void choose_accumulator_groups(KernelShape& shape) {
  constexpr int kHidesLatency = 8;  // sums whose multiply-adds need not wait for each other
  if (shape.nest.innermost_sparse < shape.scope_depth || shape.copies_are_outputs || shape.tile_in_memory)
    return;
  const int sums = unrolled_outputs(shape) * shape.num_vectors;
  const int budget = num_registers(shape.binding) - 3;
  if (sums * shape.copies <= budget) {
    shape.accumulator_groups = shape.copies;
    return;
  }
  const int others = shape.copies + (shape.factored >= 0 ? sums : 0);
  int& groups = shape.accumulator_groups;
  while (groups * sums < kHidesLatency && 2 * groups * sums + others <= budget) groups *= 2;
}

void choose_thread_outputs(KernelShape& shape) {
  if (shape.nest.parallel < 0 || shape.point.compute.threads == 1) return;
  shape.private_outputs = schedule::threads_share_outputs(shape.point, shape.nest);
  shape.cuts_rows = partition_may_cut_rows(shape.point);
  shape.carries =
      shape.cuts_rows && !shape.private_outputs && !schedule::output_is_sparse(shape.point.problem.op);
}

void choose_zeroing(KernelShape& shape) {
  const Op op = shape.point.problem.op;
  const auto& nest = shape.nest;
  int first_reduction = -1;
  bool covered = true;  // the loops before the first reduction visit every output element they name
  bool row_bound = false;
  for (int d = 0; d < shape.scope_depth; ++d) {
    const Loop& loop = nest.loops[static_cast<size_t>(d)];
    if (binds_reduction(op, loop) && first_reduction < 0) first_reduction = d;
    if (first_reduction >= 0) continue;
    covered = covered && loop.kind != LoopKind::kCompressed && !may_skip(shape.point.format, loop);
    if (loop.vars[0].index == 0) row_bound = true;
  }
  const bool accumulates = first_reduction >= 0;
  shape.stores = !accumulates && !shape.private_outputs;
  if (shape.stores && (covered || schedule::output_is_sparse(op))) {
    shape.zeroing = Zeroing::kNone;
    return;
  }
  const bool rows = accumulates && covered && row_bound && !shape.private_outputs &&
                    nest.parallel < first_reduction && !schedule::output_is_sparse(op) &&
                    !shape.point.format.permutes_rows();
  shape.zeroing = rows ? Zeroing::kRows : Zeroing::kGlobal;
  shape.zero_depth = first_reduction;
}

}  // namespace

int unrolled_outputs(const KernelShape& shape) {
  int product = 1;
  for (int d = shape.nest.num_runtime; d < static_cast<int>(shape.nest.loops.size()); ++d) {
    const Loop& loop = shape.nest.loops[static_cast<size_t>(d)];
    if (loop.unrolled && is_output(shape.point.problem.op, loop.vars[0]) && !runs_along_vector(shape, d))
      product *= split_of(shape, loop.vars[0]);
  }
  return product;
}

bool runs_along_vector(const KernelShape& shape, int depth) {
  const int num_loops = static_cast<int>(shape.nest.loops.size());
  switch (shape.axis) {
    case VectorAxis::kLanes:
    case VectorAxis::kBlockOutput:
    case VectorAxis::kBlockReduced:
      return depth == num_loops - 1;
    case VectorAxis::kBlock:
      return depth >= num_loops - 2;
    default:
      return false;
  }
}

ColumnVectors column_vectors(int rows, int target_lanes) {
  const int lanes = std::max(2, std::min(target_lanes, next_power_of_two(rows)));
  return {lanes, (rows + lanes - 1) / lanes};
}

int num_registers(const Binding& binding) {
#ifdef __aarch64__
  (void)binding;
  return 32;
#else
  return binding.vector_bytes == 64 ? 32 : 16;
#endif
}

KernelShape shape_kernel(const schedule::SuperSchedule& point, const Binding& binding) {
  KernelShape shape;
  shape.point = point;
  shape.binding = binding;
  shape.nest = schedule::analyze(point);
  shape.groups = schedule::level_groups(point.format);
  const int target_lanes = std::max(2, binding.vector_bytes / schedule::value_bytes(point.problem.type));
  schedule::keep_conditional_loops_at_run_time(shape.point, shape.nest);
  if (schedule::has_dense_index(point.problem.op)) {
    choose_dense_axis(shape, target_lanes);
  } else {
    choose_spmv_axis(shape, target_lanes);
  }
  choose_copies(shape);
  choose_thread_outputs(shape);
  choose_scope(shape);
  choose_factoring(shape);
  choose_accumulator_groups(shape);
  choose_zeroing(shape);
  shape.streams = point.compute.stream && shape.stores && has_whole_vectors(shape);
  return shape;
}

}  // namespace waco::codegen
