// What points have in common: kinds of formats, and names that are equal for alike points.
#pragma once

#include <string>

#include "waco/schedule/super_schedule.hpp"

namespace waco::schedule {

/// What makes a storage format different in kind. A cost model that errs on one kind errs on all of its
/// points, so every kind that is worth it gets a share of what is looked at, whatever the model thinks of the
/// others.
enum class FormatKind { kRows, kBlocks, kSlices, kOther };
inline constexpr int kNumFormatKinds = 4;
FormatKind kind_of(const SuperSchedule& point);

/// What a point is called at three grains; equal names mean alike points.
struct Kinship {
  std::string family;     ///< levels and loop order without numbers: "CSR", "row blocks", ...
  std::string format;     ///< the levels with their numbers, without splits that change nothing
  std::string structure;  ///< format, loops, tile and unroll
};
Kinship kinship(const SuperSchedule& point);

/// The family and the loop that threads share: what differs in kind to a cost model, too. The text is kept in
/// model folders.
std::string threaded_family(const SuperSchedule& point);

}  // namespace waco::schedule
