// How points of a matrix with clustered rows compare to points with the rows as they are: models rank points
// of one order, and know less of how two orders compare.
#pragma once

#include <span>

#include "waco/tune/pattern_costs.hpp"

namespace waco::tune {

/// Whether clustered points should be looked at, judged by `points` of the rows as they are, at least one.
bool is_worth_clustering(PatternCosts& given, PatternCosts& clustered,
                         std::span<const schedule::SuperSchedule> points);

/// The factor that makes the costs of the clustered twins of `points` what ClosedFormModel::clustered_share
/// expects of them beside `points`, in the mean.
double order_handicap(PatternCosts& given, PatternCosts& clustered,
                      std::span<const schedule::SuperSchedule> points);

}  // namespace waco::tune
