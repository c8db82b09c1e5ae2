// Decisions taken once for a kernel, before any text is written: vectors, accumulators, zeroing, threads'
// outputs.
#pragma once

#include "waco/codegen/kernel.hpp"
#include "waco/schedule/loop_nest.hpp"

namespace waco::codegen {

/// Which direction one vector register runs along.
enum class VectorAxis {
  kNone,          ///< scalar code (spmv only)
  kDense,         ///< the dense index
  kLanes,         ///< the lanes of an E or L slice: coordinates differ, values are contiguous
  kBlockOutput,   ///< an unrolled inner output index whose values are contiguous (columns of a dense block)
  kBlock,         ///< all of a small dense block, column after column: lanes are of several columns
  kBlockReduced,  ///< an unrolled inner reduction index whose values are contiguous (rows of a dense block)
  kPositions,     ///< consecutive nonzeros of a C level
};

/// How the result gets its zeros.
enum class Zeroing {
  kNone,    ///< every element is stored exactly once
  kRows,    ///< rows are zeroed right before the first reduction loop
  kGlobal,  ///< the whole output is zeroed first
};

struct KernelShape {
  schedule::SuperSchedule point;
  Binding binding;
  schedule::LoopNest nest;
  std::vector<int> groups;  ///< schedule::level_groups

  VectorAxis axis = VectorAxis::kNone;
  int lanes = 1;        ///< values in one vector
  int num_vectors = 1;  ///< vectors in one register tile (kDense), slice (kLanes) or block
  int tile_tail = 0;    ///< values in the last vector of a whole-index tile when it is partial, else 0
  bool tile_in_memory =
      false;  ///< the tile exceeds the registers: an extra innermost loop walks it, some vectors a step
  bool row_buffer = false;  ///< ... over sums in a buffer of the thread, which go to the output at the end

  int copies = 1;                   ///< nonzeros in flight (unroll)
  int scope_depth = 0;              ///< accumulators live inside loops[0 .. scope_depth)
  bool copies_are_outputs = false;  ///< each nonzero in flight has its own output element(s)
  int accumulator_groups = 1;       ///< sets of accumulators that nonzeros in flight share, added at the end
  int factored = -1;  ///< dense operand applied to the sum of the innermost loop (mttkrp), or -1

  Zeroing zeroing = Zeroing::kNone;
  int zero_depth = 0;            ///< kRows: zero inside loops[0 .. zero_depth)
  bool stores = true;            ///< results are stored; otherwise added to the output
  bool streams = false;          ///< whole vectors of results are stored past the caches
  bool private_outputs = false;  ///< every thread has its own output, summed at the end
  bool cuts_rows = false;        ///< balanced ranges may start inside a row of level 0
  bool carries = false;          ///< ... whose first piece is kept apart and added at the end
};

KernelShape shape_kernel(const schedule::SuperSchedule& point, const Binding& binding);

/// Output elements (rows, for a dense index) of the unrolled loops that have sums of their own: along a
/// vector of them they are one.
int unrolled_outputs(const KernelShape& shape);

/// Whether the values of loop number `depth` are lanes of a vector (spmv).
bool runs_along_vector(const KernelShape& shape, int depth);

/// How the rows of a dense block fill vectors of their own, one or more for each column (kBlockOutput).
struct ColumnVectors {
  int lanes = 2;
  int count = 1;  ///< of a column
};
ColumnVectors column_vectors(int rows, int target_lanes);

/// Vector registers of the target, a processor of this machine's kind: 32 with 512-bit vectors and on
/// AArch64, else 16.
int num_registers(const Binding& binding);

}  // namespace waco::codegen
