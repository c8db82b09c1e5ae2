// Points as values and back.
#include "waco/search/choices.hpp"

#include <catch2/catch.hpp>
#include <numeric>
#include <set>

#include "waco/search/parzen.hpp"

using namespace waco;
using schedule::SuperSchedule;

namespace {

schedule::ScheduleSpace space_of(schedule::Op op) {
  std::vector<int64_t> dims(static_cast<size_t>(schedule::sparse_order(op)), 40000);
  dims[1] = 900;
  return {{op, schedule::ValueType::kF32, schedule::default_rhs(op)}, dims, {8, 20, INT64_MAX}};
}

const auto kOps = {schedule::Op::kSpmv, schedule::Op::kSpmm, schedule::Op::kSddmm, schedule::Op::kMttkrp};

}  // namespace

TEST_CASE("choices: points of the space come back from their values", "[search]") {
  for (const auto op : kOps) {
    const auto space = space_of(op);
    const search::Choices choices(space);
    Random random(5);
    int same = 0;
    const int count = 600;
    for (int n = 0; n < count; n++) {
      SuperSchedule point = space.sample_stratified(random, schedule::kStrata[n % schedule::kStrata.size()]);
      const search::Values values = choices.values_of(point);
      for (size_t c = 0; c < values.size(); c++)
        REQUIRE((values[c] >= 0 && values[c] < choices.all()[c].num_values));
      auto back = choices.point_of(values);
      REQUIRE(back);
      // Threads and sort windows are rounded to a few values; all else is exact.
      back->compute.threads = point.compute.threads;
      back->format.sort_window = point.format.sort_window;
      same += *back == point ? 1 : 0;
    }
    INFO(schedule::name(op));
    CHECK(same > count * 95 / 100);
  }
}

TEST_CASE("choices: sort windows come back, the largest ones too", "[search]") {
  for (const auto op : kOps) {
    const auto space = space_of(op);
    const search::Choices choices(space);
    Random random(7);
    std::set<int64_t> windows;
    for (int n = 0; n < 300; n++) {
      const auto point =
          choices.point_of(choices.values_of(space.sample_stratified(random, schedule::Stratum::kSliced)));
      REQUIRE(point);
      const auto again = choices.point_of(choices.values_of(*point));
      REQUIRE(again);
      CHECK(again->format.sort_window == point->format.sort_window);
      windows.insert(point->format.sort_window);
      if (point->format.sort_window == 1) continue;
      SuperSchedule widest = *point;
      widest.format.sort_window = space.largest_sort_window(point->format.split[0]);
      const auto same = choices.point_of(choices.values_of(widest));
      REQUIRE(same);
      CHECK(same->format.sort_window == widest.format.sort_window);
    }
    INFO(schedule::name(op));
    CHECK((op == schedule::Op::kMttkrp || windows.size() > 4));
  }
}

TEST_CASE("choices: drawn values nearly always make a legal point", "[search]") {
  for (const auto op : kOps) {
    const auto space = space_of(op);
    const search::Choices choices(space);
    Random random(6);
    int legal = 0;
    for (int n = 0; n < 500; n++) {
      const auto point = choices.point_of(choices.draw(random));
      if (!point) continue;
      legal++;
      CHECK_FALSE(schedule::illegal_reason(*point));
      CHECK(*point == schedule::canonical(*point));
    }
    INFO(schedule::name(op));
    CHECK(legal > 475);
  }
}

TEST_CASE("parzen: densities sum to one and follow the observations", "[search]") {
  const search::Parzen tiles({8, true}), kinds({4, false});
  const auto ordered = tiles.density({0, 0, 0, 9, 0, 0, 0, 0});
  const auto unordered = kinds.density({0, 6, 2, 0});
  for (const auto& density : {ordered, unordered, tiles.window(7), kinds.window(0)})
    CHECK(std::accumulate(density.begin(), density.end(), 0.0) == Approx(1));
  CHECK(ordered[3] > ordered[4]);
  CHECK(ordered[4] > ordered[6]);
  CHECK(unordered[1] > unordered[2]);
  CHECK(unordered[0] == Approx(unordered[3]));
  Random random(1);
  int ones = 0;
  for (int n = 0; n < 1000; n++) ones += search::draw(unordered, random) == 1 ? 1 : 0;
  CHECK(ones == Approx(1000 * unordered[1]).margin(60));
}
