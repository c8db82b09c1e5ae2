// Footprint curves against windows counted by hand and by brute force.
#include "waco/model/footprint.hpp"

#include <omp.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <set>

#include "waco/base/random.hpp"

using waco::model::FootprintCurve;

namespace {

double counted(const std::vector<int32_t>& trace, size_t window) {
  double sum = 0;
  for (size_t start = 0; start < trace.size(); start++) {
    std::set<int32_t> seen;
    for (size_t n = 0; n < window; n++) seen.insert(trace[(start + n) % trace.size()]);
    sum += static_cast<double>(seen.size());
  }
  return sum / static_cast<double>(trace.size());
}

}  // namespace

TEST_CASE("footprint: windows of a random trace hold as many distinct elements as counting finds",
          "[model]") {
  waco::Random random(3);
  std::vector<int32_t> trace;
  for (int n = 0; n < 600; n++) trace.push_back(static_cast<int32_t>(random.below(40) * random.below(3)));
  const FootprintCurve curve(trace, 100);
  for (const size_t window : {1, 2, 4, 16, 64, 256})
    CHECK(curve.distinct(static_cast<double>(window)) == Approx(counted(trace, window)).epsilon(0.02));
}

TEST_CASE("footprint: a cyclic sweep misses always in a smaller window and never in a whole one", "[model]") {
  std::vector<int32_t> trace(1000);
  for (int n = 0; n < 1000; n++) trace[n] = n;
  const FootprintCurve curve(trace, 1000);
  CHECK(curve.num_distinct() == 1000);
  CHECK(curve.miss_ratio(400) == Approx(1));
  CHECK(curve.miss_ratio(1000) == 0);
  CHECK(curve.sequential() > 0.99);
}

TEST_CASE("footprint: scattered accesses are not sequential", "[model]") {
  waco::Random random(5);
  std::vector<int32_t> trace;
  for (int n = 0; n < 20000; n++) trace.push_back(static_cast<int32_t>(random.below(1000000)));
  CHECK(FootprintCurve(trace, 1000000).sequential() < 0.1);
}

TEST_CASE("footprint: an empty trace has no footprint", "[model]") {
  const FootprintCurve curve({}, 10);
  CHECK(curve.distinct(5) == 0);
  CHECK(curve.miss_ratio(5) == 0);
}

TEST_CASE("footprint: a sample of the coordinates gives about the curve of all", "[model]") {
  waco::Random random(9);
  constexpr int64_t kDim = 150000, kLength = 1200000;
  std::vector<int64_t> coords;
  for (int64_t n = 0; n < kLength; n++) {
    // A band, long jumps, and some coordinates that are met again and again.
    const int64_t band = n * kDim / kLength + static_cast<int64_t>(random.below(300));
    const auto far = static_cast<int64_t>(random.below(kDim));
    const auto frequent = static_cast<int64_t>(random.below(60)) * 2500;
    coords.push_back(random.chance(0.6) ? band % kDim : random.chance(0.7) ? far : frequent);
  }
  auto blocks = waco::model::sampled_blocks(kDim, kLength);
  REQUIRE(blocks.size() >= 32);
  const auto sample = waco::model::sample_accesses(coords, kDim, {}, blocks);
  CHECK(sample.times.size() < coords.size() / 4);
  for (const int64_t grain : {1, 3, 16, 32}) {
    const FootprintCurve all(coords, grain, kDim / grain + 1);
    const FootprintCurve some = FootprintCurve::estimate(sample, grain);
    INFO(grain);
    CHECK(some.num_distinct() == Approx(all.num_distinct()).epsilon(0.02));
    CHECK(some.sequential() == Approx(all.sequential()).margin(0.05));
    for (const double window : {100.0, 3000.0, 30000.0, 300000.0}) {
      INFO(window);
      CHECK(some.distinct(window) == Approx(all.distinct(window)).epsilon(0.1));
      CHECK(some.miss_ratio(window) == Approx(all.miss_ratio(window)).margin(0.03));
    }
  }
}

TEST_CASE("footprint: sampled rows are the sample of the row coordinates", "[model]") {
  waco::Random random(4);
  std::vector<int64_t> pointers{0}, coords;
  for (int64_t row = 0; row < 40000; row++) {
    pointers.push_back(pointers.back() + static_cast<int64_t>(random.below(20)));
    coords.resize(static_cast<size_t>(pointers.back()), row);
  }
  const auto blocks = waco::model::sampled_blocks(40000, pointers.back());
  REQUIRE(!blocks.empty());
  const auto rows = waco::model::sample_rows(pointers, blocks);
  const auto accesses = waco::model::sample_accesses(coords, 40000, {}, blocks);
  CHECK(rows.times == accesses.times);
  CHECK(rows.places == accesses.places);
  CHECK(rows.length == accesses.length);
}

