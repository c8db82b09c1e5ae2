// Retrieval from an index under a model of random weights: what the walk finds, and what searches return.
#include "waco/search/index_search.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "../model/learned/random_model.hpp"
#include "../model/patterns.hpp"
#include "../model/server_ceilings.hpp"
#include "downhill.hpp"
#include "problems.hpp"
#include "subspaces.hpp"
#include "waco/base/error.hpp"
#include "waco/base/files.hpp"
#include "waco/index/vertex_sources.hpp"
#include "waco/search/named.hpp"

using namespace waco;
using namespace waco::search::testing;
using index::Visit;
using schedule::Op;
using schedule::SuperSchedule;

namespace {

model::LearnedModel random_model(Op op, uint64_t seed) {
  const TemporaryFolder folder;
  test::write_random_model(folder.path() / "model", op, seed);
  return model::LearnedModel::load(folder.path() / "model");
}

index::Index make_index(const model::LearnedModel& model, int64_t count) {
  index::VertexList vertices(model.op());
  index::add_samples(vertices, count, 1);
  index::IndexOptions options;
  options.max_threads = 2;
  return {std::move(vertices), model, std::move(options)};
}

/// All that a search by a learned model needs.
struct Lookup {
  Lookup(matrix::SparseTensor input, schedule::Problem problem, int64_t vertices, uint64_t seed = 1)
      : tensor(std::move(input)),
        model(random_model(problem.op, seed)),
        index(make_index(model, vertices)),
        pattern(model.embed_pattern(tensor, problem)),
        retriever(model, pattern),
        limits{2, 20, INT64_MAX},
        space(problem, tensor.dims, limits),
        counts(tensor),
        closed_form(tensor, test::server_ceilings(2)),
        costs(model, pattern, problem, closed_form, 2) {}

  search::Query query() const { return {index, retriever}; }
  search::Feasible feasible() {
    return [this](const SuperSchedule& point) { return !schedule::exclusion_reason(point, counts, limits); };
  }

  matrix::SparseTensor tensor;
  model::LearnedModel model;
  index::Index index;
  model::PatternEmbedding pattern;
  model::Retriever retriever;
  schedule::SpaceLimits limits;
  schedule::ScheduleSpace space;
  pattern::PatternCounts counts;
  model::ClosedFormModel closed_form;
  model::LearnedCostModel costs;
};

}  // namespace

TEST_CASE("index search: exact retrieval returns the cheapest vertices that fit", "[search]") {
  Lookup lookup(test::fem(300, 3), kSpmm, 1500);
  const auto found = search::retrieve_exact(lookup.query(), lookup.space, 40);
  REQUIRE(found.size() == 40);
  std::vector<Visit> all;
  for (int64_t v = 0; v < lookup.index.size(); v++)
    if (lookup.index.bind(v, lookup.space))
      all.push_back(
          {v, lookup.retriever.cost(lookup.index.embeddings() + v * lookup.index.embedding_size())});
  CHECK(all.size() < static_cast<size_t>(lookup.index.size()));  // tiles of more than 64 do not fit
  std::sort(all.begin(), all.end(), [](const Visit& a, const Visit& b) { return a.cost < b.cost; });
  for (size_t n = 0; n < found.size(); n++) CHECK(found[n].cost == Approx(all[n].cost).margin(1e-4));
}

TEST_CASE("index search: the walk finds 95 % of the ten cheapest", "[search]") {
  size_t found = 0, wanted = 0;
  for (const auto& problem : {kSpmv, kSpmm}) {
    Lookup lookup(test::fem(300, 3), problem, 4000, 3);
    for (int rows = 1; rows <= 10; rows++) {
      const auto tensor = test::uniform(100 << rows, 90 << rows, 80 << rows, 1);
      const model::PatternEmbedding pattern = lookup.model.embed_pattern(tensor, problem);
      const model::Retriever retriever(lookup.model, pattern);
      const schedule::ScheduleSpace space(problem, tensor.dims, lookup.limits);
      const search::Query query{lookup.index, retriever};
      std::set<int64_t> truth;
      for (const Visit& visit : search::retrieve_exact(query, space, 10)) truth.insert(visit.vertex);
      wanted += truth.size();
      int64_t visits = 0;
      for (const Visit& visit : search::retrieve_anns(query, space, 10, search::walk_breadth(10), &visits))
        found += truth.count(visit.vertex);
      CHECK(visits < lookup.index.size());
    }
  }
  INFO(found << " of " << wanted);
  CHECK(found * 100 >= wanted * 95);
}

