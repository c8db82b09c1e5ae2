// Searches over real spaces with the closed-form model: what they return is legal, feasible, distinct and
// repeatable; following neighbours finds what is cheaper than all starting points.
#include "waco/search/search.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "../model/patterns.hpp"
#include "../model/server_ceilings.hpp"
#include "downhill.hpp"
#include "problems.hpp"
#include "subspaces.hpp"
#include "waco/model/closed_form.hpp"
#include "waco/search/diversity.hpp"

using namespace waco;
using namespace waco::search::testing;
using schedule::SuperSchedule;

namespace {

struct Bench {
  Bench(matrix::SparseTensor input, schedule::Problem problem)
      : tensor(std::move(input)),
        limits{2, 20, INT64_MAX},
        space(problem, tensor.dims, limits),
        counts(tensor),
        model(tensor, test::server_ceilings(2)) {}

  search::Feasible feasible() {
    return [this](const SuperSchedule& point) { return !schedule::exclusion_reason(point, counts, limits); };
  }
  std::vector<search::Scored> run(search::Search& search, uint64_t seed, int64_t budget = 1200) {
    Random random(seed);
    return search.run(space, model, feasible(), budget, random, 10);
  }

  matrix::SparseTensor tensor;
  schedule::SpaceLimits limits;
  schedule::ScheduleSpace space;
  pattern::PatternCounts counts;
  model::ClosedFormModel model;
};

/// Every search that needs nothing but a cost model.
std::vector<std::pair<std::string, std::unique_ptr<search::Search>>> all_searches() {
  std::vector<std::pair<std::string, std::unique_ptr<search::Search>>> all;
  all.emplace_back("neighbours", std::make_unique<search::NeighbourSearch>());
  all.emplace_back("tpe", std::make_unique<search::TpeSearch>());
  all.emplace_back("bandit", std::make_unique<search::BanditSearch>());
  all.emplace_back("random", std::make_unique<search::RandomSearch>());
  return all;
}

/// All blocks are a little cheaper than all else, and one point is far cheaper.
class BlocksFirst : public model::CostModel {
 public:
  explicit BlocksFirst(SuperSchedule cheapest) : cheapest_(std::move(cheapest)) {}
  std::vector<double> costs(std::span<const SuperSchedule> points) override {
    std::vector<double> result;
    for (const auto& point : points)
      result.push_back(point == cheapest_                                          ? 1
                       : schedule::kind_of(point) == schedule::FormatKind::kBlocks ? 10
                                                                                   : 12);
    return result;
  }

 private:
  SuperSchedule cheapest_;
};

/// Costs a hash of the text: a landscape without any order.
class HashModel : public model::CostModel {
 public:
  std::vector<double> costs(std::span<const SuperSchedule> points) override {
    std::vector<double> result;
    for (const auto& point : points) {
      evaluated++;
      uint64_t hash = 1469598103934665603ull;
      for (const char c : schedule::to_text(point))
        hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
      result.push_back(1 + static_cast<double>(hash % 1000));
    }
    return result;
  }
  int64_t evaluated = 0;
};

}  // namespace

TEST_CASE("search: results are legal, feasible, distinct and in order of cost", "[search]") {
  for (const auto& problem : {kSpmv, kSpmm, kSddmm}) {
    Bench bench(test::fem(400, 3), problem);
    for (const auto& [name, search] : all_searches()) {
      INFO(name);
      const auto results = bench.run(*search, 1);
      REQUIRE(results.size() == 10);
      std::set<std::string> texts;
      for (size_t n = 0; n < results.size(); n++) {
        CHECK_FALSE(schedule::illegal_reason(results[n].point));
        CHECK_FALSE(schedule::exclusion_reason(results[n].point, bench.counts, bench.limits));
        CHECK(texts.insert(schedule::to_text(results[n].point)).second);
        CHECK(results[n].cost == bench.model.costs(std::vector{results[n].point})[0]);
        if (n > 0) CHECK(results[n - 1].cost <= results[n].cost);
      }
    }
  }
}

TEST_CASE("search: neighbours lead beyond the starting points", "[search]") {
  Bench bench(test::power_law(3000, 20000, 2), kSpmv);
  const auto structured = bench.space.enumerate_structured();
  const auto budget = static_cast<int64_t>(structured.size()) + 2000;
  Random same(1);
  Texts starts;
  add_texts(starts, structured);
  add_texts(starts, search::random_points(bench.space, budget / 8, same));
  const auto way = way_beyond(starts, bench.space, structured.at(0));
  Downhill model(way);
  Random random(1);
  const auto results = search::NeighbourSearch().run(bench.space, model, {}, budget, random, 10);
  REQUIRE_FALSE(results.empty());
  CHECK(results[0].point == way.back());
  CHECK(results[0].cost < model.costs(structured)[0]);
}

