// An order of points that nobody measures before they are used.
#pragma once

#include <span>
#include <vector>

#include "waco/model/cost_model.hpp"
#include "waco/search/learned.hpp"

namespace waco::tune {

/// The cheapest of many predictions is often one that errs, and a learned model errs most on points of
/// families (schedule::threaded_family) that it has seen on few patterns: these cost more here, and so does
/// what wanders().
class CautiousModel : public model::CostModel {
 public:
  /// Keeps references; `learned` is what `model` ranks by, or null: then costs are as they are.
  CautiousModel(model::CostModel& model, const search::Learned* learned) : model_(model), learned_(learned) {}
  std::vector<double> costs(std::span<const schedule::SuperSchedule> points) override;
  /// By which the point costs more than `model` says: at least 1.
  double doubt(const schedule::SuperSchedule& point) const;

 private:
  model::CostModel& model_;
  const search::Learned* learned_;
};

}  // namespace waco::tune
