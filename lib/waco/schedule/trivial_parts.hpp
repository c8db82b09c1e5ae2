// The parts of a point that generate no code, shared by legality and canonical form.
#pragma once

#include "waco/schedule/super_schedule.hpp"

namespace waco::schedule {

/// Drops the inner parts of splits of 1 from levels and loops, and turns a parallel loop on one thread (or
/// over a dropped part) into a serial one. Needs variables, splits and the parallel position in range,
/// nothing else.
SuperSchedule without_trivial_parts(const SuperSchedule& point);

}  // namespace waco::schedule
