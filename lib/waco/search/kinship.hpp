// What points have in common: kinds of formats, and names that are equal for alike points.
#pragma once

#include <string>

#include "waco/schedule/super_schedule.hpp"

namespace waco::search {

/// What makes a storage format different in kind. A cost model that errs on one kind errs on all of its
/// points, so every kind that is worth it gets a share of what is looked at, whatever the model thinks of the
/// others.
enum class Kind { kRows, kBlocks, kSlices, kOther };
inline constexpr int kNumFormatKinds = 4;
Kind kind_of(const schedule::SuperSchedule& point);

/// What a point is called at three grains; equal names mean alike points.
struct Kinship {
  std::string family;     ///< levels and loop order without numbers: "CSR", "row blocks", ...
  std::string format;     ///< the levels with their numbers, without splits that change nothing
  std::string structure;  ///< format, loops, tile and unroll
};
Kinship kinship(const schedule::SuperSchedule& point);

}  // namespace waco::search
