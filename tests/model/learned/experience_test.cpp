#include "waco/model/learned/experience.hpp"

#include <catch2/catch.hpp>

#include "waco/schedule/kinship.hpp"

using namespace waco;
using model::Experience;

namespace {

const schedule::SuperSchedule kRows =
    schedule::parse("spmm f32 J=32 | A: i:U k:C | loop: i k j | par: i static x2");
const schedule::SuperSchedule kColumns =
    schedule::parse("spmm f32 J=32 | A: i:U k:C | loop: i k j | par: k static x2");

Experience experience() {
  return {{{128, 1.2}, {1024, 1.05}}, {{schedule::threaded_family(kRows), 9}}};
}

}  // namespace

TEST_CASE("experience: clustered rows cost what those of the nearest size do", "[model]") {
  const auto cost = [](int64_t rhs, schedule::ValueType type = schedule::ValueType::kF32) {
    return experience().clustered_cost({schedule::Op::kSpmm, type, rhs});
  };
  CHECK(cost(32) == 1.2);
  CHECK(cost(8) == 1.2);
  CHECK(cost(80) == 1.2);
  CHECK(cost(128) == 1.05);
  CHECK(cost(64, schedule::ValueType::kF64) == 1.05);
  CHECK(!Experience().clustered_cost(kRows.problem));
}

TEST_CASE("experience: patterns are of the family and the loop that threads share", "[model]") {
  CHECK(experience().patterns_of(kRows) == 9);
  schedule::SuperSchedule longer = kRows;
  longer.compute.chunk = 64;
  longer.compute.policy = schedule::Policy::kDynamic;
  CHECK(experience().patterns_of(longer) == 9);
  CHECK(experience().patterns_of(kColumns) == 0);
  CHECK(!Experience().patterns_of(kRows));
}

TEST_CASE("experience: of an earlier model half the patterns count, and what is known anew of no rows",
          "[model]") {
  Experience later = experience();
  later.add_earlier(
      {{{64, 2}}, {{schedule::threaded_family(kRows), 5}, {schedule::threaded_family(kColumns), 1}}});
  CHECK(later.clustered_costs == experience().clustered_costs);
  CHECK(later.patterns_of(kRows) == 11);
  CHECK(later.families.size() == 1);
  Experience nothing;
  nothing.add_earlier(experience());
  CHECK(nothing.clustered_costs == experience().clustered_costs);
  CHECK(nothing.patterns_of(kRows) == 4);
}

TEST_CASE("experience: a manifest keeps it", "[model]") {
  const nlohmann::json manifest = model::to_json(experience());
  const Experience back = model::experience_of(manifest);
  CHECK(back.clustered_costs == experience().clustered_costs);
  CHECK(back.families == experience().families);
  CHECK(model::experience_of(nlohmann::json::object()).families.empty());
}
