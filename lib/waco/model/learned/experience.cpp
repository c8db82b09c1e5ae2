// Reads the keys back, distrusting them, and looks things up.
#include "waco/model/learned/experience.hpp"

#include <algorithm>
#include <cmath>

#include "waco/base/error.hpp"

namespace waco::model {

std::optional<double> Experience::clustered_cost(const schedule::Problem& problem) const {
  const auto row_bytes = static_cast<double>(problem.rhs * schedule::value_bytes(problem.type));
  const auto distance = [&](const ClusteredCost& cost) {
    return std::abs(std::log2(static_cast<double>(cost.row_bytes) / row_bytes));
  };
  const auto nearest = std::ranges::min_element(clustered_costs, {}, distance);
  if (nearest == clustered_costs.end()) return std::nullopt;
  return nearest->factor;
}

std::optional<int64_t> Experience::patterns_of(const std::string& family) const {
  if (families.empty()) return std::nullopt;
  const auto found = families.find(family);
  return found != families.end() ? found->second : 0;
}

void Experience::add_earlier(const Experience& earlier) {
  for (const ClusteredCost& cost : earlier.clustered_costs)
    if (std::ranges::find(clustered_costs, cost.row_bytes, &ClusteredCost::row_bytes) ==
        clustered_costs.end())
      clustered_costs.push_back(cost);
  std::ranges::sort(clustered_costs, {}, &ClusteredCost::row_bytes);
  for (const auto& [family, patterns] : earlier.families)
    if (patterns > 1) families[family] += patterns / 2;
}

Experience experience_of(const nlohmann::json& manifest) {
  Experience experience;
  const auto costs = manifest.find("clustered_costs"), families = manifest.find("families");
  if (costs != manifest.end()) {
    if (!costs->is_array()) throw UsageError("its clustered_costs are no list");
    for (const nlohmann::json& cost : *costs) {
      const bool is_whole = cost.is_object() && cost.contains("row_bytes") && cost.contains("factor") &&
                            cost.at("row_bytes").is_number_integer() && cost.at("factor").is_number();
      if (!is_whole || cost.at("row_bytes") < 1 || !(cost.at("factor") > 0))
        throw UsageError("one of its clustered_costs is no positive factor of a size");
      experience.clustered_costs.push_back(
          {cost.at("row_bytes").get<int64_t>(), cost.at("factor").get<double>()});
    }
  }
  if (families != manifest.end()) {
    if (!families->is_object()) throw UsageError("its families are no object");
    for (const auto& [family, patterns] : families->items()) {
      if (!patterns.is_number_integer() || patterns < 0)
        throw UsageError("one of its families has no number of patterns");
      experience.families[family] = patterns.get<int64_t>();
    }
  }
  return experience;
}

nlohmann::ordered_json to_json(const Experience& experience) {
  nlohmann::ordered_json costs = nlohmann::ordered_json::array();
  for (const ClusteredCost& cost : experience.clustered_costs)
    costs.push_back({{"row_bytes", cost.row_bytes}, {"factor", cost.factor}});
  return {{"clustered_costs", costs}, {"families", experience.families}};
}

}  // namespace waco::model
