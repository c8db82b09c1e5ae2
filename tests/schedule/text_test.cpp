// The text form: what it looks like, what it accepts, and what its errors name.
#include <catch2/catch.hpp>

#include "parse_error.hpp"

using namespace waco;
using namespace waco::schedule;
using testing::parse_error;

TEST_CASE("text: canonical texts come back unchanged", "[schedule]") {
  for (const char* text : {
           "spmv f32 | A: i:U k:C | loop: i k | par: i dynamic,128 x2",
           "spmv f64 | A: i1:U i0:U k:L [i/8 sort:64] | loop: i1 k i0 | par: i1 static x2 | prefetch 8",
           "spmm f32 J=256 | A: i1:U k:C i0:U [i/4] | loop: i1 j1 k i0 j0 [j/64] | par: i1 dynamic,16 x2 | "
           "unroll 2 "
           "prefetch 8",
           "spmm f32 J=64 | A: i:U k:C | loop: i k j | par: i static x2 | unroll 2 stream",
           "spmm f32 J=32 | A: k1:C i:C k0:S [k/256] | loop: k1 i k0 j | par: serial",
           "spmm f32 J=64 | A: i:U k:C [clustered] | loop: i k j | par: i static x2",
           "spmv f64 | A: i1:U i0:U k:L [i/8 clustered sort:64] | loop: i1 k i0 | par: i1 static x2",
           "spmv f64 | A: i1:U i0:U k:L [i/8 clustered:640 sort:64] | loop: i1 k i0 | par: i1 static x2",
           "spmv f32 | A: i1:U k:C i0:U [i/32 skewed] | loop: i1 k i0 | par: i1 balanced x2 | unroll 2",
           "sddmm f64 K=256 | A: i:C j:S | loop: i j k | par: i balanced x2 | prefetch 4",
           "mttkrp f32 J=16 | A: i1:U k1:C l:S i0:C k0:S [i/16 k/64] | loop: i1 k1 l i0 k0 j | par: i1 "
           "static x4",
       })
    CHECK(to_text(parse(text)) == text);
}

TEST_CASE("text: a split of 1 and a parallel loop on one thread disappear", "[schedule]") {
  const std::string text = "spmv f32 | A: i1:U i0:U k:C [i/1] | loop: i1 i0 k | par: i1 dynamic,8 x1";
  CHECK(to_text(parse(text)) == "spmv f32 | A: i:U k:C | loop: i k | par: serial");
}

TEST_CASE("text: unroll and prefetch disappear where no stored level is walked innermost", "[schedule]") {
  const std::string dense_inner = "spmv f32 | A: k:C i:U | loop: k i | par: serial | unroll 4 prefetch 8";
  CHECK(to_text(parse(dense_inner)) == "spmv f32 | A: k:C i:U | loop: k i | par: serial");
  const std::string column_walk = "spmv f32 | A: k:U i:C | loop: k i | par: serial | unroll 4 prefetch 8";
  CHECK(to_text(parse(column_walk)) == "spmv f32 | A: k:U i:C | loop: k i | par: serial | unroll 4");
}

TEST_CASE("text: stream disappears where rows of the result are not written once and whole", "[schedule]") {
  for (const char* text : {"spmv f32 | A: i:U k:C | loop: i k | par: serial",
                           "sddmm f32 K=16 | A: i:U j:C | loop: i j k | par: serial",
                           "spmm f32 J=16 | A: k:U i:C | loop: k i j | par: serial",
                           "spmm f32 J=16 | A: k1:U i:C k0:C [k/4] | loop: k1 i k0 j | par: i static x2",
                           "mttkrp f32 J=16 | A: k:C i:C l:C | loop: k i l j | par: serial",
                           "spmm f32 J=16 | A: i:C k:S | loop: i k j | par: i balanced x2",
                           "mttkrp f32 J=16 | A: i:C k:S l:C | loop: i k l j | par: serial"})
    CHECK(to_text(parse(std::string(text) + " | stream")) == text);
}

