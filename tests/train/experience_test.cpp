#include "waco/train/experience.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "waco/model/closed_form.hpp"
#include "waco/model/learned/cost_features.hpp"

using namespace waco;
using namespace waco::train;

namespace {

const schedule::Problem kProblem{schedule::Op::kSpmm, schedule::ValueType::kF32, 32};

size_t place_of(const std::string& name) {
  const auto& names = model::cost_feature_names();
  return static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

/// Points that differ in their chunks, each expected and measured to take the same share of fixed_csr's time
/// (both as log2).
Example example(const std::string& hash, bool clustered, int num_points, float csr, float expected,
                float measured) {
  Example result;
  result.group.matrix_hash = hash;
  result.group.problem = kProblem;
  result.group.threads = 2;
  result.group.clustered = clustered;
  const size_t num_terms = model::cost_feature_names().size();
  for (int n = 0; n < num_points; ++n) {
    const auto point = schedule::parse(
        fmt::format("spmm f32 J=32 | A: i:U k:C | loop: i k j | par: i dynamic,{} x2", 1 << n));
    result.group.points.push_back(clustered ? schedule::arranged(point, schedule::Arrangement::kClustered)
                                            : point);
    result.group.labels.push_back({measured, 0.1F, false});
    std::vector<float> terms(num_terms, 0);
    terms[place_of("total_to_csr")] = expected;
    terms[place_of("csr_total")] = csr;
    result.terms.insert(result.terms.end(), terms.begin(), terms.end());
  }
  return result;
}

std::vector<const Example*> all(const std::vector<Example>& examples) {
  std::vector<const Example*> result;
  for (const Example& one : examples) result.push_back(&one);
  return result;
}

}  // namespace

TEST_CASE("clustered_costs: twins of rows that are sorted over more than their window", "[train]") {
  std::vector<Example> examples;
  const auto sorted =
      schedule::parse("spmv f32 | A: i1:U i0:U k:L [i/8 sort:4096] | loop: i1 k i0 | par: i1 static x2");
  for (size_t n = 0; n < kLeastPatterns; ++n)
    for (const bool clustered : {false, true}) {
      examples.push_back(example(fmt::format("{}", n), clustered, 1, 6, -1, -1));
      Group& group = examples.back().group;
      group.problem = sorted.problem;
      group.cluster_window = clustered ? 1024 : 0;
      group.points[0] = clustered ? schedule::clustered(sorted, 1024) : sorted;
    }
  CHECK(examples[1].group.points[0].format.sort_window == 1024);
  REQUIRE(clustered_costs(all(examples)).size() == 1);
  CHECK(clustered_costs(all(examples))[0].row_bytes == 4);
}

TEST_CASE("clustered_costs: what twins take beyond what is expected, in the middle of the patterns of a size",
          "[train]") {
  std::vector<Example> examples;
  const auto add = [&](size_t n, float excess, int64_t rhs = kProblem.rhs) {
    // CSR and the points are expected to take half the time each with clustered rows: log2 -1 and -1.
    const auto gain = static_cast<float>(-2 * model::kClusteredGainKept);
    examples.push_back(example(fmt::format("{}", n), false, 5, 6, -0.5, -1));
    examples.back().group.problem.rhs = rhs;
    examples.push_back(example(fmt::format("{}", n), true, 4, 5, -1.5, -1 + gain + excess));
    examples.back().group.problem.rhs = rhs;
  };
  for (size_t n = 0; n + 1 < kLeastPatterns; ++n) add(n, 0.25F);
  add(kLeastPatterns, 1, 256);
  CHECK(clustered_costs(all(examples)).empty());  // too few of either size
  add(kLeastPatterns, 5);                         // an outlier
  const std::vector<model::ClusteredCost> costs = clustered_costs(all(examples));
  REQUIRE(costs.size() == 1);
  CHECK(costs[0].row_bytes == 4 * kProblem.rhs);
  CHECK(costs[0].factor == Approx(std::exp2(0.25)));
  for (size_t n = 0; n < kLeastPatterns; ++n) add(n, 0, 256);
  CHECK(clustered_costs(all(examples)).size() == 2);
  CHECK(clustered_costs(all(examples))[1].row_bytes == 1024);
  CHECK(clustered_costs(all(examples))[1].factor == Approx(1));

  // What has no twin, of another machine or not timed to the end, says nothing.
  examples.resize(2 * kLeastPatterns + 2);
  // A matrix in two files is one pattern.
  for (int64_t rhs : {32, 256}) {
    add(kLeastPatterns, 7, rhs);
    examples.back().group.matrix_hash = "0";
    examples[examples.size() - 2].group.matrix_hash = "0";
  }
  CHECK(clustered_costs(all(examples)).size() == 1);
  CHECK(clustered_costs(all(examples))[0].factor == Approx(std::exp2(0.25)));
  examples.resize(2 * kLeastPatterns + 2);
  for (Example& one : examples)
    if (!one.group.clustered) one.group.machine = 1;
  CHECK(clustered_costs(all(examples)).empty());
  for (Example& one : examples) one.group.machine = 1;
  CHECK(clustered_costs(all(examples)).size() == 1);
  for (Label& label : examples[0].group.labels) label.censored = true;
  CHECK(clustered_costs(all(examples)).empty());
}

TEST_CASE("families_of: patterns, not files, types or sizes, count", "[train]") {
  std::vector<Example> examples;
  for (const char* hash : {"0", "1", "1"}) examples.push_back(example(hash, false, 3, 6, -0.5, -1));
  examples.back().group.problem.rhs = 256;
  examples.push_back(example("2", true, 3, 6, -0.5, -1));
  CHECK(families_of(all(examples)) == std::map<std::string, int64_t>{{"a10b11 |a1b1c1 | a1", 3}});
  examples[0].group.points[0] =
      schedule::parse("spmm f32 J=32 | A: i:U k:C | loop: i k j | par: k static x2");
  CHECK(families_of(all(examples)).at("a10b11 |a1b1c1 | b1") == 1);
}
