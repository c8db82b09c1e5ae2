#include "waco/model/conv/sites.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "conv_patterns.hpp"

using namespace waco;
using namespace waco::model;
using namespace waco::test;

namespace {

std::vector<matrix::SparseTensor> patterns() {
  return {random_pattern({1, 1}, 1, 1),         random_pattern({40, 50}, 300, 2),
          random_pattern({3, 100000}, 5000, 3), random_pattern({20000, 20000}, 40000, 4),
          random_pattern({9, 14, 11}, 400, 5),  random_pattern({300, 20, 3000}, 20000, 6)};
}

}  // namespace

TEST_CASE("sites: are the nonzeros, sorted", "[conv]") {
  for (const auto& tensor : patterns()) {
    const auto all = coordinates(sites_of(tensor, 1 << 20));
    REQUIRE(static_cast<int64_t>(all.size()) == tensor.num_nonzeros());
    REQUIRE(std::is_sorted(all.begin(), all.end()));
    for (size_t n = 0; n < all.size(); ++n)
      for (int m = 0; m < tensor.order(); ++m) REQUIRE(all[n][m] == tensor.coords[m][n]);
  }
}

TEST_CASE("sites: halving floors every coordinate and drops duplicates, with any threads", "[conv]") {
  for (const auto& tensor : patterns()) {
    Sites sites = sites_of(tensor, 1 << 20);
    for (int level = 0; level < 14; ++level) {
      std::set<Coordinate> expected;
      for (Coordinate c : coordinates(sites)) {
        for (int64_t& x : c) x /= 2;
        expected.insert(c);
      }
      const Sites next = halved(sites, 1);
      REQUIRE(coordinates(next) == std::vector<Coordinate>(expected.begin(), expected.end()));
      REQUIRE(halved(sites, 5).keys == next.keys);
      sites = next;
    }
  }
}

TEST_CASE("sites: of no nonzeros are none, at any level", "[conv]") {
  matrix::SparseTensor empty;
  empty.dims = {10, 10};
  empty.coords.resize(2);
  const Sites sites = sites_of(empty, 64);
  CHECK(sites.size() == 0);
  CHECK(halved(sites, 2).size() == 0);
  CHECK(PackedSites(sites).unpack().size() == 0);
}

TEST_CASE("sites: unpack to what was packed, in few bytes", "[conv]") {
  for (const auto& tensor : patterns()) {
    const Sites sites = sites_of(tensor, 1 << 20);
    const PackedSites packed(sites);
    CHECK(packed.unpack().keys == sites.keys);
    CHECK(packed.bytes() <= 5 * sites.size());
  }
}

TEST_CASE("sites: beyond the limit are 64 panels of consecutive nonzeros", "[conv]") {
  const auto tensor = random_pattern({20000, 20000}, 40000, 4);
  const auto all = sites_of(tensor, 1 << 20).keys;
  const auto some = sites_of(tensor, 6400).keys;
  REQUIRE(some.size() == 6400);
  REQUIRE(std::includes(all.begin(), all.end(), some.begin(), some.end()));
  for (int panel = 0; panel < 64; ++panel) {
    const auto at = std::lower_bound(all.begin(), all.end(), some[panel * 100]);
    REQUIRE(std::equal(at, at + 100, some.begin() + panel * 100));
  }
  CHECK(*std::lower_bound(all.begin(), all.end(), some.back()) >= all[all.size() * 62 / 64]);
}

TEST_CASE("sites: of extents beyond 64 bits lose low bits, the longest mode first", "[conv]") {
  const SiteLayout layout = make_site_layout({int64_t{1} << 30, 1000, int64_t{1} << 28});
  CHECK(layout.dropped_bits[0] > 0);
  CHECK(layout.dropped_bits[1] == 0);
  CHECK(layout.dropped_bits[0] >= layout.dropped_bits[2]);
  matrix::SparseTensor tensor;
  tensor.dims = {int64_t{1} << 30, 1000, int64_t{1} << 28};
  tensor.coords = {{0, 1, 5000, (1 << 30) - 1}, {3, 1, 999, 999}, {7, 9, 100, (1 << 28) - 1}};
  tensor.values = {1, 1, 1, 1};
  const auto all = coordinates(sites_of(tensor, 64));
  REQUIRE(all.size() == 4);
  REQUIRE(std::is_sorted(all.begin(), all.end()));
  CHECK(all.back()[0] == ((int64_t{1} << 30) - 1) >> layout.dropped_bits[0]);
}

TEST_CASE("sites: a full grid holds every cell in row-major order", "[conv]") {
  for (const int order : {2, 3}) {
    const auto all = coordinates(full_grid(order, 6));
    REQUIRE(all.size() == (order == 2 ? 36 : 216));
    REQUIRE(std::is_sorted(all.begin(), all.end()));
    CHECK(all.back() == Coordinate(order, 5));
  }
}
