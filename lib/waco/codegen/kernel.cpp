// What a kernel's source depends on, and the source itself.
#include "waco/codegen/kernel.hpp"

#include "waco/codegen/emitter.hpp"
#include "waco/codegen/kernel_shape.hpp"
#include "waco/schedule/storage_size.hpp"

namespace waco::codegen {

using schedule::LevelKind;
using schedule::LoopKind;

const char* integer_type(int bytes) {
  switch (bytes) {
    case 1:
      return "uint8_t";
    case 2:
      return "uint16_t";
    case 8:
      return "int64_t";
    default:
      return "int32_t";
  }
}

Binding bind(const schedule::SuperSchedule& point, const std::array<int64_t, 3>& dims,
             int64_t num_positions_bound, int vector_bytes) {
  Binding binding;
  binding.vector_bytes = vector_bytes;
  binding.pos_bytes = num_positions_bound <= INT32_MAX ? 4 : 8;
  const auto& format = point.format;
  const std::array<int64_t, 3> stored = schedule::arranged_dims(format.arrangement, dims);
  for (size_t l = 0; l < format.levels.size(); ++l)
    if (format.levels[l].kind != LevelKind::kUncompressed)
      binding.crd_bytes[l] =
          schedule::coordinate_bytes(schedule::extent(format, format.levels[l].var, stored.data()));
  for (size_t m = 0; m < 3; ++m) binding.exact[m] = format.split[m] <= 1 || dims[m] % format.split[m] == 0;
  return binding;
}

std::string kernel_source(const schedule::SuperSchedule& point, const Binding& binding) {
  return Emitter(shape_kernel(point, binding)).source();
}

int64_t scratch_bytes(const schedule::SuperSchedule& point, const std::array<int64_t, 3>& dims,
                      int64_t num_stored) {
  const KernelShape shape = shape_kernel(point, Binding{});
  const int64_t bytes = schedule::value_bytes(point.problem.type), threads = point.compute.threads;
  if (shape.private_outputs) {
    const int64_t size =
        schedule::output_is_sparse(point.problem.op) ? num_stored : dims[0] * point.problem.rhs;
    return (threads - 1) * size * bytes;
  }
  // Of every thread a piece of a row, on lines of its own.
  const int64_t carry = point.format.split[0] * point.problem.rhs * bytes;
  return shape.carries ? threads * ((carry + kLineBytes - 1) / kLineBytes * kLineBytes) : 0;
}

bool needs_partition(const schedule::SuperSchedule& point) {
  return point.compute.parallel >= 0 && point.compute.threads > 1 &&
         point.compute.policy == schedule::Policy::kBalanced;
}

bool partition_may_cut_rows(const schedule::SuperSchedule& point) {
  const auto& levels = point.format.levels;
  // Pieces of rows are kept apart by stored row.
  if (point.format.clustered()) return false;
  if (!needs_partition(point) || levels.size() < 2 || levels[0].kind != LevelKind::kUncompressed ||
      levels[1].kind != LevelKind::kCompressed)
    return false;
  // A cut is a position of level 1, where only a loop that walks this level can begin or end. Level 0 may be
  // over any index: pieces of a row of the output are added up, a reduced index gives every thread an output
  // of its own, and values of a sparse output have one position each.
  const schedule::LoopNest nest = schedule::analyze(point);
  for (const auto& loop : nest.loops)
    if (loop.kind == LoopKind::kCompressed && loop.level == 1) return true;
  return false;
}

}  // namespace waco::codegen
