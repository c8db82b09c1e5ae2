// Learned models that rank together.
#include "waco/search/learned.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "../model/learned/random_model.hpp"
#include "../model/patterns.hpp"
#include "../model/server_ceilings.hpp"
#include "waco/base/files.hpp"
#include "waco/schedule/space.hpp"

using namespace waco;
using schedule::SuperSchedule;

TEST_CASE("learned: several models cost a point the geometric mean", "[search]") {
  const matrix::SparseTensor tensor = test::power_law(2000, 20000, 5);
  const schedule::Problem problem{schedule::Op::kSpmm, schedule::ValueType::kF32, 256};
  const TemporaryFolder folder;
  const auto open = [&](uint64_t seed) {
    const auto path = folder.path() / std::to_string(seed);
    test::write_random_model(path, problem.op, seed);
    return search::Learned::open(path, {}, 2);
  };
  model::ClosedFormModel closed_form(tensor, test::server_ceilings(2));
  const schedule::ScheduleSpace space(problem, tensor.dims, {2, 20, INT64_MAX});
  Random random(3);
  std::vector<SuperSchedule> points;
  for (int n = 0; n < 50; ++n) points.push_back(space.sample_uniform(random));
  const auto costs = [&](const search::Learned& learned) {
    return search::LearnedLookup(learned, tensor, problem, closed_form, 2).costs().costs(points);
  };
  const auto together = open(1);
  for (const uint64_t seed : {2, 3}) {
    auto other = open(seed);
    together->others.push_back({std::move(other->model), other->folder});
  }
  CHECK(together->hash() == open(1)->hash() + "+" + open(2)->hash() + "+" + open(3)->hash());
  const auto mean = costs(*together), first = costs(*open(1)), second = costs(*open(2)),
             third = costs(*open(3));
  REQUIRE(mean.size() == points.size());
  for (size_t n = 0; n < mean.size(); ++n)
    CHECK(mean[n] == Approx(std::cbrt(first[n] * second[n] * third[n])));
}
