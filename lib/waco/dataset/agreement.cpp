// Pairs of records, matrix by matrix.
#include "waco/dataset/agreement.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>
#include <utility>

#include "waco/base/counted.hpp"
#include "waco/base/error.hpp"

namespace waco::dataset {
namespace {

constexpr double kMargin = 0.1;  // by which the times of a pair differ

/// The cost of one point in both datasets.
struct Twice {
  double first = 0;
  double second = 0;
  bool first_censored = false;
  bool second_censored = false;
};

void count_pairs(const std::vector<Twice>& points, Agreement& agreement) {
  for (size_t a = 0; a < points.size(); ++a)
    for (size_t b = 0; b < points.size(); ++b) {
      if (points[b].first <= (1 + kMargin) * points[a].first) continue;
      // How much longer a censored point would have taken is unknown: it can only be the slower one.
      if (points[a].first_censored) continue;
      const bool a_is_slower = points[b].second < points[a].second;
      if (a_is_slower ? points[b].second_censored : points[a].second_censored) continue;
      ++agreement.num_pairs;  // a is faster than b
      if (points[b].second < points[a].second) ++agreement.num_reversed;
    }
}

}  // namespace

std::vector<Record> records_on_machines_of(const Header& header, Dataset dataset) {
  const std::vector<Machine> wanted = machines_of(header), found = machines_of(dataset.header);
  std::vector<std::optional<int>> places;  // in `wanted`
  for (const Machine& machine : found) {
    const auto at = std::find_if(wanted.begin(), wanted.end(),
                                 [&](const Machine& other) { return same_machine(machine, other); });
    places.push_back(at == wanted.end() ? std::nullopt
                                        : std::optional(static_cast<int>(at - wanted.begin())));
  }
  std::vector<Record> records;
  for (Record& record : dataset.records) {
    const auto at = static_cast<size_t>(record.machine.value_or(0));
    if (at >= places.size() || !places[at]) continue;
    record.machine = places[at];
    records.push_back(std::move(record));
  }
  return records;
}

Agreement compare(const std::vector<Record>& first, const std::vector<Record>& second, Order order) {
  const auto cost = [&](const Record& record) {
    return order == Order::kTime ? static_cast<double>(record.time_ns) : 1 / record.speedup;
  };
  std::unordered_map<std::string, const Record*> by_key;
  for (const Record& record : second)
    if (record.tells()) by_key[key(record)] = &record;
  std::map<std::string, std::vector<Twice>> groups;
  std::vector<double> changes;
  for (const Record& record : first) {
    const auto at = by_key.find(key(record));
    if (at == by_key.end() || !record.tells()) continue;
    const Record& other = *at->second;
    groups[group(record)].push_back({cost(record), cost(other), record.censored, other.censored});
    if (record.timed() && other.timed()) changes.push_back(std::abs(cost(other) / cost(record) - 1));
  }
  Agreement agreement;
  for (const auto& [group, points] : groups) {
    agreement.num_common += static_cast<int64_t>(points.size());
    count_pairs(points, agreement);
  }
  std::sort(changes.begin(), changes.end());
  if (!changes.empty()) agreement.median_change = changes[changes.size() / 2];
  return agreement;
}

nlohmann::ordered_json to_json(const Agreement& agreement) {
  return {{"common_records", agreement.num_common},
          {"pairs", agreement.num_pairs},
          {"reversed_pairs", agreement.num_reversed},
          {"reversed_share", std::round(agreement.reversed_share() * 1e5) / 1e5},
          {"median_change", std::round(agreement.median_change * 1e5) / 1e5}};
}

std::string to_text(const Agreement& agreement, Order order) {
  return fmt::format(
      "by {}: {} in both; of {} more than 10 % apart on one matrix {} ({:.2f} %) in the other order; median "
      "change {:.1f} %\n",
      order == Order::kTime ? "time" : "time / fixed_csr's", counted(agreement.num_common, "record"),
      counted(agreement.num_pairs, "pair"), agreement.num_reversed, 100 * agreement.reversed_share(),
      100 * agreement.median_change);
}

}  // namespace waco::dataset
