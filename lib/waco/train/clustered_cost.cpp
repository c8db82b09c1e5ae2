// Pairs points with their clustered twins.
#include "waco/train/clustered_cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "waco/base/error.hpp"
#include "waco/model/closed_form.hpp"
#include "waco/model/learned/cost_features.hpp"

namespace waco::train {
namespace {

std::string key_of(const Group& group) {
  return fmt::format("{} {} {} {} {}", group.matrix_hash, schedule::name(group.problem.type),
                     group.problem.rhs, group.threads, group.machine);
}

/// Place of a closed-form term in the terms of a point.
size_t place_of(const std::string& name) {
  const std::vector<std::string>& names = model::cost_feature_names();
  const auto found = std::find(names.begin(), names.end(), name);
  WACO_ASSERT(found != names.end());
  return static_cast<size_t>(found - names.begin());
}

/// Logarithms to base 2 of what a point is expected to take and was measured to take.
struct Times {
  double expected = 0, measured = 0;
};

/// Those of the points that were timed to the end, by their text with rows as they are.
std::map<std::string, Times> times_of(const Example& example) {
  const size_t num_terms = model::cost_feature_names().size();
  const size_t to_csr = place_of("total_to_csr"), of_csr = place_of("csr_total");
  std::map<std::string, Times> result;
  for (size_t n = 0; n < example.group.size(); ++n) {
    if (example.group.labels[n].censored) continue;
    const float* terms = example.terms.data() + n * num_terms;
    const schedule::SuperSchedule point =
        schedule::arranged(example.group.points[n], schedule::Arrangement::kGiven);
    result[schedule::to_text(point)] = {terms[to_csr] + terms[of_csr], example.group.labels[n].cost};
  }
  return result;
}

}  // namespace

std::optional<double> clustered_cost(const std::vector<const Example*>& examples) {
  std::map<std::string, const Example*> given;
  for (const Example* example : examples)
    if (!example->group.clustered) given.emplace(key_of(example->group), example);
  std::vector<double> excesses;
  for (const Example* example : examples) {
    const auto same = example->group.clustered ? given.find(key_of(example->group)) : given.end();
    if (same == given.end()) continue;
    const std::map<std::string, Times> as_is = times_of(*same->second), clustered = times_of(*example);
    double sum = 0, count = 0;
    for (const auto& [text, twin] : clustered) {
      const auto point = as_is.find(text);
      if (point == as_is.end()) continue;
      const double gain = twin.expected - point->second.expected;
      sum += twin.measured - point->second.measured - model::kClusteredGainKept * gain;
      count += 1;
    }
    if (count > 0) excesses.push_back(sum / count);
  }
  if (excesses.size() < kLeastPatterns) return std::nullopt;
  const auto middle = excesses.begin() + static_cast<int64_t>(excesses.size() / 2);
  std::nth_element(excesses.begin(), middle, excesses.end());
  return std::exp2(*middle);
}

}  // namespace waco::train
