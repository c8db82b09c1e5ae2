// Pairs points with their clustered twins, and counts patterns.
#include "waco/train/experience.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "waco/base/error.hpp"
#include "waco/model/closed_form.hpp"
#include "waco/model/learned/cost_features.hpp"
#include "waco/schedule/kinship.hpp"

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

/// Those of the points that were timed to the end, by their text with rows clustered in such windows.
std::map<std::string, Times> times_of(const Example& example, int64_t window) {
  const size_t num_terms = model::cost_feature_names().size();
  const size_t to_csr = place_of("total_to_csr"), of_csr = place_of("csr_total");
  std::map<std::string, Times> result;
  for (size_t n = 0; n < example.group.size(); ++n) {
    if (example.group.labels[n].censored) continue;
    const float* terms = example.terms.data() + n * num_terms;
    const schedule::SuperSchedule point = schedule::clustered(example.group.points[n], window);
    result[schedule::to_text(point)] = {terms[to_csr] + terms[of_csr], example.group.labels[n].cost};
  }
  return result;
}

}  // namespace

std::vector<model::ClusteredCost> clustered_costs(const std::vector<const Example*>& examples) {
  std::map<std::string, std::vector<const Example*>> given;  // those of one matrix are of several files
  for (const Example* example : examples)
    if (!example->group.clustered) given[key_of(example->group)].push_back(example);
  struct Excess {
    int64_t row_bytes = 0;
    double sum = 0, count = 0;
  };
  std::map<std::string, Excess> by_pattern;
  for (const Example* example : examples) {
    if (!example->group.clustered) continue;
    const std::string key = key_of(example->group);
    const int64_t window = example->group.cluster_window;
    const std::map<std::string, Times> clustered = times_of(*example, window);
    for (const Example* as_is : given[key])
      for (const auto& [text, point] : times_of(*as_is, window)) {
        const auto twin = clustered.find(text);
        if (twin == clustered.end()) continue;
        const double gain = twin->second.expected - point.expected;
        const schedule::Problem& problem = example->group.problem;
        Excess& excess = by_pattern[key];
        excess.row_bytes = problem.rhs * schedule::value_bytes(problem.type);
        excess.sum += twin->second.measured - point.measured - model::kClusteredGainKept * gain;
        excess.count += 1;
      }
  }
  std::map<int64_t, std::vector<double>> excesses;  // by the bytes of a dense row
  for (const auto& [key, excess] : by_pattern)
    excesses[excess.row_bytes].push_back(excess.sum / excess.count);
  std::vector<model::ClusteredCost> costs;
  for (auto& [row_bytes, of_size] : excesses) {
    if (of_size.size() < kLeastPatterns) continue;
    const auto middle = of_size.begin() + static_cast<int64_t>(of_size.size() / 2);
    std::nth_element(of_size.begin(), middle, of_size.end());
    costs.push_back({row_bytes, std::exp2(*middle)});
  }
  return costs;
}

std::map<std::string, int64_t> families_of(const std::vector<const Example*>& examples) {
  std::map<std::string, std::set<std::string>> patterns;
  for (const Example* example : examples)
    for (const schedule::SuperSchedule& point : example->group.points)
      patterns[schedule::threaded_family(point)].insert(example->group.matrix_hash);
  std::map<std::string, int64_t> families;
  for (const auto& [family, hashes] : patterns) families[family] = std::ssize(hashes);
  return families;
}

}  // namespace waco::train