TEST_CASE("text: stream disappears where rows are no whole number of vectors", "[schedule]") {
  const auto streams = [](const std::string& problem) {
    return parse(problem + " | A: i:U k:C | loop: i k j | par: serial | stream").compute.stream;
  };
  CHECK(streams("spmm f32 J=20"));
  CHECK(streams("spmm f64 J=10"));
  CHECK_FALSE(streams("spmm f32 J=10"));
  CHECK_FALSE(streams("spmm f64 J=37"));
}

TEST_CASE("text: prefetch disappears where spmv takes its values in vectors", "[schedule]") {
  const std::string csr = "spmv f32 | A: i:U k:C | loop: i k | par: serial | ";
  CHECK(to_text(parse(csr + "unroll 4 prefetch 8")) == csr + "unroll 4");
  CHECK(to_text(parse(csr + "unroll 2 prefetch 8")) == csr + "unroll 2 prefetch 8");
  const std::string columns = "spmv f32 | A: i:U k1:C k0:C [k/64] | loop: i k1 k0 | par: serial | ";
  CHECK(to_text(parse(columns + "unroll 8 prefetch 8")) == columns + "unroll 8");
  const std::string blocks = "spmv f32 | A: i1:U k:C i0:U [i/4] | loop: i1 k i0 | par: serial | ";
  CHECK(to_text(parse(blocks + "unroll 8 prefetch 8")) == blocks + "unroll 8 prefetch 8");
}

TEST_CASE("text: prefetch of rows that are looked up disappears", "[schedule]") {
  const std::string loops = " | loop: j i k | par: serial | prefetch 4";
  CHECK(parse("sddmm f32 K=64 | A: j:U i:C" + loops).compute.prefetch == 4);
  CHECK(parse("sddmm f32 K=64 | A: j:U i:C [clustered]" + loops).compute.prefetch == 0);
  CHECK(parse("spmv f32 | A: i1:U k:C i0:U [i/4 skewed] | loop: i1 k i0 | par: serial | prefetch 8")
            .compute.prefetch == 0);
}

TEST_CASE("text: unroll disappears where the innermost stored loop is parallel", "[schedule]") {
  const std::string tuples = "spmv f32 | A: i:C k:S | loop: i k | par: i balanced x2";
  CHECK(to_text(parse(tuples + " | unroll 8 prefetch 8")) == tuples + " | prefetch 8");
}

TEST_CASE("text: unroll is at most what an unrolled block leaves room for", "[schedule]") {
  const std::string blocks = "spmv f32 | A: i1:U k1:C k0:U i0:U [i/6 k/6] | loop: i1 k1 k0 i0 | par: serial";
  CHECK(to_text(parse(blocks + " | unroll 16")) == blocks);
  const std::string columns = "spmm f32 J=8 | A: i1:U k:C i0:U [i/16] | loop: i1 k i0 j | par: serial";
  CHECK(to_text(parse(columns + " | unroll 16")) == columns + " | unroll 4");
  CHECK(to_text(parse(columns + " | unroll 2")) == columns + " | unroll 2");
}

TEST_CASE("text: unroll and prefetch disappear where levels are looked up inside", "[schedule]") {
  const std::string tensors = "mttkrp f32 J=16 | A: i:U k:C l:C | loop: i l k j | par: serial";
  CHECK(to_text(parse(tensors + " | unroll 4")) == tensors);
  const std::string rows = "spmm f32 J=8 | A: k1:C k0:U i:C [k/4] | loop: i k1 k0 j | par: serial";
  CHECK(to_text(parse(rows + " | unroll 4 prefetch 8")) == rows);
}

TEST_CASE("text: the csr point is TACO's default loop", "[schedule]") {
  CHECK(to_text(csr_point({Op::kSpmv, ValueType::kF32, 1}, 2)) ==
        "spmv f32 | A: i:U k:C | loop: i k | par: i dynamic,128 x2");
  CHECK(to_text(csr_point({Op::kSddmm, ValueType::kF64, 256}, 4)) ==
        "sddmm f64 K=256 | A: i:U j:C | loop: i j k | par: i dynamic,32 x4");
  CHECK(to_text(csr_point({Op::kMttkrp, ValueType::kF32, 16}, 1)) ==
        "mttkrp f32 J=16 | A: i:C k:C l:C | loop: i k l j | par: serial");
}

