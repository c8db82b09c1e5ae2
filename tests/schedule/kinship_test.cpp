#include "waco/schedule/kinship.hpp"

#include <catch2/catch.hpp>
#include <string>

using namespace waco;

TEST_CASE("kinship: families are without numbers, and keep the loop that threads share", "[schedule]") {
  const auto family = [](const std::string& text) {
    return schedule::threaded_family(schedule::parse(text));
  };
  // Model folders hold these texts: a point that is called otherwise is one that no model knows.
  const std::string csr = "a10b11 |a1b1c1 | a1";
  CHECK(family("spmm f32 J=32 | A: i:U k:C | loop: i k j | par: i dynamic,32 x2") == csr);
  CHECK(
      family("spmm f64 J=256 | A: i:U k:C [clustered] | loop: i k j | par: i static x4 | unroll 4 stream") ==
      csr);
  CHECK(family("spmm f32 J=32 | A: i:U k:C | loop: i k j | par: serial") == "a10b11 |a1b1c1 | ");
  CHECK(family("spmm f32 J=32 | A: i:U k:C | loop: i k j | par: k static x2") == "a10b11 |a1b1c1 | b1");
  CHECK(
      family("spmm f32 J=256 | A: i1:U k:C i0:U [i/3] | loop: i1 j1 k i0 j0 [j/32] | par: i1 balanced x2") ==
      "a10b11a00 |a1c1b1a0c0 | a1");
  CHECK(family("spmv f32 | A: i1:U i0:U k:L [i/8 sort:256] | loop: i1 k i0 | par: i1 static x2") ==
        "a10a00b14 sorted |a1b1a0 | a1");
  CHECK(family("spmv f32 | A: i1:U i0:U k:L [i/16] | loop: i1 k i0 | par: i1 static x2") ==
        "a10a00b14 |a1b1a0 | a1");
  // A split that changes nothing is none.
  CHECK(family("spmm f32 J=32 | A: i1:U i0:U k:C [i/4] | loop: i1 i0 k j | par: i1 static x2") == csr);
}
