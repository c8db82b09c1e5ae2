// Markdown tables.
#include "apps/bench/report/markdown_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "apps/bench/report/summary.hpp"
#include "apps/bench/report/table.hpp"

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

/// Names a group: by its threads, too, where those of others are not the same.
std::string label_of(const std::vector<const Record*>& group, const Groups& groups) {
  const auto has_others = [&](const std::vector<const Record*>& other) {
    return other[0]->threads != group[0]->threads;
  };
  const std::string problem = schedule::to_text(group[0]->problem);
  return std::any_of(groups.begin(), groups.end(), has_others)
             ? fmt::format("{} x{}", problem, group[0]->threads)
             : problem;
}

bool is_timed(const Record& record) {
  const Entry* waco = record.find(kWaco);
  return waco != nullptr && waco->timed();
}

/// Matrices on which our plan was not timed.
int64_t num_failed(const std::vector<const Record*>& group) {
  return std::count_if(group.begin(), group.end(), [](const Record* record) { return !is_timed(*record); });
}

/// `with_failed`: the table has a column for them.
std::string summary_line(const std::vector<const Record*>& group, const std::string& label,
                         bool with_failed) {
  const Summary summary = summarize(group);
  const auto of_waco = std::find_if(summary.standings.begin(), summary.standings.end(),
                                    [](const Standing& standing) { return standing.name == kWaco; });
  const bool timed = of_waco != summary.standings.end();
  double least = 0;
  for (const Record* record : group) {
    const double speedup = over_fixed_csr(*record);
    if (speedup > 0) least = least > 0 ? std::min(least, speedup) : speedup;
  }
  const int64_t failed = num_failed(group), num_timed = static_cast<int64_t>(group.size()) - failed;
  const bool some = summary.num_with_peers > 0 && summary.num_with_peers < num_timed;
  const std::string of_some = some ? fmt::format(" (of {})", summary.num_with_peers) : "";
  return fmt::format(
      "| {} | {} |{} {} | {} | {} | {} | {}{} | {}{}{} | {} |\n", label, num_timed,
      with_failed ? fmt::format(" {} |", failed) : "", timed ? factor(of_waco->over_fixed_csr) : "",
      factor(least), timed ? percent(of_waco->share_of_bound) : "",
      timed ? factor(of_waco->over_balanced_csr) : "", factor(summary.best_peer_over_fixed_csr), of_some,
      summary.num_rough > 0 ? ">" : "", factor(summary.waco_over_best_peer), of_some,
      summary.num_with_peers > 0 ? std::to_string(summary.losses.size()) : "");
}

std::string summary_of(const Groups& groups) {
  const bool with_failed =
      std::any_of(groups.begin(), groups.end(), [](const auto& group) { return num_failed(group) > 0; });
  std::string text = fmt::format(
      "| problem | matrices |{} ours over `fixed_csr` | least | of its bound | over balanced CSR "
      "| best peer over `fixed_csr` | ours over best peer | below 0.95 "
      "|\n|---|---|{}---|---|---|---|---|---|---|\n",
      with_failed ? " failed |" : "", with_failed ? "---|" : "");
  for (const auto& group : groups) text += summary_line(group, label_of(group, groups), with_failed);
  return text;
}

/// Where figures over peers are rough.
std::string censored_of(const Groups& groups) {
  std::string text;
  for (const auto& group : groups)
    for (const std::string& note : censored_notes(summarize(group)))
      text += fmt::format("- {}: {}\n", label_of(group, groups), note);
  if (text.empty()) return "";
  return "\nPeers that got a few calls only; behind `>` are figures over such ones, which are rough:\n\n" +
         text;
}

std::string caveats_of(const Groups& groups) {
  std::string text;
  for (const auto& group : groups)
    for (const std::string& caveat : caveats_of(group))
      text += fmt::format("- {}: {}\n", label_of(group, groups), caveat);
  return text.empty() ? "" : "\nOf the records:\n\n" + text;
}

std::string losses_of(const Groups& groups) {
  std::string text;
  for (const auto& group : groups) {
    const Summary summary = summarize(group);
    for (const std::vector<Loss>* losses : {&summary.losses, &summary.behind_csr})
      for (const Loss& loss : *losses)
        text += fmt::format("| {} | {} | {} | {:.2f} |\n", label_of(group, groups), escaped(loss.matrix),
                            loss.to, loss.speedup);
  }
  if (text.empty()) return "";
  return "\nClear losses, to libraries and to our own CSR kernels:\n\n| problem | matrix | to | ours over it "
         "|\n|---|---|---|---|\n" +
         text;
}

std::string remarks(const std::vector<Record>& records) {
  std::vector<const Record*> all;
  for (const Record& record : records) all.push_back(&record);
  std::string text;
  for (const std::string& remark : remarks_of(all)) text += fmt::format("- {}\n", remark);
  return text.empty() ? "" : "\nOf the libraries:\n\n" + text;
}

/// Whether the best peer got a few calls only.
bool is_rough(const Record& record) {
  const Entry* peer = record.best_peer();
  return is_timed(record) && peer != nullptr && peer->censored;
}

/// The speedup over fixed_csr, and over the best peer; or why our plan was not timed.
std::string cell(const Record& record) {
  if (!is_timed(record)) {
    const Entry* waco = record.find(kWaco);
    return waco != nullptr && !waco->ok() ? escaped(waco->status) : "not timed";
  }
  const std::string speedup = factor(over_fixed_csr(record)), over_peer = over_best_peer(record);
  return over_peer.empty() ? speedup : fmt::format("{} ({})", speedup, over_peer);
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
    text += fmt::format(" {} |", label_of(groups[g], groups));
    rule += "---|";
  }
  text += "\n" + rule + "\n";
  bool has_rough = false;
  for (const auto& [key, records] : rows) {
    text += fmt::format("| {} | {} |", escaped(std::get<1>(key)), std::get<0>(key));
    for (const size_t g : columns) {
      const auto record = records.find(g);
      text += fmt::format(" {} |", record == records.end() ? "" : cell(*record->second));
      has_rough = has_rough || (record != records.end() && is_rough(*record->second));
    }
    text += "\n";
  }
  if (has_rough)
    text += fmt::format(
        "\n`>`: the best peer was over {:g} times slower than `fixed_csr` and got a few calls only: a rough "
        "figure.\n",
        kCensorRatio);
  return text;
}

}  // namespace

std::string markdown_report(const std::vector<Record>& records) {
  const Groups groups = by_problem(records);
  return summary_of(groups) + censored_of(groups) + losses_of(groups) + remarks(records) +
         caveats_of(groups) + matrices_of(groups, 2) + matrices_of(groups, 3);
}

}  // namespace waco::bench
