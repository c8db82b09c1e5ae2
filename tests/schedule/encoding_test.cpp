// The encoding tells points apart exactly when their programs differ, and keeps to its layout.
#include "waco/schedule/encoding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "../checksum.hpp"
#include "waco/schedule/space.hpp"

using namespace waco;
using namespace waco::schedule;

namespace {

using Key = std::tuple<std::vector<int>, std::vector<float>, std::vector<float>, std::vector<float>>;

constexpr int kThreads = 4;

Key key_of(const SuperSchedule& point, int max_threads = kThreads) {
  const Encoding e = encode(point, max_threads);
  return {e.categories, e.levels, e.loops, e.numbers};
}

std::vector<Problem> problems() {
  return {{Op::kSpmv, ValueType::kF32, 1},
          {Op::kSpmm, ValueType::kF32, 256},
          {Op::kSddmm, ValueType::kF32, 256},
          {Op::kMttkrp, ValueType::kF32, 600}};
}

ScheduleSpace space_of(const Problem& problem) {
  std::vector<int64_t> dims{50000, 70000, 90000};
  dims.resize(static_cast<size_t>(sparse_order(problem.op)));
  return ScheduleSpace(problem, dims, {kThreads, 20, INT64_MAX});
}

/// Samples of every stratum, with the neighbours of some, so that many points differ in one choice only.
std::vector<SuperSchedule> many_points(const ScheduleSpace& space, int samples) {
  Random random(11);
  std::vector<SuperSchedule> points = space.enumerate_structured();
  for (const Stratum stratum : kStrata)
    for (int n = 0; n < samples; ++n) {
      points.push_back(space.sample_stratified(random, stratum));
      if (n % 20 != 0) continue;
      const auto near = space.neighbours(points.back());
      points.insert(points.end(), near.begin(), near.end());
    }
  return points;
}

int category(const SuperSchedule& point, const std::string& name) {
  const auto& fields = encoding_layout(point.problem.op).categories;
  const auto at = std::find_if(fields.begin(), fields.end(), [&](const auto& f) { return f.name == name; });
  REQUIRE(at != fields.end());
  return encode(point, kThreads).categories[static_cast<size_t>(at - fields.begin())];
}

float number(const SuperSchedule& point, const std::string& name) {
  const auto& names = encoding_layout(point.problem.op).numbers;
  const auto at = std::find(names.begin(), names.end(), name);
  REQUIRE(at != names.end());
  return encode(point, kThreads).numbers[static_cast<size_t>(at - names.begin())];
}

}  // namespace

TEST_CASE("encoding: different points have different encodings, for every op", "[schedule]") {
  for (const Problem& problem : problems()) {
    std::map<Key, std::string> seen;
    std::set<std::string> texts;
    for (const SuperSchedule& point : many_points(space_of(problem), 400)) {
      const std::string text = to_text(point);
      texts.insert(text);
      const auto [entry, is_new] = seen.try_emplace(key_of(point), text);
      if (entry->second != text) FAIL(entry->second << " and " << text << " are encoded alike");
    }
    CHECK(seen.size() == texts.size());
    CHECK(texts.size() > 3000);
  }
}

TEST_CASE("encoding: stays within its layout", "[schedule]") {
  for (const Problem& problem : problems()) {
    const EncodingLayout& layout = encoding_layout(problem.op);
    for (const SuperSchedule& point : many_points(space_of(problem), 100)) {
      INFO(to_text(point));
      const Encoding e = encode(point, kThreads);
      REQUIRE(e.categories.size() == layout.categories.size());
      for (size_t f = 0; f < e.categories.size(); ++f) {
        INFO(layout.categories[f].name);
        REQUIRE(e.categories[f] >= 0);
        REQUIRE(e.categories[f] < layout.categories[f].num_values);
      }
      REQUIRE(e.numbers.size() == layout.numbers.size());
      REQUIRE(std::all_of(e.numbers.begin(), e.numbers.end(), [](float x) { return std::isfinite(x); }));
      REQUIRE(e.levels.size() == static_cast<size_t>(layout.num_level_vars * layout.num_level_vars));
      REQUIRE(e.loops.size() == static_cast<size_t>(layout.num_loop_vars * layout.num_loop_vars));
      REQUIRE(std::count(e.levels.begin(), e.levels.end(), 1.0f) ==
              static_cast<int64_t>(point.format.levels.size()));
      REQUIRE(std::count(e.loops.begin(), e.loops.end(), 1.0f) ==
              static_cast<int64_t>(point.compute.loops.size()));
    }
  }
}

