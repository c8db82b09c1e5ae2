// Markdown tables.
#include "apps/bench/markdown_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "apps/bench/summary.hpp"
#include "apps/bench/table.hpp"

namespace waco::bench {
namespace {

using Groups = std::vector<std::vector<const Record*>>;

/// A name as text of a table's cell.
std::string escaped(const std::string& name) {
  std::string text;
  for (const char c : name) {
    if (c == '|' || c == '\\') text += '\\';
    text += c == '\n' || c == '\r' ? ' ' : c;
  }
  return text;
}

double over_fixed_csr(const Record& record) {
  return speedup_over(record.find(kWaco), record.find(kFixedCsr));
}

std::string summary_line(const std::vector<const Record*>& group) {
  const Summary summary = summarize(group);
  const auto of_waco = std::find_if(summary.standings.begin(), summary.standings.end(),
                                    [](const Standing& standing) { return standing.name == kWaco; });
  const bool timed = of_waco != summary.standings.end();
  double least = 0;
  for (const Record* record : group) {
    const double speedup = over_fixed_csr(*record);
    if (speedup > 0) least = least > 0 ? std::min(least, speedup) : speedup;
  }
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", schedule::to_text(summary.problem),
                     summary.num_matrices, timed ? factor(of_waco->over_fixed_csr) : "", factor(least),
                     timed ? percent(of_waco->share_of_bound) : "",
                     timed ? factor(of_waco->over_balanced_csr) : "",
                     factor(summary.best_peer_over_fixed_csr), factor(summary.waco_over_best_peer),
                     summary.num_with_peers > 0 ? std::to_string(summary.losses.size()) : "");
}

std::string losses_of(const Groups& groups) {
  std::string text;
  for (const auto& group : groups)
    for (const Loss& loss : summarize(group).losses)
      text += fmt::format("| {} | {} | {} | {:.2f} |\n", schedule::to_text(group[0]->problem),
                          escaped(loss.matrix), loss.peer, loss.speedup);
  if (text.empty()) return "";
  return "\nClear losses:\n\n| problem | matrix | peer | ours over it |\n|---|---|---|---|\n" + text;
}

std::string remarks(const std::vector<Record>& records) {
  std::vector<const Record*> all;
  for (const Record& record : records) all.push_back(&record);
  std::string text;
  for (const std::string& remark : remarks_of(all)) text += fmt::format("- {}\n", remark);
  return text.empty() ? "" : "\nOf the libraries:\n\n" + text;
}

std::string cell(const Record& record) {
  const std::string speedup = factor(over_fixed_csr(record));
  const double over_peer = speedup_over(record.find(kWaco), record.best_peer());
  return over_peer > 0 ? fmt::format("{} ({:.2f})", speedup, over_peer) : speedup;
}

/// Of a row: nonzeros first, by which rows are sorted; the hash tells apart what has one name and size.
using MatrixKey = std::tuple<int64_t, std::string, std::string>;

/// One row a matrix, by nonzeros, and one column a problem.
std::string matrices_of(const Groups& groups, size_t order) {
  std::map<MatrixKey, std::map<size_t, const Record*>> rows;
  std::vector<size_t> columns;
  for (size_t g = 0; g < groups.size(); ++g) {
    if (static_cast<size_t>(schedule::sparse_order(groups[g][0]->problem.op)) != order) continue;
    columns.push_back(g);
    for (const Record* record : groups[g])
      rows[{record->matrix.num_nonzeros, record->matrix.name, record->matrix.hash}][g] = record;
  }
  if (columns.empty()) return "";
  std::string text = order == 2 ? "\n| matrix | nonzeros |" : "\n| tensor | nonzeros |", rule = "|---|---|";
  for (const size_t g : columns) {
    text += fmt::format(" {} |", schedule::to_text(groups[g][0]->problem));
    rule += "---|";
  }
  text += "\n" + rule + "\n";
  for (const auto& [key, records] : rows) {
    text += fmt::format("| {} | {} |", escaped(std::get<1>(key)), std::get<0>(key));
    for (const size_t g : columns) {
      const auto record = records.find(g);
      text += fmt::format(" {} |", record == records.end() ? "" : cell(*record->second));
    }
    text += "\n";
  }
  return text;
}

}  // namespace

std::string markdown_report(const std::vector<Record>& records) {
  const Groups groups = by_problem(records);
  std::string text =
      "| problem | matrices | ours over `fixed_csr` | least | of its bound | over balanced CSR "
      "| best peer over `fixed_csr` | ours over best peer | below 0.95 "
      "|\n|---|---|---|---|---|---|---|---|---|\n";
  for (const auto& group : groups) text += summary_line(group);
  return text + losses_of(groups) + remarks(records) + matrices_of(groups, 2) + matrices_of(groups, 3);
}

}  // namespace waco::bench
