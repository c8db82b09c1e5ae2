// Drawings of what every epoch reached.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "waco/base/version.hpp"
#include "waco/train/report.hpp"

namespace waco::train {
namespace {

using nlohmann::ordered_json;

constexpr const char* kStyle = R"css(
:root { color-scheme: light dark; --text: #1c1e21; --back: #ffffff; --line: #c9cdd3; --soft: #5b6270;
  --c0: #0b6bcb; --c1: #c2410c; --c2: #15803d; --c3: #9333ea; }
@media (prefers-color-scheme: dark) { :root { --text: #e6e8eb; --back: #15181c; --line: #3a4049; --soft: #a2aab6;
  --c0: #6cb2ff; --c1: #ff9b63; --c2: #6fdc8c; --c3: #cfa5ff; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--back); max-width: 900px;
  margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; font-size: 13px; margin: 1rem 0; }
th, td { border-bottom: 1px solid var(--line); padding: 3px 10px; text-align: right; }
th:first-child, td:first-child { text-align: left; }
.soft { color: var(--soft); }
svg { width: 100%; height: auto; }
svg text { fill: var(--text); font-size: 12px; }
svg .tick { fill: var(--soft); }
svg .grid { stroke: var(--line); stroke-width: 0.6; }
svg .best { stroke: var(--text); stroke-dasharray: 5 4; }
svg polyline, svg .key { fill: none; stroke: var(--c); stroke-width: 2; }
.c0 { --c: var(--c0); } .c1 { --c: var(--c1); } .c2 { --c: var(--c2); } .c3 { --c: var(--c3); }
)css";

constexpr double kWidth = 860, kHeight = 260, kLeft = 60, kRight = 660, kTop = 12, kBottom = 220;

struct Curve {
  std::string name;
  std::vector<double> values;  ///< by epoch
};

/// A step of 1, 2 or 5 times a power of ten that gives about five lines.
double grid_step(double range) {
  const double power = std::pow(10, std::floor(std::log10(std::max(range, 1e-9) / 5)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (range / (factor * power) <= 6) return factor * power;
  return 10 * power;
}

std::string chart(const std::vector<Curve>& curves, int best) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  size_t longest = 0;
  for (const Curve& curve : curves) {
    longest = std::max(longest, curve.values.size());
    for (const double value : curve.values) low = std::min(low, value), high = std::max(high, value);
  }
  if (!(high > low)) high = low + 1e-3;
  const double step = grid_step(high - low);
  low = std::floor(low / step) * step;
  high = std::ceil(high / step) * step;
  const auto x = [&](double epoch) {
    return kLeft + (kRight - kLeft) * (longest > 1 ? (epoch - 1) / static_cast<double>(longest - 1) : 0.5);
  };
  const auto y = [&](double value) { return kBottom - (kBottom - kTop) * (value - low) / (high - low); };
  std::string text = fmt::format(R"(<svg viewBox="0 0 {} {}" role="img">)", kWidth, kHeight) + "\n";
  for (double at = low; at <= high + step / 2; at += step)
    text += fmt::format(
        R"(<line class="grid" x1="{0}" x2="{1}" y1="{2:.1f}" y2="{2:.1f}"/><text class="tick" text-anchor="end" x="{3}" y="{4:.1f}">{5:.4g}</text>)",
        kLeft, kRight, y(at), kLeft - 8, y(at) + 4, at);
  text += fmt::format(
      R"(<text class="tick" x="{}" y="{}">epoch 1</text><text class="tick" text-anchor="end" x="{}" y="{}">{}</text>)",
      kLeft, kBottom + 20, kRight, kBottom + 20, longest);
  if (best > 0)
    text += fmt::format(R"(<line class="best" x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2}"/>)", x(best), kTop,
                        kBottom);
  for (size_t c = 0; c < curves.size(); ++c) {
    std::string points;
    for (size_t n = 0; n < curves[c].values.size(); ++n)
      points += fmt::format("{}{:.1f},{:.1f}", n > 0 ? " " : "", x(static_cast<double>(n + 1)),
                            y(curves[c].values[n]));
    const double line = kTop + 20 * (static_cast<double>(c) + 0.5);
    text += fmt::format(
        R"(<g class="c{}"><polyline points="{}"/><line class="key" x1="{}" x2="{}" y1="{}" y2="{}"/></g><text x="{}" y="{}">{}</text>)",
        c, points, kRight + 20, kRight + 44, line, line, kRight + 52, line + 4, curves[c].name);
    text += "\n";
  }
  return text + "</svg>\n";
}

Curve curve(const ordered_json& epochs, const std::string& name, const char* part, const std::string& key) {
  Curve result{name, {}};
  for (const ordered_json& epoch : epochs)
    result.values.push_back((*part == '\0' ? epoch : epoch.at(part)).value(key, 0.0));
  return result;
}

std::string metrics_table(const ordered_json& metrics) {
  std::string text =
      "<table><tr><th>model</th><th>right pairs</th><th>top 1</th><th>top 5</th><th>top 10</th></tr>\n";
  for (const char* name : {"learned", "blended", "retrieval", "closed_form", "random", "fixed_csr"}) {
    const ordered_json& own = metrics.at(name);
    const int64_t all = metrics.at("learned").value("groups", int64_t{0}), groups = own.value("groups", all);
    const std::string of_some = groups == all ? "" : fmt::format(" (of {} groups)", groups);
    text += fmt::format("<tr><td>{}{}</td><td>{}</td>", name, of_some,
                        own.contains("pairwise_accuracy")
                            ? fmt::format("{:.2f} %", 100 * own.at("pairwise_accuracy").get<double>())
                            : "–");
    for (const char* key : {"top1_regret", "top5_regret", "top10_regret"})
      text += fmt::format("<td>{:.3f}</td>", own.at(key).get<double>());
    text += "</tr>\n";
  }
  return text + "</table>\n";
}

}  // namespace

std::string curves_page(const ordered_json& report) {
  const ordered_json& epochs = report.at("epochs");
  const int best = report.at("training").value("best_epoch", 0);
  std::string text =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\"/>\n<title>waco-train</title>\n<style>";
  text += kStyle;
  text += fmt::format("</style>\n</head>\n<body>\n<h1>waco-train: {}, {}</h1>\n",
                      report.at("op").get<std::string>(), report.at("extractor").get<std::string>());
  text += "<p class=\"soft\">Validation matrices; the dashed line is the epoch that was kept.</p>\n";
  text += "<h2>Loss</h2>\n" + chart({curve(epochs, "training", "", "training_loss"),
                                     curve(epochs, "validation", "", "validation_loss")},
                                    best);
  text += "<h2>Share of pairs in the right order</h2>\n" +
          chart({curve(epochs, "with terms", "corrected", "pairwise_accuracy"),
                 curve(epochs, "retrieval", "retrieved", "pairwise_accuracy")},
                best);
  text += "<h2>Regret</h2>\n" + chart({curve(epochs, "top 1", "corrected", "top1_regret"),
                                       curve(epochs, "top 5", "corrected", "top5_regret"),
                                       curve(epochs, "top 10", "corrected", "top10_regret"),
                                       curve(epochs, "top 10, retrieval", "retrieved", "top10_regret")},
                                      best);
  text += metrics_table(report.at("metrics"));
  return text +
         fmt::format("<p class=\"soft\">Written by {}.</p>\n</body>\n</html>\n", version_line("waco-train"));
}

}  // namespace waco::train
