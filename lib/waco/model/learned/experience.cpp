// Sums over records, and looking them up.
#include "waco/model/learned/experience.hpp"

#include <algorithm>
#include <cmath>

#include "waco/base/error.hpp"
#include "waco/schedule/kinship.hpp"

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

std::optional<int64_t> Experience::patterns_of(const schedule::SuperSchedule& point) const {
  if (families.empty()) return std::nullopt;
  const auto found = families.find(schedule::threaded_family(point));
  return found != families.end() ? found->second : 0;
}

void Experience::add_earlier(const Experience& earlier) {
  if (clustered_costs.empty()) clustered_costs = earlier.clustered_costs;
  for (const auto& [family, patterns] : earlier.families)
    if (patterns > 1) families[family] += patterns / 2;
}

Experience experience_of(const nlohmann::json& manifest) {
  Experience experience;
  for (const nlohmann::json& cost : manifest.value("clustered_costs", nlohmann::json::array())) {
    experience.clustered_costs.push_back(
        {cost.at("row_bytes").get<int64_t>(), cost.at("factor").get<double>()});
    const ClusteredCost& last = experience.clustered_costs.back();
    if (!(last.factor > 0) || last.row_bytes <= 0)
      throw UsageError("a cost of clustered rows is not positive");
  }
  experience.families = manifest.value("families", std::map<std::string, int64_t>());
  for (const auto& [family, patterns] : experience.families)
    if (patterns < 0) throw UsageError("a number of patterns is negative");
  return experience;
}

nlohmann::ordered_json to_json(const Experience& experience) {
  nlohmann::ordered_json costs = nlohmann::ordered_json::array();
  for (const ClusteredCost& cost : experience.clustered_costs)
    costs.push_back({{"row_bytes", cost.row_bytes}, {"factor", cost.factor}});
  return {{"clustered_costs", costs}, {"families", experience.families}};
}

}  // namespace waco::model