TEST_CASE("text: errors name the faulty part", "[schedule]") {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "expected 'OP TYPE SIZE"},
      {"spvm f32 | A: i:U k:C | loop: i k | par: serial", "'spvm f32': expected an op"},
      {"spmv f16 | A: i:U k:C | loop: i k | par: serial", "expected a type"},
      {"spmv f32 J=4 | A: i:U k:C | loop: i k | par: serial", "'J=4': spmv has no dense index"},
      {"spmm f32 K=4 | A: i:U k:C | loop: i k j | par: serial", "such as J=256"},
      {"spmm f32 J=4x | A: i:U k:C | loop: i k j | par: serial", "'J=4x': expected a number"},
      {"spmv f32 | i:U k:C | loop: i k | par: serial", "'i:U k:C': expected 'A:'"},
      {"spmv f32 | A: i:U k:X | loop: i k | par: serial", "'k:X': expected a level"},
      {"spmv f32 | A: i:U z:C | loop: i k | par: serial", "'z:C': spmv has no index 'z'"},
      {"spmv f32 | A: i1:U k:C | loop: i k | par: serial", "'i1:U': index i is not split"},
      {"spmv f32 | A: i:U k:C [i/4] | loop: i k | par: serial", "'i:U': index i is split"},
      {"spmv f32 | A: i:U k:C [i/4 | loop: i k | par: serial", "bracket must be closed"},
      {"spmv f32 | A: i1:U i0:U k:C [i/4 i/4] | loop: i1 i0 k | par: serial",
       "'i/4': the index is split twice"},
      {"spmv f32 | A: i1:U i0:U k:L [i/8 sort:1 sort:8] | loop: i1 k i0 | par: serial", "given twice"},
      {"spmv f32 | A: i:U k:C [clustered clustered] | loop: i k | par: serial", "arranged once"},
      {"spmv f32 | A: i1:U k:C i0:U [i/4 clustered skewed] | loop: i1 k i0 | par: serial", "arranged once"},
      {"spmv f32 | A: i:U k:C [clustered:0] | loop: i k | par: serial", "the window must be at least 1"},
      {"spmv f32 | A: i:U k:C [clustered:] | loop: i k | par: serial", "expected a number"},
      {"spmv f32 | A: i:U k:C [clustered:4x] | loop: i k | par: serial", "expected a number"},
      {"spmv f32 | A: i1:U k:C i0:U [i/4 skewed:8] | loop: i1 k i0 | par: serial",
       "only clustered rows have a window"},
      {"spmv f32 | A: i:U k:C [cluster] | loop: i k | par: serial",
       "expected a split such as i/4, clustered"},
      {"spmv f32 | A: i:U k:C | loop: i k | par: serial [i/4]", "expected 'serial'"},
      {"spmv f32 | A: i1:U i0:U k:C [i/17] | loop: i1 i0 k | par: serial", "split i/17"},
      {"spmv f32 | A: i1:U i0:U k:C [i/99999999999] | loop: i1 i0 k | par: serial", "too large"},
      {"spmv f32 | A: i:U k:C | loop: i k | par: j static x2", "'j': spmv has no index"},
      {"spmv f32 | A: i:U k:C | loop: i k | par: i guided x2", "'guided': expected dynamic"},
      {"spmv f32 | A: i:U k:C | loop: i k | par: i static", "expected 'serial'"},
      {"spmv f32 | A: i:U k:C | loop: i k | par: serial | unroll", "'unroll' needs a number"},
      {"spmm f32 J=8 | A: i:U k:C | loop: i k j | par: serial | stream stream", "given twice"},
      {"spmm f32 J=8 | A: i:U k:C | loop: i k j | par: serial | streams",
       "expected unroll, prefetch or stream"},
      {"spmv f32 | A: i:U k:C | loop: i k | par: serial | unroll 2 unroll 2", "given twice"},
  };
  for (const auto& [text, message] : cases) {
    CAPTURE(text);
    CHECK_THAT(parse_error(text), Catch::Contains(message));
  }
}