TEST_CASE("footprint: a sample of what is visited slice after slice needs no sorted visits", "[model]") {
  waco::Random random(12);
  constexpr int64_t kRows = 40000, kColumns = 700;
  std::vector<int64_t> rows, columns;
  for (int64_t row = 0; row < kRows; row++)
    for (int64_t column = static_cast<int64_t>(random.below(90)); column < kColumns;
         column += 1 + static_cast<int64_t>(random.below(90))) {
      rows.push_back(row);
      columns.push_back(column);
    }
  std::vector<int32_t> visits(rows.size());
  std::iota(visits.begin(), visits.end(), 0);
  std::stable_sort(visits.begin(), visits.end(), [&](int32_t a, int32_t b) {
    return columns[static_cast<size_t>(a)] < columns[static_cast<size_t>(b)];
  });
  std::vector<int64_t> pointers(kColumns + 1, 0);
  for (const int64_t column : columns) pointers[static_cast<size_t>(column) + 1]++;
  std::partial_sum(pointers.begin(), pointers.end(), pointers.begin());

  const auto blocks = waco::model::sampled_blocks(kRows, static_cast<int64_t>(rows.size()));
  REQUIRE(!blocks.empty());
  const auto sorted = waco::model::sample_accesses(rows, kRows, visits, blocks);
  const auto counted = waco::model::sample_slices(rows, true, kRows, columns, pointers, blocks);
  CHECK(counted.places == sorted.places);
  CHECK(counted.length == sorted.length);
  CHECK(counted.dim == sorted.dim);
  REQUIRE(std::is_sorted(counted.times.begin(), counted.times.end(), std::less_equal<>()));
  REQUIRE(counted.times.size() == sorted.times.size());
  int64_t misplaced = 0;  // accesses of a slice come in order, but at about their time
  for (size_t n = 0; n < sorted.times.size(); n++)
    misplaced = std::max<int64_t>(misplaced, std::abs(counted.times[n] - sorted.times[n]));
  CHECK(misplaced < 60);
  const auto filtered = waco::model::sample_slices(rows, false, kRows, columns, pointers, blocks);
  CHECK(filtered.times == counted.times);
  CHECK(filtered.places == counted.places);
  for (const int64_t grain : {1, 16}) {
    const FootprintCurve exact = FootprintCurve::estimate(sorted, grain);
    const FootprintCurve about = FootprintCurve::estimate(counted, grain);
    for (const double window : {10.0, 1000.0, 30000.0, 300000.0}) {
      INFO(grain << ' ' << window);
      CHECK(about.distinct(window) == Approx(exact.distinct(window)).epsilon(0.01));
      CHECK(about.miss_ratio(window) == Approx(exact.miss_ratio(window)).margin(0.01));
    }
  }
}

TEST_CASE("footprint: long traces have the same curve on any number of threads", "[model]") {
  const int before = omp_get_max_threads();
  waco::Random random(8);
  constexpr int64_t kDim = 9000, kLength = 700000;
  std::vector<int64_t> coords;  // sweeps, jumps
  for (int64_t n = 0; n < kLength; n++)
    coords.push_back(random.chance(0.7) ? n / 9 % kDim : static_cast<int64_t>(random.below(kDim)));
  for (const int64_t grain : {1, 7, 64, 2048}) {
    omp_set_num_threads(1);
    const FootprintCurve alone(coords, grain, kDim / grain + 1);
    for (const int threads : {2, 3, 5}) {
      INFO(grain << ' ' << threads);
      omp_set_num_threads(threads);
      const FootprintCurve together(coords, grain, kDim / grain + 1);
      CHECK(together.num_distinct() == alone.num_distinct());
      CHECK(together.sequential() == alone.sequential());
      for (double window = 1; window < kLength; window *= 1.3) {
        CHECK(together.distinct(window) == alone.distinct(window));
        CHECK(together.miss_ratio(window) == alone.miss_ratio(window));
      }
    }
  }
  omp_set_num_threads(before);
}

TEST_CASE("footprint: short traces and few coordinates are not sampled", "[model]") {
  CHECK(waco::model::sampled_blocks(1000000, 200000).empty());
  CHECK(waco::model::sampled_blocks(4000, 50000000).empty());
}
