// Skewed columns: what is stored, and where kernels read beside the ends of the operand.
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

#include "packing_inputs.hpp"
#include "point_check.hpp"
#include "reference_packer.hpp"
#include "waco/base/random.hpp"
#include "waco/codegen/arranged.hpp"
#include "waco/codegen/storage.hpp"

namespace waco::codegen {

using matrix::SparseTensor;
using schedule::FormatSchedule;
using schedule::Op;
using schedule::ValueType;

namespace {

/// Whole diagonals `offsets` of a matrix.
SparseTensor diagonals(int64_t rows, int64_t columns, const std::vector<int64_t>& offsets) {
  std::set<std::vector<int64_t>> entries;
  for (int64_t row = 0; row < rows; ++row)
    for (const int64_t offset : offsets)
      if (row + offset >= 0 && row + offset < columns) entries.insert({row, row + offset});
  return make_tensor({rows, columns}, entries);
}

}  // namespace

TEST_CASE("skew: a skewed format is the format of the matrix with skewed columns", "[codegen]") {
  Random random(23);
  for (int round = 0; round < 300; ++round) {
    const auto dims = random_dims(random, 2);
    const SparseTensor tensor = random_tensor(random, dims, static_cast<int64_t>(random.below(200)));
    const std::string levels = "i1:U k:C i0:U i/" + std::to_string(2 + random.below(15));
    INFO("round " << round << ": " << dims[0] << " x " << dims[1] << ", " << levels);
    const SparseTensor stored = with_skewed_columns(tensor, 2);
    for (size_t n = 0; n < tensor.coords[0].size(); ++n)
      REQUIRE(stored.coords[1][n] == tensor.coords[1][n] - tensor.coords[0][n] + dims[0] - 1);
    const Storage expected = pack(stored, format_of(levels), Op::kSpmv, ValueType::kF64, 1);
    const auto check = [&](const SparseTensor& input, bool directly, int threads) {
      const Storage packed =
          pack(input, format_of(levels + " skewed"), Op::kSpmv, ValueType::kF64, threads, directly);
      const waco_storage &a = packed.abi(), &b = expected.abi();
      REQUIRE(a.num_stored == b.num_stored);
      CHECK(a.dim[1] == dims[1]);
      CHECK(bytes_of(a.values, a.num_stored * 8) == bytes_of(b.values, b.num_stored * 8));
      for (int l = 0; l < a.format.num_levels; ++l) {
        CHECK(a.level[l].extent == b.level[l].extent);
        REQUIRE(a.level[l].num_positions == b.level[l].num_positions);
        if (a.level[l].crd != nullptr) CHECK(read_crd(a.level[l]) == read_crd(b.level[l]));
      }
      std::vector<double> values;
      unpack_values(packed, a.values, 1, values);
      CHECK(values == input.values);
    };
    check(tensor, true, 1 + round % 3);
    check(tensor, false, 1 + round % 3);
    check(shuffled(tensor, random), true, 1 + round % 3);
  }
}

TEST_CASE("skew: whole diagonals are stored without fill but at the ends", "[codegen]") {
  const SparseTensor tensor = diagonals(64, 64, {-20, -1, 0, 1, 20});
  const Storage packed = pack(tensor, format_of("i1:U k:C i0:U i/16 skewed"), Op::kSpmv, ValueType::kF32, 2);
  CHECK(packed.abi().num_stored == (4 * 3 + 2 * 3) * 16);  // the outer ones are in three groups of four
}

TEST_CASE("skew: only groups of rows with all columns are sound", "[codegen]") {
  for (const char* text : {"i:U k:C skewed", "i1:U k:C i0:C i/4 skewed", "i1:C k:C i0:U i/4 skewed",
                           "k:C i1:U i0:U i/4 skewed", "i1:U k1:C k0:U i0:U i/4 k/2 skewed"}) {
    const waco_format format = to_abi(format_of(text), Op::kSpmv);
    INFO(text);
    CHECK(!waco_format_is_sound(&format));
  }
  waco_format unknown = to_abi(format_of("i1:U k:C i0:U i/4"), Op::kSpmv);
  CHECK(waco_format_is_sound(&unknown));
  unknown.arrangement = 3;
  CHECK(!waco_format_is_sound(&unknown));
}

/// Diagonals that begin before the first element of the operand and end behind its last one, in operands
/// longer and shorter than a group of rows.
TEST_CASE("skew: diagonals past the ends of the operand equal the reference", "[codegen]") {
  for (const char* text : {
           "spmv f32 | A: i1:U k:C i0:U [i/32 skewed] | loop: i1 k i0 | par: i1 static x2 | unroll 2",
           "spmv f32 | A: i1:U k:C i0:U [i/12 skewed] | loop: i1 k i0 | par: i1 balanced x3",
           "spmv f64 | A: i1:U k:C i0:U [i/8 skewed] | loop: i1 k i0 | par: serial | unroll 4",
           "spmv f64 | A: i1:U k:C i0:U [i/3 skewed] | loop: i1 k i0 | par: i1 dynamic,2 x2",
       })
    for (const auto& [rows, columns] : std::vector<std::pair<int64_t, int64_t>>{
             {100, 100}, {97, 31}, {5, 200}, {200, 5}, {1, 1}, {33, 1}}) {
      std::vector<int64_t> offsets;
      for (const int64_t offset :
           {-rows + 1, -rows / 2, int64_t{-1}, int64_t{0}, int64_t{2}, columns / 2, columns - 1})
        offsets.push_back(offset);
      for (const int vector_bytes : {16, 32, 64}) {
        INFO(text << ", " << rows << " x " << columns << ", " << vector_bytes << "-byte vectors");
        CHECK(check_point(schedule::parse(text), diagonals(rows, columns, offsets), test_cache(),
                          vector_bytes) == "");
      }
    }
}

/// Up to 2^16 diagonals have coordinates of two bytes, of whatever dimensions.
TEST_CASE("skew: coordinates are as wide as diagonals are many", "[codegen]") {
  const schedule::SuperSchedule point = schedule::parse(
      "spmv f32 | A: i1:U k:C i0:U [i/16 skewed] | loop: i1 k i0 | par: i1 static x2 | unroll 2");
  for (const auto& [rows, columns] :
       std::vector<std::pair<int64_t, int64_t>>{{100, 157}, {30000, 35537}, {30000, 35538}, {40000, 40000}}) {
    INFO(rows << " x " << columns);
    CHECK(check_point(point, diagonals(rows, columns, {-rows + 1, -3, 0, 7, columns - 1}), test_cache()) ==
          "");
  }
}

}  // namespace waco::codegen
