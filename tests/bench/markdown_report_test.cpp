// Markdown tables say the numbers of the records.
#include "apps/bench/report/markdown_report.hpp"

#include <catch2/catch.hpp>

#include "records.hpp"

using namespace waco;
using namespace waco::bench;
using namespace waco::bench::testing;

TEST_CASE("markdown_report: every matrix is a row by nonzeros, with one column a problem", "[bench]") {
  Record large = record("large", 250, 500, 2000);
  large.matrix.num_nonzeros = 900;
  Record spmv = record("small", 400, 500, 2000);
  spmv.problem = {schedule::Op::kSpmv, schedule::ValueType::kF32, 1};
  const std::string text = markdown_report({large, record("small", 500, 250, 2000), spmv});
  CHECK_THAT(text, Catch::Contains("| matrix | nonzeros | spmm f32 J=32 | spmv f32 |"));
  const std::string rows =
      "| small | 50 | 2.00 (0.50) | 2.50 (1.25) |\n"
      "| large | 900 | 4.00 (2.00) |  |\n";
  CHECK_THAT(text, Catch::Contains(rows));
}

TEST_CASE("markdown_report: matrices of one name and size are rows of their own", "[bench]") {
  Record other = record("same", 250, 500, 2000);
  other.matrix.hash = "fedcba9876543210";
  const std::string text = markdown_report({record("same", 500, 250, 2000), other});
  CHECK_THAT(text, Catch::Contains("| same | 50 | 2.00 (0.50) |\n| same | 50 | 4.00 (2.00) |\n"));
}

TEST_CASE("markdown_report: a name ends no cell", "[bench]") {
  const std::string text = markdown_report({record("a|b\\|c\nd", 500, 250, 2000)});
  CHECK_THAT(text, Catch::Contains("| a\\|b\\\\\\|c d | 50 |"));
  CHECK_THAT(text, Catch::Contains("| spmm f32 J=32 | a\\|b\\\\\\|c d | fast | 0.50 |"));
}

TEST_CASE("markdown_report: the summary has geometric means and names the clear losses", "[bench]") {
  const std::string text = markdown_report({record("won", 250, 500, 2000), record("lost", 500, 250, 2000)});
  CHECK_THAT(text, Catch::Contains("| spmm f32 J=32 | 2 | 2.83 | 2.00 | 50 % | 2.26 | 2.83 | 1.00 | 1 |"));
  CHECK_THAT(text, Catch::Contains("| spmm f32 J=32 | lost | fast | 0.50 |"));
}

TEST_CASE("markdown_report: plans that failed are counted apart, and say why", "[bench]") {
  Record failed = record("failed", 500, 250, 2000);
  failed.entries[2] = wrong(kWaco, "");
  Record spmv = record("good", 500, 250, 2000);
  spmv.problem = {schedule::Op::kSpmv, schedule::ValueType::kF32, 1};
  const std::string text = markdown_report({failed, record("good", 250, 500, 2000), spmv});
  CHECK_THAT(text, Catch::Contains("| problem | matrices | failed | ours over `fixed_csr` |"));
  CHECK_THAT(text, Catch::Contains("| spmm f32 J=32 | 1 | 1 | 4.00 |"));
  CHECK_THAT(text, Catch::Contains("| spmv f32 | 1 | 0 | 2.00 |"));
  CHECK_THAT(text, Catch::Contains("| failed | 50 | wrong |  |\n"));
  CHECK(markdown_report({spmv}).find("failed") == std::string::npos);
}

TEST_CASE("markdown_report: problems say their threads where these differ", "[bench]") {
  Record one = record("a", 500, 250, 2000);
  one.threads = 1;
  const std::string text = markdown_report({record("a", 250, 500, 2000), one});
  CHECK_THAT(text, Catch::Contains("| matrix | nonzeros | spmm f32 J=32 x2 | spmm f32 J=32 x1 |"));
  CHECK_THAT(text, Catch::Contains("\n| spmm f32 J=32 x1 | 1 |"));
  CHECK_THAT(text, Catch::Contains("\n| spmm f32 J=32 x1 | a | fast | 0.50 |"));
  CHECK(markdown_report({one}).find(" x1 ") == std::string::npos);
}

TEST_CASE("markdown_report: figures over a peer that got a few calls only are marked", "[bench]") {
  Record slow = record("slow", 500, 9000, 12000);
  slow.entries[3].censored = slow.entries[4].censored = true;
  const std::string text = markdown_report({slow, record("usual", 500, 1000, 2000)});
  CHECK_THAT(text, Catch::Contains("| slow | 50 | 2.00 (>18.00) |"));
  CHECK_THAT(text, Catch::Contains("| usual | 50 | 2.00 (2.00) |"));
  CHECK_THAT(text, Catch::Contains("\n`>`: the best peer was over 8 times slower than `fixed_csr`"));
  CHECK_THAT(text, Catch::Contains("| >6.00 | 0 |"));
  CHECK_THAT(text, Catch::Contains("\n- spmm f32 J=32: fast: over 8 times slower than fixed_csr on 1 of 2"));
  CHECK(markdown_report({record("a>", 500, 1000, 2000)}).find("`>`") == std::string::npos);
}

TEST_CASE("markdown_report: a library's remark is told once", "[bench]") {
  const std::string text = markdown_report({record("a", 250, 500, 2000), record("b", 500, 250, 2000)});
  const std::string remark = "- alpha: takes its <generic> path\n";
  const size_t at = text.find(remark);
  REQUIRE(at != std::string::npos);
  CHECK(text.find(remark, at + 1) == std::string::npos);
  Record silent = record("a", 250, 500, 2000);
  silent.entries[3].remark.clear();
  CHECK(markdown_report({silent}).find("Of the libraries") == std::string::npos);
}
