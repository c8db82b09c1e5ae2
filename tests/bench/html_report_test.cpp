// The page is well-formed, complete and self-contained.
#include "apps/bench/report/html_report.hpp"

#include <catch2/catch.hpp>
#include <regex>

#include "apps/bench/report/speedup_chart.hpp"
#include "records.hpp"

using namespace waco;
using namespace waco::bench;
using namespace waco::bench::testing;

namespace {

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++found;
  return found;
}

/// Why tags, attributes or references are not well-formed; empty when they are. `<style>` and the doctype are
/// skipped.
std::string fault(std::string text) {
  text = std::regex_replace(text, std::regex("<!DOCTYPE html>"), "");
  const size_t style = text.find("<style>"), style_end = text.find("</style>");
  if (style != std::string::npos) text.erase(style, style_end + 8 - style);
  std::vector<std::string> open;
  const std::regex tag("^<(/?)([a-z][a-z0-9]*)((?:\\s+[a-zA-Z][a-zA-Z0-9-]*=\"[^\"<>]*\")*)\\s*(/?)>");
  const std::regex reference("^&(amp|lt|gt|quot);");
  for (size_t at = 0; at < text.size(); ++at) {
    std::smatch match;
    const std::string rest = text.substr(at, 20000);
    if (text[at] == '&' && !std::regex_search(rest, reference)) return "stray & at " + rest.substr(0, 40);
    if (text[at] == '>') return "stray > at " + rest.substr(0, 40);
    if (text[at] != '<') continue;
    if (!std::regex_search(rest, match, tag)) return "bad tag at " + rest.substr(0, 60);
    at += static_cast<size_t>(match.length()) - 1;
    if (match[4] == "/") continue;
    if (match[1] != "/") {
      open.push_back(match[2]);
    } else if (open.empty() || open.back() != match[2]) {
      return "unexpected </" + match[2].str() + ">";
    } else {
      open.pop_back();
    }
  }
  return open.empty() ? "" : "never closed: " + open.back();
}

}  // namespace

TEST_CASE("html_report: every matrix and contestant is there, in well-formed markup", "[bench]") {
  std::vector<Record> records{record("won & <odd> \"name\"", 500, 1000, 2000), record("lost", 900, 450, 700)};
  records[1].entries[3].censored = true;
  const std::string page = html_report(records);
  CHECK(fault(page) == "");
  CHECK(page.find("won &amp; &lt;odd&gt; &quot;name&quot;") != std::string::npos);
  CHECK(page.find("lost") != std::string::npos);
  CHECK(page.find("<td class=\"bad\">&gt;0.50</td>") != std::string::npos);
  CHECK(page.find("element [3, 1] is 2, expected 1") != std::string::npos);
  CHECK(page.find("spmm f32 J=32") != std::string::npos);
  CHECK(page.find("tuned in 1.5 s by the closed-form model with effort normal") != std::string::npos);
  CHECK(count(page, "alpha: takes its &lt;generic&gt; path") == 1);
}

TEST_CASE("html_report: says which peers got a few calls only", "[bench]") {
  Record slow = record("slow", 500, 9000, 12000);
  slow.entries[3].censored = slow.entries[4].censored = true;
  const std::string page = html_report({slow});
  CHECK(fault(page) == "");
  CHECK(page.find("<td>&gt;18.00</td>") != std::string::npos);
  CHECK(page.find("fast: over 8 times slower than fixed_csr on 1 of 1 matrix") != std::string::npos);
}

TEST_CASE("html_report: needs nothing from elsewhere and follows light and dark", "[bench]") {
  const std::string page = html_report({record("a", 500, 1000, 2000)});
  for (const char* part : {"http:", "https:", "src=", "href=", "<script", "@import", "url("})
    CHECK(page.find(part) == std::string::npos);
  CHECK(page.find("prefers-color-scheme: dark") != std::string::npos);
}

TEST_CASE("html_report: problems get sections of their own, and none is no error", "[bench]") {
  std::vector<Record> records{record("a", 500, 1000, 2000), record("a", 500, 1000, 2000)};
  records[1].problem = {schedule::Op::kMttkrp, schedule::ValueType::kF64, 16};
  records[1].entries.resize(3);
  const std::string page = html_report(records);
  CHECK(fault(page) == "");
  CHECK(count(page, "<svg") == 2);
  CHECK(count(page, "<h2>") == 2);
  CHECK(page.find("No library took part") != std::string::npos);
  CHECK(page.find("2 threads (built-in guesses") != std::string::npos);
  CHECK(page.find("1 thread (built-in guesses") == std::string::npos);
  records[1].threads = 1;
  records[1].ceilings = model::default_ceilings(1);
  const std::string of_threads = html_report(records);
  CHECK(count(of_threads, "2 threads (built-in guesses") == 1);
  CHECK(count(of_threads, "1 thread (built-in guesses") == 1);
  CHECK(count(of_threads, ", 2 threads, 1 matrix</h2>") == 1);
  CHECK(count(of_threads, ", 1 thread, 1 matrix</h2>") == 1);
  CHECK(fault(html_report({})) == "");
}

TEST_CASE("speedup_chart: a curve a contestant with a point a matrix, sorted upwards", "[bench]") {
  const std::string svg =
      speedup_chart({{"alpha", {{4, "x"}, {0.5, "y"}, {1, "z"}}}, {"empty", {}}, {"one", {{2, "x"}}}});
  CHECK(fault(svg) == "");
  CHECK(count(svg, "<polyline") == 2);
  CHECK(count(svg, "<circle") == 4);
  CHECK(svg.find("empty") == std::string::npos);
  CHECK(svg.find("log scale") != std::string::npos);
  // 0.5 is the lowest line of the grid, 4 the highest: the curve runs from corner to corner.
  CHECK(svg.find("points=\"64.0,360.0 362.0,245.3 660.0,16.0\"") != std::string::npos);
}
