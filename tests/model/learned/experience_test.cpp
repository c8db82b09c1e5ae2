#include "waco/model/learned/experience.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

using namespace waco;
using model::Experience;

namespace {

const std::string kRows = "a10b11 |a1b1c1 | a1", kColumns = "a10b11 |a1b1c1 | b1";

Experience experience() {
  return {{{128, 1.2}, {1024, 1.05}}, {{kRows, 9}}};
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
  CHECK(!Experience().clustered_cost({schedule::Op::kSpmv, schedule::ValueType::kF32, 1}));
}

TEST_CASE("experience: patterns are of a family", "[model]") {
  CHECK(experience().patterns_of(kRows) == 9);
  CHECK(experience().patterns_of(kColumns) == 0);
  CHECK(!Experience().patterns_of(kRows));
}

TEST_CASE("experience: of an earlier model half the patterns count, and the sizes that are not known anew",
          "[model]") {
  Experience later = experience();
  later.add_earlier({{{64, 2}, {128, 3}}, {{kRows, 5}, {kColumns, 1}}});
  CHECK(later.clustered_costs == std::vector<model::ClusteredCost>{{64, 2}, {128, 1.2}, {1024, 1.05}});
  CHECK(later.patterns_of(kRows) == 11);
  CHECK(later.families.size() == 1);
  Experience nothing;
  nothing.add_earlier(experience());
  CHECK(nothing.clustered_costs == experience().clustered_costs);
  CHECK(nothing.patterns_of(kRows) == 4);
}

TEST_CASE("experience: a manifest keeps it", "[model]") {
  nlohmann::json manifest = model::to_json(experience());
  const Experience back = model::experience_of(manifest);
  CHECK(back.clustered_costs == experience().clustered_costs);
  CHECK(back.families == experience().families);
  manifest.erase("families");
  CHECK(model::experience_of(manifest).clustered_costs == experience().clustered_costs);
  CHECK(model::experience_of(manifest).families.empty());
  CHECK(model::experience_of(nlohmann::json::object()).clustered_costs.empty());
}
