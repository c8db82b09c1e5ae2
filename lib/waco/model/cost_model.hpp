// The interface of everything that predicts how long a SuperSchedule takes.
#pragma once

#include <span>
#include <vector>

#include "waco/schedule/super_schedule.hpp"

namespace waco::model {

/// Ranks points for the one pattern it was built for. Costs mean: smaller is better. Only their order is
/// promised; a model whose costs are times says so.
class CostModel {
 public:
  virtual ~CostModel() = default;
  /// One cost per point, in the same order; infinite for a point the model can't judge.
  virtual std::vector<double> costs(std::span<const schedule::SuperSchedule> points) = 0;
};

}  // namespace waco::model
