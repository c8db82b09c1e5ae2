// The table of metrics.
#include "waco/train/report.hpp"

#include <fmt/format.h>

#include "waco/base/counted.hpp"
#include "waco/train/metrics.hpp"

namespace waco::train {
namespace {

using nlohmann::ordered_json;

std::string percent(const ordered_json& metrics, const char* key) {
  return metrics.contains(key) ? fmt::format("{:.2f} %", 100 * metrics.at(key).get<double>()) : "-";
}

/// `num_groups`: of the other rows.
std::string row(const std::string& name, const ordered_json& metrics, int64_t num_groups) {
  std::string text = fmt::format(
      "{:<14}{:>12}{:>9}", name, percent(metrics, "pairwise_accuracy"),
      metrics.contains("kendall_tau") ? fmt::format("{:.3f}", metrics.at("kendall_tau").get<double>()) : "-");
  for (const int points : kRegretPoints)
    text += fmt::format("{:>9.3f}", metrics.at(fmt::format("top{}_regret", points)).get<double>());
  if (const auto own = metrics.value("groups", num_groups); own != num_groups)
    text += fmt::format("   of {}", counted(own, "group"));
  return text + "\n";
}

}  // namespace

std::string to_table(const ordered_json& report) {
  const ordered_json& metrics = report.at("metrics");
  std::string text = fmt::format("{} of points, {} more than 10 % apart\n",
                                 counted(metrics.at("learned").value("groups", 0), "group"),
                                 counted(metrics.at("learned").value("pairs", 0), "pair"));
  text += fmt::format("{:<14}{:>12}{:>9}", "model", "right pairs", "tau");
  for (const int points : kRegretPoints) text += fmt::format("{:>9}", fmt::format("top {}", points));
  text += "   time of the best of the top k over the best measured\n";
  for (const char* name : {"learned", "blended", "retrieval", "closed_form", "random", "fixed_csr"})
    text += row(name, metrics.at(name), metrics.at("learned").value("groups", int64_t{0}));
  if (!metrics.at("worst_pairs").empty()) text += "worst pairs, ranked the wrong way round:\n";
  for (const ordered_json& pair : metrics.at("worst_pairs"))
    text += fmt::format("{:>7.2f}x  {}\n          {}\n          {}\n", pair.at("ratio").get<double>(),
                        pair.at("matrix").get<std::string>(), pair.at("faster").get<std::string>(),
                        pair.at("slower").get<std::string>());
  return text;
}

}  // namespace waco::train
