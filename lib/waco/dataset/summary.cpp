// Counting records, and their places on their matrices.
#include "waco/dataset/summary.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>

#include "waco/base/counted.hpp"
#include "waco/base/error.hpp"
#include "waco/measure/statistics.hpp"

namespace waco::dataset {
namespace {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double share(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

double to_four_places(double value) {
  return std::round(value * 1e4) / 1e4;
}

void count(const Record& record, Summary& summary) {
  ++summary.num_records;
  ++summary.per_problem[schedule::to_text(record.problem)];
  ++summary.per_status[std::string(measure::name(record.status))];
  ++summary.per_split[std::string(name(record.split))];
  StratumSummary& stratum = summary.per_stratum[record.stratum];
  ++stratum.num_records;
  stratum.num_ok += record.ok() ? 1 : 0;
  stratum.num_censored += record.censored ? 1 : 0;
  summary.num_censored += record.censored ? 1 : 0;
}

void judge_noise(const std::vector<Record>& records, Summary& summary) {
  std::vector<double> spreads;
  double rejected = 0;
  for (const Record& record : records) {
    if (!record.timed() || record.samples_ns.size() < 2) continue;
    spreads.push_back(
        measure::estimate_median({record.samples_ns.begin(), record.samples_ns.end()}).relative_width());
    rejected += record.rejected_share;
  }
  summary.rejected_share = spreads.empty() ? 0 : rejected / static_cast<double>(spreads.size());
  summary.sample_spread = median(std::move(spreads));
}

void judge_points(const std::vector<Record>& records, Summary& summary) {
  std::unordered_map<std::string, double> best;  // speedup by group
  for (const Record& record : records)
    if (record.timed()) {
      double& speedup = best[group(record)];
      speedup = std::max(speedup, record.speedup);
    }
  for (const Record& record : records) {
    if (!record.timed()) continue;
    const double of_group = best[group(record)];
    StratumSummary& stratum = summary.per_stratum[record.stratum];
    if (record.speedup == of_group) ++stratum.num_best;
    if (2 * record.speedup < of_group) continue;
    ++stratum.num_within_2x;
    ++summary.num_within_2x;
  }
  double sum = 0;
  for (const auto& [group, speedup] : best) sum += std::log(speedup);
  summary.best_speedup = best.empty() ? 0 : std::exp(sum / static_cast<double>(best.size()));
}

}  // namespace

Summary summarize(const std::vector<Record>& records) {
  Summary summary;
  std::set<std::string> matrices;
  std::set<std::string> originals;
  std::set<std::string> validation;
  std::set<std::string> plans;
  for (const Record& record : records) {
    count(record, summary);
    matrices.insert(record.matrix_hash);
    originals.insert(record.original);
    plans.insert(record.plan);
    if (record.split == Split::kValidation) validation.insert(record.original);
  }
  summary.num_matrices = static_cast<int64_t>(matrices.size());
  summary.num_originals = static_cast<int64_t>(originals.size());
  summary.num_plans = static_cast<int64_t>(plans.size());
  summary.num_validation_originals = static_cast<int64_t>(validation.size());
  judge_noise(records, summary);
  judge_points(records, summary);
  return summary;
}

nlohmann::ordered_json to_json(const Summary& summary) {
  nlohmann::ordered_json strata = nlohmann::ordered_json::object();
  for (const auto& [stratum, counts] : summary.per_stratum)
    strata[stratum] = {{"records", counts.num_records},
                       {"ok", counts.num_ok},
                       {"censored", counts.num_censored},
                       {"within_2x_of_best", counts.num_within_2x},
                       {"best", counts.num_best}};
  return {{"records", summary.num_records},
          {"matrices", summary.num_matrices},
          {"originals", summary.num_originals},
          {"validation_originals", summary.num_validation_originals},
          {"plans", summary.num_plans},
          {"problems", summary.per_problem},
          {"statuses", summary.per_status},
          {"splits", summary.per_split},
          {"strata", strata},
          {"censored", summary.num_censored},
          {"within_2x_of_best_share", to_four_places(share(summary.num_within_2x, summary.num_records))},
          {"best_speedup", to_four_places(summary.best_speedup)},
          {"sample_spread", to_four_places(summary.sample_spread)},
          {"rejected_share", to_four_places(summary.rejected_share)}};
}

std::string to_text(const Summary& summary) {
  std::string text =
      fmt::format("{} of {} on {} from {} ({} for validation)\n", counted(summary.num_records, "record"),
                  counted(summary.num_plans, "point"), counted(summary.num_matrices, "matrix", "matrices"),
                  counted(summary.num_originals, "original"), summary.num_validation_originals);
  for (const auto& [problem, records] : summary.per_problem)
    text += fmt::format("  {:<24}{:>9}\n", problem, records);
  text += "by status\n";
  for (const auto& [status, records] : summary.per_status)
    text += fmt::format("  {:<24}{:>9}\n", status, records);
  text += fmt::format("  {:<24}{:>9}\n", "(ok, but censored)", summary.num_censored);
  text += "by stratum                 records       ok  censored  within 2x      best\n";
  for (const auto& [stratum, counts] : summary.per_stratum)
    text += fmt::format("  {:<24}{:>9}{:>9}{:>10}{:>11}{:>10}\n", stratum, counts.num_records, counts.num_ok,
                        counts.num_censored, counts.num_within_2x, counts.num_best);
  text += fmt::format("within 2x of the best on their matrix: {:.1f} % of the records\n",
                      100 * share(summary.num_within_2x, summary.num_records));
  text += fmt::format("best over fixed_csr: {:.2f}x (geometric mean over matrices)\n", summary.best_speedup);
  text += fmt::format("noise: times known to +-{:.1f} % (median record), {:.1f} % of the rounds rejected\n",
                      100 * summary.sample_spread, 100 * summary.rejected_share);
  return text;
}

}  // namespace waco::dataset
