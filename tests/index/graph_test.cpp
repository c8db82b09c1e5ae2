// The graph on its own: costs come from plain functions instead of a model.
#include "waco/index/graph.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "waco/base/error.hpp"
#include "waco/base/file_replacement.hpp"
#include "waco/base/files.hpp"
#include "waco/base/random.hpp"

using namespace waco;
using index::Graph;
using index::Visit;

namespace {

constexpr int kSize = 24;

std::vector<float> random_embeddings(int64_t count, uint64_t seed) {
  Random random(seed);
  std::vector<float> rows;
  for (int64_t n = 0; n < count * kSize; n++) rows.push_back(static_cast<float>(random.uniform()));
  return rows;
}

/// A cost that is neither a distance nor convex: a sum of bent directions.
struct Landscape {
  explicit Landscape(uint64_t seed) : weights(random_embeddings(1, seed)) {}
  float operator()(const float* x) const {
    float cost = 0;
    for (int n = 0; n < kSize; n++) cost += (weights[n] - 0.5f) * x[n] * (1 + x[(n + 7) % kSize]);
    return cost;
  }
  std::vector<float> weights;
};

std::set<int64_t> cheapest(std::vector<Visit> visits, size_t count) {
  std::sort(visits.begin(), visits.end(), [](const Visit& a, const Visit& b) { return a.cost < b.cost; });
  std::set<int64_t> best;
  for (size_t n = 0; n < std::min(count, visits.size()); n++) best.insert(visits[n].vertex);
  return best;
}

}  // namespace

TEST_CASE("graph: a walk finds nearly all of the cheapest vertices", "[index]") {
  const int64_t count = 5000;
  const auto rows = random_embeddings(count, 1);
  const Graph graph = Graph::build(rows.data(), count, kSize, {});
  size_t found = 0;
  const int queries = 20;
  for (int q = 0; q < queries; q++) {
    const Landscape cost(static_cast<uint64_t>(100 + q));
    std::vector<Visit> all;
    for (int64_t v = 0; v < count; v++) all.push_back({v, cost(rows.data() + v * kSize)});
    const auto visits = graph.search([&](int64_t v) { return cost(rows.data() + v * kSize); }, 200);
    CHECK(visits.size() < static_cast<size_t>(count));
    for (const Visit& visit : visits) CHECK(visit.cost == all[static_cast<size_t>(visit.vertex)].cost);
    const auto truth = cheapest(all, 10);
    for (const int64_t v : cheapest(visits, 10)) found += truth.count(v);
  }
  CHECK(found >= queries * 10 * 95 / 100);
}

TEST_CASE("graph: every vertex is asked for once", "[index]") {
  const auto rows = random_embeddings(1000, 2);
  const Graph graph = Graph::build(rows.data(), 1000, kSize, {});
  const Landscape cost(5);
  for (const int64_t ef : {1, 100, 5000}) {
    int64_t asked = 0;
    const auto visits = graph.search([&](int64_t v) { return asked++, cost(rows.data() + v * kSize); }, ef);
    std::set<int64_t> distinct;
    for (const Visit& visit : visits) distinct.insert(visit.vertex);
    CHECK(distinct.size() == visits.size());
    CHECK(asked == static_cast<int64_t>(visits.size()));
    CHECK(asked >= std::min<int64_t>(ef, 900));  // some may be hard to reach
  }
}

TEST_CASE("graph: on one layer the first vertex is asked for once, too", "[index]") {
  const auto rows = random_embeddings(10, 7);
  const Landscape cost(8);
  // One of these seeds, at least, gives ten vertices no upper layer.
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Graph graph = Graph::build(rows.data(), 10, kSize, {.seed = seed});
    const auto visits = graph.search([&](int64_t v) { return cost(rows.data() + v * kSize); }, 10);
    std::set<int64_t> distinct;
    for (const Visit& visit : visits) distinct.insert(visit.vertex);
    CHECK(distinct.size() == 10);
    CHECK(visits.size() == 10);
  }
}

TEST_CASE("graph: costs that are not numbers do no harm", "[index]") {
  const auto rows = random_embeddings(300, 3);
  const Graph graph = Graph::build(rows.data(), 300, kSize, {});
  const auto visits = graph.search([](int64_t v) { return v % 2 == 0 ? NAN : static_cast<float>(v); }, 50);
  CHECK(std::any_of(visits.begin(), visits.end(), [](const Visit& visit) { return visit.vertex % 2 == 1; }));
  for (const Visit& visit : visits)
    CHECK(visit.cost == (visit.vertex % 2 == 0 ? INFINITY : static_cast<float>(visit.vertex)));
}

TEST_CASE("graph: the same input gives the same file, which gives the same walks", "[index]") {
  const TemporaryFolder folder;
  const auto rows = random_embeddings(800, 4);
  const auto file = folder.path() / "a", other = folder.path() / "b";
  const Graph graph = Graph::build(rows.data(), 800, kSize, {});
  graph.save(file);
  Graph::build(rows.data(), 800, kSize, {}).save(other);
  CHECK(read_file(file) == read_file(other));
  const Graph loaded = Graph::load(file, 800, {});
  const Landscape cost(6);
  const auto walk = [&](const Graph& on) {
    std::vector<int64_t> order;
    for (const Visit& visit : on.search([&](int64_t v) { return cost(rows.data() + v * kSize); }, 60))
      order.push_back(visit.vertex);
    return order;
  };
  CHECK(walk(graph) == walk(loaded));
  loaded.save(other);
  CHECK(read_file(file) == read_file(other));
}

TEST_CASE("graph: a file that is not the graph expected is refused", "[index]") {
  const TemporaryFolder folder;
  const auto rows = random_embeddings(400, 4);
  const auto file = folder.path() / "graph";
  Graph::build(rows.data(), 400, kSize, {}).save(file);
  const std::string content = read_file(file);
  CHECK_THROWS_AS(Graph::load(file, 399, {}), InputError);
  CHECK_THROWS_AS(Graph::load(file, 400, {.links = 8}), InputError);
  const auto check_refused = [&](std::string damaged) {
    write_file_atomically(file, damaged);
    CHECK_THROWS_AS(Graph::load(file, 400, {}), InputError);
  };
  check_refused("");
  check_refused(content.substr(0, 50));
  check_refused(content.substr(0, content.size() - 1));
  check_refused(content + "x");
  std::string wild = content;  // a link of the first vertex that leads nowhere
  wild[96 + 4 + 3] = '\x7f';
  check_refused(wild);
  CHECK_THROWS_AS(Graph::load(folder.path() / "absent", 400, {}), InputError);
}