TEST_CASE("encoding: type and size of the dense index play no part", "[schedule]") {
  const char* rest = " | A: i1:U k:C i0:U [i/4] | loop: i1 j1 k i0 j0 [j/32] | par: i1 dynamic,16 x2";
  CHECK(key_of(parse(std::string("spmm f32 J=256") + rest)) ==
        key_of(parse(std::string("spmm f64 J=64") + rest)));
}

TEST_CASE("encoding: all threads of one machine are the same category as all of another", "[schedule]") {
  const SuperSchedule two = parse("spmv f32 | A: i:U k:C | loop: i k | par: i static x2");
  const SuperSchedule eight = parse("spmv f32 | A: i:U k:C | loop: i k | par: i static x8");
  CHECK(encode(two, 2).categories == encode(eight, 8).categories);
  CHECK(encode(two, 2).categories != encode(two, 8).categories);
}

TEST_CASE("encoding: numbers and walks say what a schedule implies", "[schedule]") {
  const SuperSchedule blocks = parse(
      "spmm f32 J=256 | A: i1:U k1:C i0:U k0:U [i/4 k/2] | loop: i1 j1 k1 i0 k0 j0 [j/32] | par: i1 static "
      "x2");
  CHECK(number(blocks, "log2_split_i") == 2);
  CHECK(number(blocks, "log2_dense_block") == 3);
  CHECK(number(blocks, "log2_unrolled") == 3);
  CHECK(number(blocks, "log2_tile") == 5);
  CHECK(number(blocks, "tile_depth") == 0.25f);
  CHECK(number(blocks, "num_levels") == 4);
  CHECK(number(blocks, "parallel_depth") == 0);
  CHECK(number(blocks, "log2_thread_share") == -1);
  CHECK(category(blocks, "level_i0") == 1);
  CHECK(category(blocks, "walk_i0") == 1);
  CHECK(category(blocks, "parallel") == 1);

  const SuperSchedule discordant = parse("spmv f32 | A: i:U k:C | loop: k i | par: k static x4");
  CHECK(number(discordant, "num_discordant_loops") >= 1);
  CHECK(number(discordant, "num_searched_levels") == 1);
  CHECK(number(discordant, "parallel_reduces") == 1);
  CHECK(number(discordant, "loops_inside_reduction") == 1);
  CHECK(category(discordant, "walk_k1") == 6);
  CHECK(category(discordant, "level_k0") == 0);

  const SuperSchedule sell =
      parse("spmv f32 | A: i1:U i0:U k:L [i/8 sort:1024] | loop: i1 k i0 | par: serial");
  CHECK(number(sell, "log2_lanes") == 3);
  CHECK(number(sell, "vector_lanes") == 1);
  CHECK(number(sell, "log2_window") == 10);
  CHECK(number(sell, "parallel_depth") == -1);
  CHECK(category(sell, "window") == 10);
  CHECK(category(sell, "walk_i0") == 5);
}

// Indexes and learned models know points by these numbers. Where others are right, raise kEncodingVersion
// and write them here.
TEST_CASE("encoding: the numbers are those of their version", "[schedule]") {
  REQUIRE(kEncodingVersion == 1);
  const std::pair<const char*, double> pinned[] = {
      {"spmv f32 | A: i:U k:C | loop: i k | par: i balanced x2", 30.099},
      {"spmv f32 | A: i1:U i0:U k:L [i/8 sort:1024] | loop: i1 k i0 | par: serial", 101.909},
      {"spmm f32 J=256 | A: i1:U k1:C i0:U k0:U [i/4 k/2] | loop: i1 j1 k1 i0 k0 j0 [j/32] | par: i1 static "
       "x2",
       85.420},
      {"sddmm f32 K=20 | A: i:U j1:C j0:U [j/3] | loop: i j1 j0 k | par: i dynamic,16 x4", 69.219},
      {"mttkrp f32 J=16 | A: i:C k:S l:S | loop: i k l j | par: i balanced x2", 60.757},
  };
  for (const auto& [text, expected] : pinned) {
    const Encoding e = encode(parse(text), kThreads);
    std::vector<float> all(e.categories.begin(), e.categories.end());
    for (const std::vector<float>* part : {&e.levels, &e.loops, &e.numbers})
      all.insert(all.end(), part->begin(), part->end());
    const double found = test::checksum(all);
    INFO(fmt::format("{}: {:.3f}", text, found));
    CHECK(found == Approx(expected).margin(0.002));
  }
}
