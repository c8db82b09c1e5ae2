// Doubt by the number of patterns.
#include "waco/tune/cautious_model.hpp"

#include <string>

#include "waco/schedule/kinship.hpp"
#include "waco/tune/decision.hpp"

namespace waco::tune {
namespace {

/// Of 196 plans of `--effort none` on a Zen 3 the eight of families of at most one pattern took 1.3 times as
/// long, beside the best on record, as those of well known ones.
double doubt_of(int64_t num_patterns) {
  constexpr double kOfUnknown = 0.4, kFewPatterns = 3;
  return 1 + kOfUnknown * kFewPatterns / (kFewPatterns + static_cast<double>(num_patterns));
}

constexpr double kWandering = 1.03;  ///< a model learns from times of cores near and far from each other

}  // namespace

double CautiousModel::doubt(const schedule::SuperSchedule& point) const {
  if (learned_ == nullptr) return 1;
  const std::string family = schedule::threaded_family(point);
  double sum = 0, count = 0;
  const auto add = [&](const model::LearnedModel& model) {
    if (const auto num_patterns = model.experience().patterns_of(family))
      sum += doubt_of(*num_patterns), count += 1;
  };
  add(learned_->model);
  for (const search::OtherModel& other : learned_->others) add(other.model);
  return (count > 0 ? sum / count : 1) * (wanders(point) ? kWandering : 1);
}

std::vector<double> CautiousModel::costs(std::span<const schedule::SuperSchedule> points) {
  std::vector<double> costs = model_.costs(points);
  for (size_t n = 0; n < costs.size(); ++n) costs[n] *= doubt(points[n]);
  return costs;
}

}  // namespace waco::tune
