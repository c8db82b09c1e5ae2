// What every loop of a SuperSchedule does: the analysis that code generation, legality and cost models share.
#pragma once

#include <vector>

#include "waco/schedule/super_schedule.hpp"

namespace waco::schedule {

enum class LoopKind : uint8_t {
  kDenseOuter,    ///< tiles of the dense index
  kDenseTile,     ///< one tile of the dense index (always last; vectorised)
  kUncompressed,  ///< concordant walk of a U level
  kCompressed,    ///< concordant walk of a C level or of a C S.. tuple
  kSlots,         ///< walk of an E or L level's slots (lane fixed, or all lanes when the lane loop is inside)
  kLanes,         ///< the lane loop inside a slot loop
  kExtent,        ///< discordant: all coordinates, located later
};

struct Loop {
  LoopKind kind = LoopKind::kExtent;
  std::vector<Var> vars;  ///< bound by this loop; more than one only for tuples
  int level = -1;         ///< first level walked; -1 for dense and discordant loops
  bool parallel = false;
  bool unrolled = false;  ///< at compile time
  std::vector<int>
      located;  ///< first levels of the levels (or tuples) located right after this loop binds its vars
};

struct LoopNest {
  std::vector<Loop> loops;    ///< outermost first; tuples fused
  int num_runtime = 0;        ///< loops[num_runtime ..] are unrolled loops and the dense tile
  int parallel = -1;          ///< position in `loops`
  int innermost_sparse = -1;  ///< last runtime loop over a sparse index; where unroll and prefetch apply
};

LoopNest analyze(const SuperSchedule& point);

/// Whether a level located after this loop can be absent, so that the rest of the nest is conditional.
bool may_skip(const FormatSchedule& format, const Loop& loop);

/// The nest as kernels run it: unrolled loops have to be straight-line code, so that from the last
/// conditional one outwards they become ordinary loops.
void keep_conditional_loops_at_run_time(const SuperSchedule& point, LoopNest& nest);

/// Iterations of the unrolled loops together.
int unrolled_iterations(const FormatSchedule& format, const LoopNest& nest);

/// Of a nest as kernels run it: whether the innermost loop takes the stored values in vectors (of `unroll`
/// values) and gathers what they are multiplied with.
bool gathers_vectors(const SuperSchedule& point, const LoopNest& nest);

/// Of such a nest: whether the innermost loop over a sparse index may take several nonzeros at a step.
bool may_take_several(const FormatSchedule& format, const LoopNest& nest);

/// How many it takes where it does not gather vectors: at most `unroll`.
int nonzeros_in_flight(const SuperSchedule& point, const LoopNest& nest);

/// Whether several threads add to one element of the output, so that each but the first needs an output of
/// its own: the parallel loop is over a reduced index.
bool threads_share_outputs(const SuperSchedule& point, const LoopNest& nest);

/// Levels of one tuple: a C and the S levels that follow it, or a level on its own (E or L with its S
/// levels). Returns for every level the first level of its group.
std::vector<int> level_groups(const FormatSchedule& format);

/// Of the stored matrix: skewed, it has a column for every diagonal.
std::array<int64_t, 3> arranged_dims(Arrangement arrangement, const std::array<int64_t, 3>& dims);

/// Extent of a part of the stored matrix, whose dims are given: ceil(dim / split), split, or dim.
int64_t extent(const FormatSchedule& format, Var var, const int64_t* dims);

inline constexpr int kMaxUnrolledSplit = 32;
inline constexpr int kMaxUnrolledIterations = 64;

}  // namespace waco::schedule
