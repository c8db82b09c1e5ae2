// Building points in code: formats written as levels, loops that follow them, and edits that keep the
// rest.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "waco/schedule/super_schedule.hpp"

namespace waco::schedule {

/// A format from levels whose modes are named a, b and c for every op: "a1:U b:C a0:U" with split {4, 1, 1}
/// is a format of row blocks. Parts of modes whose split is 1 may be named and are dropped ("a0") or read as
/// the whole ("a1").
FormatSchedule format_from_levels(std::string_view levels, const std::array<int32_t, 3>& split = {1, 1, 1},
                                  int64_t sort_window = 1);

/// The sparse loops in level order; lanes of a sliced format inside the slots.
std::vector<Var> concordant_loops(const FormatSchedule& format);

/// A serial point with concordant loops and an untiled dense index.
SuperSchedule concordant_point(const Problem& problem, const FormatSchedule& format);

/// A format with the schedule of fixed_csr carried over: concordant loops, the dense index whole, the
/// outermost loop over an index of the result parallel in dynamic chunks of about as many rows (tuples: in
/// equal ranges). For the format of fixed_csr it is csr_point. Canonical; nullopt for an illegal format.
std::optional<SuperSchedule> default_point(const Problem& problem, const FormatSchedule& format, int threads);

/// The variable of the parallel loop, if there is one.
std::optional<Var> parallel_var(const ComputeSchedule& compute);
/// Makes the loop of `var` parallel; serial when there is no such loop.
void set_parallel_var(ComputeSchedule& compute, std::optional<Var> var);

/// Replaces the dense loops: `tile` 0 leaves the index whole; otherwise its outer loop goes before the sparse
/// loop number `outer_at` (clamped). The parallel loop stays the same variable, or becomes serial when that
/// is gone.
void set_dense_tile(SuperSchedule& point, int32_t tile, size_t outer_at);

}  // namespace waco::schedule
