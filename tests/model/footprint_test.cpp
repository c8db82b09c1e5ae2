// Footprint curves against windows counted by hand and by brute force.
#include "waco/model/footprint.hpp"

#include <catch2/catch.hpp>
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