TEST_CASE("search: the same seed gives the same results", "[search]") {
  for (const auto& [name, search] : all_searches()) {
    INFO(name);
    Bench first(test::fem(300, 2), kSpmm), second(test::fem(300, 2), kSpmm);
    const auto a = first.run(*search, 7), b = second.run(*search, 7);
    REQUIRE(a.size() == b.size());
    for (size_t n = 0; n < a.size(); n++) CHECK(a[n].point == b[n].point);
  }
}

TEST_CASE("search: results cover several formats", "[search]") {
  Bench bench(test::fem(400, 3), kSpmv);
  search::NeighbourSearch search;
  std::set<std::string> formats, families;
  for (const auto& result : bench.run(search, 1)) {
    formats.insert(schedule::kinship(result.point).format);
    families.insert(schedule::kinship(result.point).family);
  }
  CHECK(formats.size() >= 4);
  CHECK(families.size() >= 3);
}

TEST_CASE("search: what is not feasible is never returned", "[search]") {
  Bench bench(test::fem(300, 3), kSpmv);
  const auto only_csr = [](const SuperSchedule& point) { return point.format.levels.size() == 2; };
  for (const auto& [name, search] : all_searches()) {
    INFO(name);
    Random random(1);
    const auto results = search->run(bench.space, bench.model, only_csr, 800, random, 10);
    CHECK_FALSE(results.empty());
    for (const auto& result : results) CHECK(result.point.format.levels.size() == 2);
  }
}

TEST_CASE("search: a point that is excluded says nothing of what others are worth", "[search]") {
  Bench bench(test::fem(400, 3), kSpmv);
  const SuperSchedule excluded = schedule::csr_point(kSpmv, 2);
  BlocksFirst model(excluded);
  const search::Feasible feasible = [&](const SuperSchedule& point) { return point != excluded; };
  search::Pool pool(model, feasible);
  pool.add(bench.space.enumerate_structured(), 1000);
  std::map<schedule::FormatKind, int> kinds;
  for (const auto& result : search::select_diverse(pool, 10)) {
    CHECK(result.cost >= 10);
    ++kinds[schedule::kind_of(result.point)];
  }
  CHECK(kinds[schedule::FormatKind::kRows] >= 2);
  CHECK(kinds[schedule::FormatKind::kSlices] >= 3);
}

TEST_CASE("search: the budget bounds the evaluations", "[search]") {
  Bench bench(test::fem(300, 3), kSpmm);
  for (const auto& [name, search] : all_searches()) {
    INFO(name);
    HashModel model;
    Random numbers(3);
    search->run(bench.space, model, {}, 500, numbers, 5);
    CHECK(model.evaluated <= 500);
    CHECK(model.evaluated > 400);
  }
}

TEST_CASE("search: a one-element matrix still has a point", "[search]") {
  Bench bench(test::from_entries(1, 1, {{0, 0}}), kSpmv);
  for (const auto& [name, search] : all_searches()) {
    INFO(name);
    CHECK_FALSE(bench.run(*search, 1, 300).empty());
  }
}

TEST_CASE("search: learning from trials beats drawing at random", "[search]") {
  search::TpeSearch tpe;
  search::BanditSearch bandit;
  search::RandomSearch random;
  double tpe_gain = 0, bandit_gain = 0;
  int runs = 0;
  for (const auto& problem : {kSpmv, kSpmm}) {
    for (const auto& tensor : {test::fem(400, 3), test::power_law(3000, 20000, 2)}) {
      Bench bench(tensor, problem);
      for (uint64_t seed = 1; seed <= 3; seed++, runs++) {
        const double blind = std::log(bench.run(random, seed, 1000).front().cost);
        tpe_gain += blind - std::log(bench.run(tpe, seed, 1000).front().cost);
        bandit_gain += blind - std::log(bench.run(bandit, seed, 1000).front().cost);
      }
    }
  }
  INFO("geometric means of random's cost over theirs: tpe " << std::exp(tpe_gain / runs) << ", bandit "
                                                            << std::exp(bandit_gain / runs));
  CHECK(tpe_gain / runs > std::log(1.02));
  CHECK(bandit_gain / runs > std::log(1.02));
}

TEST_CASE("search: every search stays in the half of the space that may vary", "[search]") {
  for (const auto subspace : {schedule::Subspace::kFormat, schedule::Subspace::kSchedule}) {
    Bench bench(test::fem(400, 3), kSpmm);
    bench.limits.subspace = subspace;
    bench.space = schedule::ScheduleSpace(kSpmm, bench.tensor.dims, bench.limits);
    for (const auto& [name, search] : all_searches()) {
      INFO(name << " " << schedule::name(subspace));
      const auto results = bench.run(*search, 1, 600);
      CHECK(results.size() == 10);
      search::testing::check_within(subspace, kSpmm, 2, results);
    }
  }
}
