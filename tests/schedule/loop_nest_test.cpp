// What the analysis says each loop does, written as one short text a nest.
#include "waco/schedule/loop_nest.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

using namespace waco::schedule;

namespace {

/// One word a loop: kind, level walked, * when parallel, ! when unrolled, >levels located.
std::string nest_text(const std::string& text) {
  constexpr const char* kKinds[] = {"outer", "tile", "U", "C", "slots", "lanes", "all"};
  const LoopNest nest = analyze(parse(text));
  std::string result;
  for (const Loop& loop : nest.loops) {
    result += fmt::format("{}{}", result.empty() ? "" : " ", kKinds[static_cast<int>(loop.kind)]);
    if (loop.level >= 0) result += std::to_string(loop.level);
    if (loop.vars.size() > 1) result += fmt::format("({})", loop.vars.size());
    if (loop.parallel) result += "*";
    if (loop.unrolled) result += "!";
    for (const int level : loop.located) result += fmt::format(">{}", level);
  }
  return fmt::format("{} | {} {} {}", result, nest.num_runtime, nest.parallel, nest.innermost_sparse);
}

}  // namespace

TEST_CASE("loop_nest: concordant walks of U and C levels", "[schedule]") {
  CHECK(nest_text("spmv f32 | A: i:U k:C | loop: i k | par: i static x2") == "U0* C1 | 2 0 1");
  CHECK(nest_text("spmm f32 J=64 | A: i:C k:C | loop: j1 i k j0 [j/32] | par: j1 static x2") ==
        "outer* C0 C1 tile | 3 0 2");
}

TEST_CASE("loop_nest: inner U loops at the end are unrolled, up to the limit", "[schedule]") {
  CHECK(nest_text("spmm f32 J=64 | A: i1:U k:C i0:U [i/4] | loop: i1 k i0 j | par: i1 static x2") ==
        "U0* C1 U2! tile | 2 0 1");
  CHECK(nest_text("spmv f32 | A: i1:U k1:C i0:U k0:U [i/6 k/6] | loop: i1 k1 i0 k0 | par: serial") ==
        "U0 C1 U2! U3! | 2 -1 1");
  CHECK(nest_text("spmv f32 | A: i1:U k1:C i0:U k0:U [i/16 k/16] | loop: i1 k1 i0 k0 | par: serial") ==
        "U0 C1 U2 U3! | 3 -1 2");
  CHECK(nest_text("spmv f32 | A: i1:U k1:C i0:U k0:U [i/64 k/4] | loop: i1 k1 k0 i0 | par: serial") ==
        "U0 C1 all U2>3 | 4 -1 3");
  CHECK(nest_text("spmv f32 | A: i1:U k:C i0:U [i/4] | loop: i1 k i0 | par: i0 static x2") ==
        "U0 C1 U2* | 3 2 2");
  CHECK(nest_text("spmm f32 J=64 | A: i1:U k:C i0:U [i/4] | loop: i1 k i0 j1 j0 [j/8] | par: serial") ==
        "U0 C1 U2 outer tile | 4 -1 2");
}

TEST_CASE("loop_nest: discordant loops run over extents and locate in level order", "[schedule]") {
  CHECK(nest_text("spmv f32 | A: i:U k:C | loop: k i | par: serial") == "all U0>1 | 2 -1 1");
  CHECK(nest_text("spmv f32 | A: i:C k:C | loop: k i | par: serial") == "all C0>1 | 2 -1 1");
  CHECK(nest_text("spmv f32 | A: i1:U k:C i0:U [i/4] | loop: i1 i0 k | par: serial") ==
        "U0 all C1>2 | 3 -1 2");
  CHECK(nest_text("mttkrp f32 J=16 | A: i:C k:C l:C | loop: l k i j | par: serial") ==
        "all all C0>1>2 tile | 3 -1 2");
}

TEST_CASE("loop_nest: tuples fuse only when adjacent and in level order", "[schedule]") {
  CHECK(nest_text("spmm f32 J=8 | A: i:C k:S | loop: i k j | par: i static x2") == "C0(2)* tile | 1 0 0");
  CHECK(nest_text("spmm f32 J=8 | A: i:C k:S | loop: k i j | par: serial") == "all all>0 tile | 2 -1 1");
  CHECK(nest_text("spmm f32 J=8 | A: i:C k:S | loop: i j1 k j0 [j/4] | par: serial") ==
        "all outer all>0 tile | 3 -1 2");
  CHECK(nest_text("mttkrp f32 J=16 | A: i1:C k:S l:S i0:C [i/4] | loop: i1 k l i0 j | par: serial") ==
        "C0(3) C3 tile | 2 -1 1");
  CHECK(nest_text("mttkrp f32 J=16 | A: i1:C k:S l:S i0:C [i/4] | loop: i1 k i0 l j | par: serial") ==
        "all all all all>0>3 tile | 4 -1 3");
}

TEST_CASE("loop_nest: lanes inside or outside the slots", "[schedule]") {
  CHECK(nest_text("spmv f32 | A: i1:U i0:U k:L [i/8] | loop: i1 k i0 | par: i1 static x2") ==
        "U0* slots2 lanes1! | 2 0 1");
  CHECK(nest_text("spmv f32 | A: i1:U i0:U k:E [i/64] | loop: i1 k i0 | par: i1 static x2") ==
        "U0* slots2 lanes1 | 3 0 2");
  CHECK(nest_text("spmv f32 | A: i1:U i0:U k:L [i/8] | loop: i1 i0 k | par: serial") ==
        "U0 U1 slots2 | 3 -1 2");
  CHECK(nest_text("mttkrp f32 J=16 | A: i1:U i0:U k:L l:S [i/8] | loop: i1 k l i0 j | par: serial") ==
        "U0 slots2(2) lanes1! tile | 2 -1 1");
  CHECK(nest_text("mttkrp f32 J=16 | A: i1:U i0:U k:L l:S [i/8] | loop: i1 i0 k l j | par: serial") ==
        "U0 U1 slots2(2) tile | 3 -1 2");
}

TEST_CASE("loop_nest: a sliced level reached in another way is located by a scan", "[schedule]") {
  CHECK(nest_text("spmv f32 | A: i1:U i0:U k:L [i/8] | loop: k i1 i0 | par: serial") ==
        "all U0 U1!>2 | 2 -1 1");
  CHECK(nest_text("mttkrp f32 J=16 | A: i1:U i0:U k:L l:S [i/8] | loop: i1 k i0 l j | par: serial") ==
        "U0 all U1 all>2 tile | 4 -1 3");
  CHECK(nest_text("spmv f32 | A: i1:U i0:U k1:L k0:U [i/8 k/2] | loop: i1 k1 k0 i0 | par: serial") ==
        "U0 slots2 all! lanes1!>3 | 2 -1 1");
}

TEST_CASE("loop_nest: extents round up", "[schedule]") {
  FormatSchedule format;
  format.split = {4, 1, 1};
  const int64_t dims[] = {10, 7};
  CHECK(extent(format, {0, false}, dims) == 3);
  CHECK(extent(format, {0, true}, dims) == 4);
  CHECK(extent(format, {1, false}, dims) == 7);
}
