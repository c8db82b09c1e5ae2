// Which points of a space are tried: limits, and the rules that exclude a point on a pattern.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "waco/pattern/pattern_counts.hpp"
#include "waco/schedule/super_schedule.hpp"

namespace waco::schedule {

/// Which half of a point may vary.
enum class Subspace : uint8_t {
  kAll,       ///< format and schedule together
  kFormat,    ///< the format, each with its default_point's schedule
  kSchedule,  ///< the schedule, over fixed_csr's format
};
std::string_view name(Subspace subspace);  ///< "all", "format", "schedule"
std::optional<Subspace> parse_subspace(std::string_view text);

/// Values stored per nonzero, at most, where nothing else is asked for.
inline constexpr double kMaxFill = 20;

/// What a point may cost before it is tried at all, how wide it may run and what of it may vary.
struct SpaceLimits {
  int max_threads = 1;            ///< cores this process may use
  double max_fill = kMaxFill;     ///< values stored per nonzero
  int64_t max_bytes = INT64_MAX;  ///< of packed storage, with the outputs that threads need of their own
  Subspace subspace = Subspace::kAll;
};

/// Rows, columns or nonzeros of a matrix whose rows are clustered, at most.
inline constexpr int64_t kMostClustered = int64_t{1} << 30;

/// Equal for points of one problem that the limits treat alike on every pattern.
std::string limits_key(const SuperSchedule& point);

/// The rule that excludes a legal point on this pattern, or nullopt when it may be tried. Cells of the
/// pattern are counted only when upper bounds known at once leave the question open.
std::optional<std::string> exclusion_reason(const SuperSchedule& point, const pattern::PatternCounts& counts,
                                            const SpaceLimits& limits);

}  // namespace waco::schedule
