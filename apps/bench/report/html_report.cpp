// The page: style, machine, and for each problem a chart and two tables.
#include "apps/bench/report/html_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "apps/bench/report/speedup_chart.hpp"
#include "apps/bench/report/summary.hpp"
#include "apps/bench/report/table.hpp"
#include "waco/base/counted.hpp"
#include "waco/base/version.hpp"
#include "waco/tune/text.hpp"

namespace waco::bench {
namespace {

constexpr const char* kStyle = R"css(
:root { color-scheme: light dark; --text: #1c1e21; --back: #ffffff; --line: #c9cdd3; --soft: #5b6270; --bad: #b3261e;
  --c0: #0b6bcb; --c1: #c2410c; --c2: #15803d; --c3: #9333ea; --c4: #b91c1c; --c5: #0e7490; --c6: #a16207;
  --c7: #be185d; --c8: #4d7c0f; --c9: #475569; --c10: #7c3aed; --c11: #0f766e; }
@media (prefers-color-scheme: dark) { :root { --text: #e6e8eb; --back: #15181c; --line: #3a4049; --soft: #a2aab6;
  --bad: #ff8a80; --c0: #6cb2ff; --c1: #ff9b63; --c2: #6fdc8c; --c3: #cfa5ff; --c4: #ff8a8a; --c5: #5fd4ea;
  --c6: #f0c75e; --c7: #ff8fc2; --c8: #b8e06a; --c9: #b4c0d0; --c10: #b79cff; --c11: #5ce0cf; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--back); max-width: 1100px;
  margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; font-size: 13px; margin: 1rem 0; }
th, td { border-bottom: 1px solid var(--line); padding: 3px 10px; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
.wide { overflow-x: auto; }
.bad { color: var(--bad); font-weight: 600; }
.soft { color: var(--soft); }
svg { width: 100%; height: auto; }
svg text { fill: var(--text); font-size: 12px; }
svg .label, svg .tick { fill: var(--soft); }
svg .grid { stroke: var(--line); stroke-width: 0.6; }
svg .one { stroke: var(--text); stroke-width: 1; stroke-dasharray: 5 4; }
svg .curve polyline, svg .curve line { fill: none; stroke: var(--c); stroke-width: 2; }
svg .curve circle { fill: var(--c); }
)css";
constexpr int kNumColours = 12;
constexpr const char* kNoFactor = "–";

std::string style() {
  std::string text = kStyle;
  // More curves than colours start over.
  for (int n = 0; n < 3 * kNumColours; ++n)
    text += fmt::format(".c{} {{ --c: var(--c{}); }}\n", n, n % kNumColours);
  return text;
}

std::string cell(double value) {
  return fmt::format("<td>{}</td>", factor(value, kNoFactor));
}

/// Our speedup, with its text: stands out where ours lost.
std::string cell(double speedup, const std::string& text) {
  return fmt::format("<td{}>{}</td>", speedup > 0 && speedup < kClearLoss ? " class=\"bad\"" : "",
                     escape_html(text));
}

std::vector<SpeedupCurve> curves_of(const std::vector<const Record*>& group, const Summary& summary) {
  std::vector<SpeedupCurve> curves{{"best peer", {}}};
  for (const Record* record : group)
    if (const double speedup = speedup_over(record->find(kWaco), record->best_peer()); speedup > 0)
      curves[0].points.emplace_back(speedup, record->matrix.name);
  for (const Standing& standing : summary.standings) {
    if (standing.name == kWaco) continue;
    SpeedupCurve& curve = curves.emplace_back();
    curve.name = standing.name;
    for (const Record* record : group)
      if (const double speedup = speedup_over(record->find(kWaco), record->find(standing.name)); speedup > 0)
        curve.points.emplace_back(speedup, record->matrix.name);
  }
  return curves;
}

std::string standings_table(const Summary& summary) {
  std::string text =
      "<table><tr><th>contestant</th><th>matrices</th><th>over fixed_csr</th><th>over balanced_csr</th>"
      "<th>waco over it</th><th>of its bound</th><th>fastest peer on</th><th>failed on</th></tr>\n";
  for (const Standing& standing : summary.standings)
    text += fmt::format("<tr><td>{}</td><td>{}</td>{}{}{}<td>{}</td><td>{}</td><td>{}</td></tr>\n",
                        escape_html(standing.name), standing.num_matrices, cell(standing.over_fixed_csr),
                        cell(standing.over_balanced_csr),
                        cell(standing.waco_over_it, factor(standing.waco_over_it, kNoFactor)),
                        percent(standing.share_of_bound), standing.num_best, standing.num_wrong);
  return text + "</table>\n";
}

std::string remarks(const Summary& summary) {
  std::string text;
  for (const std::vector<std::string>& notes : {censored_notes(summary), summary.remarks, summary.caveats})
    for (const std::string& note : notes)
      text += fmt::format("<p class=\"soft\">{}</p>\n", escape_html(note));
  return text;
}

std::string behind_csr(const Summary& summary) {
  std::string text;
  for (const Loss& loss : summary.behind_csr)
    text +=
        fmt::format("<p>waco over {} on {}: {:.2f}x.</p>\n", loss.to, escape_html(loss.matrix), loss.speedup);
  return text;
}

std::string verdict(const Summary& summary) {
  if (summary.num_with_peers == 0)
    return "<p>No library took part: fixed_csr is all there is to compare with.</p>\n";
  return fmt::format(
      "<p>waco over the best peer of each matrix: <strong>{:.2f}x</strong> (geometric mean of {} "
      "matrices{}); "
      "below {:.2f}x on {}. The best peer over fixed_csr: {:.2f}x.</p>\n",
      summary.waco_over_best_peer, summary.num_with_peers, rough_note(summary), kClearLoss,
      summary.losses.size(), summary.best_peer_over_fixed_csr);
}

std::string peer_cell(const Record& record, const std::string& name) {
  const Entry* entry = record.find(name);
  if (entry == nullptr) return "<td class=\"soft\">–</td>";
  if (!entry->ok())
    return fmt::format("<td class=\"bad\" title=\"{}\">{}</td>", escape_html(entry->message),
                       escape_html(entry->status));
  return fmt::format("<td title=\"{}, bound {} ({})\">{}{}</td>", tune::time_text(entry->time_ns.median),
                     percent(entry->bound_share()), entry->bound.binding(), entry->censored ? "&lt;" : "",
                     factor(speedup_over(entry, record.find(kFixedCsr)), kNoFactor));
}

std::string matrices_table(const std::vector<const Record*>& group, const Summary& summary) {
  std::string text =
      "<div class=\"wide\"><table><tr><th>matrix</th><th>nonzeros</th><th>fixed_csr</th><th>waco</th>"
      "<th>of its bound</th><th>over best peer</th>";
  for (const Standing& standing : summary.standings)
    if (standing.name != kFixedCsr) text += fmt::format("<th>{}</th>", escape_html(standing.name));
  text += "</tr>\n";
  for (const Record* record : group) {
    const Entry* baseline = record->find(kFixedCsr);
    const Entry* waco = record->find(kWaco);
    const bool ok = waco != nullptr && waco->ok();
    const double over_peer = speedup_over(waco, record->best_peer());
    text += fmt::format("<tr><td title=\"{}; {}\">{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>{}",
                        escape_html(record->plan), escape_html(origin_text(*record)),
                        escape_html(record->matrix.name), record->matrix.num_nonzeros,
                        baseline ? tune::time_text(baseline->time_ns.median) : "–",
                        ok ? tune::time_text(waco->time_ns.median) : "failed",
                        ok ? fmt::format("{}, {}", percent(waco->bound_share()), waco->bound.binding()) : "–",
                        cell(over_peer, over_best_peer(*record, kNoFactor)));
    for (const Standing& standing : summary.standings)
      if (standing.name != kFixedCsr) text += peer_cell(*record, standing.name);
    text += "</tr>\n";
  }
  return text +
         "</table></div>\n<p class=\"soft\">Columns of contestants: speedup over fixed_csr. Point at a cell "
         "for its time, at a matrix for its plan. Behind &lt; and &gt; are rough figures, of a peer that got "
         "a "
         "few calls only.</p>\n";
}

std::string section(std::vector<const Record*> group) {
  const Summary summary = summarize(group);
  std::sort(group.begin(), group.end(),
            [](const Record* a, const Record* b) { return a->matrix.num_nonzeros < b->matrix.num_nonzeros; });
  return fmt::format("<h2>{}, {}, {}</h2>\n", escape_html(schedule::to_text(summary.problem)),
                     counted(summary.threads, "thread"),
                     counted(summary.num_matrices, "matrix", "matrices")) +
         fmt::format("<p class=\"soft\">{}</p>\n", escape_html(to_table(group[0]->ceilings))) +
         verdict(summary) + behind_csr(summary) + speedup_chart(curves_of(group, summary)) +
         standings_table(summary) + remarks(summary) + matrices_table(group, summary);
}

}  // namespace

std::string html_report(const std::vector<Record>& records) {
  std::string text =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<title>waco-bench</title>\n<style>" +
      style() + "</style>\n</head>\n<body>\n<h1>waco-bench</h1>\n";
  if (records.empty()) text += "<p>No matrix was measured.</p>\n";
  for (const auto& group : by_problem(records)) text += section(group);
  return text + fmt::format("<p class=\"soft\">Written by {}.</p>\n</body>\n</html>\n",
                            escape_html(version_line("waco-bench")));
}

}  // namespace waco::bench