TEST_CASE("index search: results are legal, feasible, distinct and in order of cost", "[search]") {
  for (const auto& problem : {kSpmv, kSpmm}) {
    Lookup lookup(test::fem(400, 3), problem, 2000);
    const search::Query query = lookup.query();
    for (const char* name : {"exact", "anns"}) {
      INFO(name);
      Random random(1);
      const auto results = search::make_search(name, &query)
                               ->run(lookup.space, lookup.costs, lookup.feasible(), 600, random, 10);
      REQUIRE(results.size() == 10);
      std::set<std::string> texts;
      for (size_t n = 0; n < results.size(); n++) {
        CHECK_FALSE(schedule::illegal_reason(results[n].point));
        CHECK(results[n].point.problem == problem);
        CHECK(lookup.feasible()(results[n].point));
        CHECK(texts.insert(schedule::to_text(results[n].point)).second);
        if (n > 0) CHECK(results[n - 1].cost <= results[n].cost);
      }
      Random again(1);
      const auto same = search::make_search(name, &query)
                            ->run(lookup.space, lookup.costs, lookup.feasible(), 600, again, 10);
      REQUIRE(same.size() == results.size());
      for (size_t n = 0; n < same.size(); n++) CHECK(same[n].point == results[n].point);
    }
  }
}

TEST_CASE("index search: neighbours refine what was retrieved", "[search]") {
  Lookup lookup(test::power_law(3000, 20000, 2), kSpmv, 500);
  const search::Query query = lookup.query();
  const auto csr = schedule::csr_point(kSpmv, lookup.limits.max_threads);
  Texts retrieved;
  for (int64_t v = 0; v < lookup.index.size(); v++)
    if (const auto point = lookup.index.bind(v, lookup.space)) add_texts(retrieved, {*point});
  const auto way = way_beyond(retrieved, lookup.space, csr);
  Downhill model(way);
  Random random(1);
  const auto results = search::make_search("exact", &query)->run(lookup.space, model, {}, 1500, random, 5);
  REQUIRE_FALSE(results.empty());
  CHECK(results[0].point == way.back());
  CHECK(results[0].cost < model.costs({&csr, 1})[0]);
}

TEST_CASE("index search: where half of a point varies, vertices give their half", "[search]") {
  for (const auto subspace : {schedule::Subspace::kFormat, schedule::Subspace::kSchedule}) {
    Lookup lookup(test::fem(400, 3), kSpmm, 1000);
    lookup.limits.subspace = subspace;
    lookup.space = schedule::ScheduleSpace(kSpmm, lookup.tensor.dims, lookup.limits);
    const search::Query query = lookup.query();
    for (const char* name : {"exact", "anns"}) {
      INFO(name << " " << schedule::name(subspace));
      Random random(1);
      const auto results = search::make_search(name, &query)
                               ->run(lookup.space, lookup.costs, lookup.feasible(), 300, random, 10);
      CHECK(results.size() == 10);
      search::testing::check_within(subspace, kSpmm, 2, results);
    }
  }
}

TEST_CASE("index search: a shape that few vertices fit still has points", "[search]") {
  Lookup lookup(test::from_entries(1, 1, {{0, 0}}), kSpmv, 500);
  const search::Query query = lookup.query();
  for (const char* name : {"exact", "anns"}) {
    Random random(1);
    CHECK_FALSE(search::make_search(name, &query)
                    ->run(lookup.space, lookup.costs, lookup.feasible(), 200, random, 5)
                    .empty());
  }
}

TEST_CASE("named searches: every name makes one, others are refused", "[search]") {
  Lookup lookup(test::fem(50, 2), kSpmv, 100);
  const search::Query query = lookup.query();
  for (const std::string& name : search::search_names()) CHECK(search::make_search(name, &query));
  CHECK_THROWS_AS(search::make_search("exact"), UsageError);
  CHECK_THROWS_AS(search::make_search("anns"), UsageError);
  CHECK_THROWS_AS(search::make_search("gradient"), UsageError);
}
