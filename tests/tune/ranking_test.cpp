// What ranking returns keeps the limits.
#include "waco/tune/ranking.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "../model/patterns.hpp"
#include "../model/server_ceilings.hpp"

using namespace waco;

TEST_CASE("ranking: what is sure to be within the limits is, by exact counts", "[tune]") {
  const matrix::SparseTensor tensor = test::power_law(3000, 20000, 5);
  for (const double max_fill : {1.0, 1.1, 1.5, 4.0}) {
    tune::TuneOptions options;
    options.problem = {schedule::Op::kSpmv, schedule::ValueType::kF32, 1};
    options.max_fill = max_fill;
    tune::Ranking ranking(tensor, options, 2, test::server_ceilings(2));
    const auto candidates = ranking.search(10, 600, 10);
    REQUIRE(!candidates.empty());
    const pattern::PatternCounts counts(tensor);
    for (const tune::Candidate& candidate : candidates) {
      const auto& point = candidate.measurement.point;
      INFO(max_fill << " " << schedule::to_text(point));
      const auto size = schedule::predict_storage(point.format, point.problem.op, point.problem.type, counts);
      CHECK(static_cast<double>(size.num_stored) <= max_fill * static_cast<double>(tensor.num_nonzeros()));
    }
  }
}

TEST_CASE("ranking: what only an earlier search returned is still found as a neighbour", "[tune]") {
  const matrix::SparseTensor tensor = test::power_law(300, 2000, 5);
  tune::TuneOptions options;
  options.problem = {schedule::Op::kSpmv, schedule::ValueType::kF32, 1};
  tune::Ranking ranking(tensor, options, 2, test::server_ceilings(2));
  std::set<std::string> earlier;
  for (const tune::Candidate& candidate : ranking.search(1000, 2000, 0))
    earlier.insert(schedule::to_text(candidate.measurement.point));
  const auto best = ranking.search(1, 2000, 1);
  REQUIRE(best.size() == 1);
  const auto neighbours = ranking.neighbours({best[0].measurement.point}, 100000);
  CHECK(std::any_of(neighbours.begin(), neighbours.end(), [&](const tune::Candidate& candidate) {
    return earlier.contains(schedule::to_text(candidate.measurement.point));
  }));
}
