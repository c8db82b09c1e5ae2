// Every rule of docs/superschedule.md with a point that breaks it.
#include <catch2/catch.hpp>

#include "parse_error.hpp"
#include "waco/schedule/legal_choices.hpp"

using namespace waco;
using namespace waco::schedule;
using testing::parse_error;

TEST_CASE("legality: each rule names what breaks it", "[schedule]") {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"spmv f32 | A: i:U | loop: i k | par: serial", "k must appear exactly once in the levels"},
      {"spmv f32 | A: i:U k:C | loop: i | par: serial", "k must appear exactly once in the loops"},
      {"spmv f32 | A: i:U k:C k:S | loop: i k | par: serial", "k must appear exactly once in the levels"},
      {"spmv f32 | A: i0:U i1:U k:C [i/4] | loop: i1 i0 k | par: serial",
       "i1 must come before i0 in the levels"},
      {"spmv f32 | A: i1:U i0:U k:C [i/4] | loop: i0 i1 k | par: serial",
       "i1 must come before i0 in the loops"},
      {"spmv f32 | A: i:U k:S | loop: i k | par: serial", "k: S must follow"},
      {"spmv f32 | A: i:U k:L | loop: i k | par: serial", "k: E and L come only third"},
      {"spmv f32 | A: k1:U k0:U i:L [k/4] | loop: k1 k0 i | par: serial", "i: E and L come only third"},
      {"mttkrp f32 J=16 | A: i1:U i0:U k:L l:C [i/4] | loop: i1 i0 k l j | par: serial", "after E or L"},
      {"mttkrp f32 J=16 | A: i1:U i0:U k:L l:U [i/4] | loop: i1 i0 k l j | par: serial", "after E or L"},
      {"spmv f32 | A: i:U k:C [sort:64] | loop: i k | par: serial", "only formats with an E or L"},
      {"spmv f32 | A: i1:U i0:U k:L [i/8 sort:12] | loop: i1 i0 k | par: serial", "multiple of the slice, 8"},
      {"mttkrp f32 J=16 | A: i:C k:C l:C [clustered] | loop: i k l j | par: serial", "only rows of matrices"},
      {"spmv f32 | A: i:U k:C [skewed] | loop: i k | par: serial", "only spmv over the levels i1:U k:C i0:U"},
      {"spmv f32 | A: i1:U k:C i0:C [i/4 skewed] | loop: i1 k i0 | par: serial", "skewed: only spmv"},
      {"spmv f32 | A: i1:U k:C i0:U [i/64 skewed] | loop: i1 k i0 | par: serial", "i split by 32 at most"},
      {"spmm f32 J=8 | A: i1:U k:C i0:U [i/4 skewed] | loop: i1 k i0 j | par: serial", "skewed: only spmv"},
      {"spmv f32 | A: i1:U k:C i0:U [i/4 skewed] | loop: i1 i0 k | par: serial", "the loops are i1 k i0"},
      {"spmv f32 | A: i1:U k:C i0:U [i/4 skewed] | loop: i1 k i0 | par: k static x2", "i1 may be parallel"},
      {"spmv f32 | A: i:U k:U | loop: i k | par: serial", "at least one level must not be U"},
      {"spmm f32 J=32 | A: i:U k:C | loop: i k | par: serial", "j must appear exactly once in the loops"},
      {"spmm f32 J=32 | A: i:U k:C | loop: i j k | par: serial", "j must be the last loop"},
      {"spmm f32 J=32 | A: i:U k:C | loop: i j1 j0 k [j/8] | par: serial", "j0 must be the last loop"},
      {"spmm f32 J=32 | A: i:U k:C | loop: i j1 k j0 [j/12] | par: serial", "tile j/12"},
      {"spmm f32 J=32 | A: i:U k:C | loop: i j1 k j0 [j/32] | par: serial", "smaller than the size of j, 32"},
      {"spmm f32 J=32 | A: i:U k:C | loop: i k j | par: j static x2", "innermost loop is not parallel"},
      {"spmv f32 | A: i:U k:C | loop: i k | par: k balanced x2",
       "balanced needs a loop that walks the first level"},
      {"spmv f32 | A: i:U k:C | loop: k i | par: i balanced x2", "balanced allows only the dense outer loop"},
      {"spmv f32 | A: i:U k:C | loop: i k | par: i dynamic,3 x2", "chunks are powers of two"},
      {"spmv f32 | A: i:U k:C | loop: i k | par: i static x0", "threads are 1..1024"},
      {"spmv f32 | A: i:U k:C | loop: i k | par: i static x1025", "threads are 1..1024"},
      {"spmv f32 | A: i:U k:C | loop: i k | par: serial | unroll 3", "unroll 3"},
      {"spmv f32 | A: i:U k:C | loop: i k | par: serial | prefetch 3", "prefetch 3"},
  };
  for (const auto& [text, message] : cases) {
    CAPTURE(text);
    CHECK_THAT(parse_error(text), Catch::Contains(message));
  }
}

TEST_CASE("legality: values out of range are reasons, not crashes", "[schedule]") {
  SuperSchedule point = csr_point({Op::kSpmv, ValueType::kF32, 1}, 2);
  REQUIRE_FALSE(illegal_reason(point));
  SuperSchedule bad = point;
  bad.compute.loops[0].index = 5;
  CHECK(illegal_reason(bad));
  bad = point;
  bad.format.levels[1].var.index = 2;
  CHECK(illegal_reason(bad));
  bad = point;
  bad.compute.parallel = 2;
  CHECK(illegal_reason(bad));
  bad = point;
  bad.format.split[2] = 4;
  CHECK(illegal_reason(bad));
  bad = point;
  bad.format.split[0] = 0;
  CHECK(illegal_reason(bad));
  bad = point;
  bad.format.sort_window = 0;
  CHECK(illegal_reason(bad));
  bad = point;
  bad.compute.loops.clear();
  bad.compute.parallel = -1;
  CHECK(illegal_reason(bad));
  bad = point;
  bad.problem.rhs = 0;
  CHECK(illegal_reason(bad));
  bad = csr_point({Op::kSpmm, ValueType::kF32, kMaxRhs}, 2);
  CHECK_FALSE(illegal_reason(bad));
  ++bad.problem.rhs;
  CHECK(illegal_reason(bad));
}

TEST_CASE("legality: balanced may stand below the dense outer loop", "[schedule]") {
  CHECK(parse_error("spmm f32 J=256 | A: i:U k:C | loop: j1 i k j0 [j/32] | par: i balanced x2") == "");
}
