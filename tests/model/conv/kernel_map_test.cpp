#include "waco/model/conv/kernel_map.hpp"

#include <catch2/catch.hpp>

#include "conv_patterns.hpp"

using namespace waco;
using namespace waco::model;
using namespace waco::test;

namespace {

std::set<Meeting> pairs_of(const KernelMap& map) {
  std::set<Meeting> pairs;
  for (int64_t b = 0; b < map.num_blocks(); ++b)
    for (int k = 0; k < map.num_offsets; ++k) {
      const int64_t first = map.segments[b * map.num_offsets + k];
      const int64_t last = map.segments[b * map.num_offsets + k + 1];
      for (int64_t n = first; n < last; ++n) {
        if (n > first) REQUIRE(map.out[n - 1] < map.out[n]);  // ascending, so an output meets an offset once
        pairs.insert({k, map.in[n], b * KernelMap::kBlock + map.out[n]});
      }
    }
  REQUIRE(static_cast<int64_t>(pairs.size()) == map.num_pairs());
  return pairs;
}

}  // namespace

TEST_CASE("kernel_map: holds what looking every window up finds", "[conv]") {
  const int width = GENERATE(3, 5), stride = GENERATE(1, 2);
  for (const auto& tensor :
       {random_pattern({1, 1}, 1, 1), random_pattern({30, 41}, 700, 2), random_pattern({5000, 4000}, 6000, 3),
        random_pattern({9, 14, 11}, 600, 4), random_pattern({100, 31, 200}, 4000, 5)}) {
    const Sites in = sites_of(tensor, 1 << 20);
    const Sites out = stride == 1 ? in : halved(in, 1);
    const KernelMap map = make_kernel_map(in, out, width, stride, 1);
    const std::set<Meeting> expected = meetings(in, out, width, stride);
    REQUIRE(pairs_of(map) == expected);

    std::set<Meeting> exchanged;
    for (const Meeting& p : expected) exchanged.insert({p.offset, p.out, p.in});
    const KernelMap back = transposed(map, 3);
    CHECK(back.num_out == map.num_in);
    CHECK(pairs_of(back) == exchanged);
  }
}

TEST_CASE("kernel_map: is the same for any number of threads", "[conv]") {
  const Sites in = sites_of(random_pattern({20000, 9000}, 60000, 7), 1 << 20);
  const Sites out = halved(in, 1);
  const KernelMap one = make_kernel_map(in, out, 3, 2, 1), many = make_kernel_map(in, out, 3, 2, 7);
  CHECK(one.segments == many.segments);
  CHECK(one.in == many.in);
  CHECK(one.out == many.out);
  const KernelMap back = transposed(one, 1), back_many = transposed(one, 5);
  CHECK(back.segments == back_many.segments);
  CHECK(back.in == back_many.in);
  CHECK(back.out == back_many.out);
  const WindowMap window = make_window_map(in, 5, 1), window_many = make_window_map(in, 5, 6);
  CHECK(window.first == window_many.first);
  CHECK(window.offsets == window_many.offsets);
}

TEST_CASE("kernel_map: windows list the occupied offsets of every site", "[conv]") {
  const int width = GENERATE(3, 5);
  for (const auto& tensor : {random_pattern({30, 41}, 700, 2), random_pattern({9, 14, 11}, 600, 4)}) {
    const Sites sites = sites_of(tensor, 1 << 20);
    const WindowMap map = make_window_map(sites, width, 2);
    std::vector<std::vector<uint8_t>> expected(sites.size());
    for (const Meeting& p : meetings(sites, sites, width, 1))
      expected[p.out].push_back(static_cast<uint8_t>(p.offset));  // offsets ascend in the set
    REQUIRE(map.num_sites() == sites.size());
    for (int64_t s = 0; s < sites.size(); ++s)
      REQUIRE(std::vector<uint8_t>(map.offsets.begin() + map.first[s],
                                   map.offsets.begin() + map.first[s + 1]) == expected[s]);
  }
}
