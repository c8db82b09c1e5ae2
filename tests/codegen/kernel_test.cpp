// Kernels of chosen and of random points equal the reference.
#include "waco/codegen/kernel.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <catch2/catch.hpp>
#include <map>

#include "packing_inputs.hpp"
#include "point_check.hpp"

namespace waco::codegen {
namespace {

void check_on_several_matrices(const std::string& text) {
  const schedule::SuperSchedule point = schedule::parse(text);
  Random random(11);
  for (int n = 0; n < 6; ++n) {
    const auto tensor = random_small_tensor(schedule::sparse_order(point.problem.op), random);
    INFO(text << " on " << tensor.dims[0] << " x " << tensor.dims[1] << ", " << tensor.num_nonzeros()
              << " nonzeros");
    CHECK(check_point(point, tensor, test_cache()) == "");
  }
}

void check_random_points(const char* op) {
  for (int64_t n = 0; n < 60; ++n) {
    const Case each = random_case(2024, n, op);
    INFO(n << ": " << schedule::to_text(each.point));
    CHECK(check_point(each.point, each.tensor, test_cache()) == "");
  }
}

/// The kernel for 64-byte vectors.
std::string source(const std::string& text, std::vector<int64_t> dims) {
  const schedule::SuperSchedule point = schedule::parse(text);
  return kernel_source(point, bind(point, {dims[0], dims[1], 1}, 1000, 64));
}

/// Whether this is in the kernel itself, after what all kernels begin with.
bool has(const std::string& source, const char* what) {
  return source.find(what, source.find("waco_body")) != std::string::npos;
}

}  // namespace

TEST_CASE("kernel: random points of spmv equal the reference", "[codegen]") {
  check_random_points("spmv");
}
TEST_CASE("kernel: random points of spmm equal the reference", "[codegen]") {
  check_random_points("spmm");
}
TEST_CASE("kernel: random points of sddmm equal the reference", "[codegen]") {
  check_random_points("sddmm");
}
TEST_CASE("kernel: random points of mttkrp equal the reference", "[codegen]") {
  check_random_points("mttkrp");
}

TEST_CASE("kernel: what differs in unroll or prefetch alone differs as a program", "[codegen]") {
  for (int64_t n = 0; n < 400; ++n) {
    const Case each = random_case(77, n, "");
    std::map<std::string, std::string> plan_of;  // by source
    for (const int unroll : {1, 2, 4, 8, 16})
      for (const int prefetch : {0, 8}) {
        schedule::SuperSchedule point = each.point;
        point.compute.unroll = unroll;
        point.compute.prefetch = prefetch;
        point = schedule::canonical(point);
        const std::string plan = schedule::to_text(point);
        const auto dims = matrix::three_dims(each.tensor.dims);
        const auto [first, is_new] =
            plan_of.emplace(kernel_source(point, codegen::bind(point, dims, 1000, 64)), plan);
        CHECK(first->second == plan);
      }
  }
}

TEST_CASE("kernel: kernels for 16-byte vectors equal the reference", "[codegen]") {
  for (const char* text : {
           "spmv f32 | A: i:U k:C | loop: i k | par: i static x2 | unroll 16",
           "spmv f64 | A: i1:U i0:U k:L [i/8 sort:64] | loop: i1 k i0 | par: i1 static x2",
           "spmv f32 | A: i1:U k1:C k0:U i0:U [i/3 k/4] | loop: i1 k1 k0 i0 | par: i1 static x2 | unroll 2",
           "spmm f32 J=37 | A: i:U k:C | loop: i k j | par: i static x2 | stream",
           "sddmm f32 K=50 | A: i:U j:C | loop: i j k | par: i static x2 | unroll 4",
           "mttkrp f64 J=20 | A: i:C k:S l:S | loop: i k l j | par: i balanced x2",
       }) {
    const schedule::SuperSchedule point = schedule::parse(text);
    Random random(13);
    const auto tensor = random_small_tensor(schedule::sparse_order(point.problem.op), random);
    INFO(text);
    CHECK(check_point(point, tensor, test_cache(), 16) == "");
  }
}

TEST_CASE("kernel: blocks larger than the matrix, and more threads than rows, equal the reference",
          "[codegen]") {
  Random random(29);
  const auto tensor_of = [&](int64_t rows, int64_t cols) {
    matrix::SparseTensor tensor{"small", {rows, cols}, {{}, {}}, {}};
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t col = 0; col < cols; ++col)
        if (random.chance(0.6)) {
          tensor.coords[0].push_back(row);
          tensor.coords[1].push_back(col);
          tensor.values.push_back(1);
        }
    return tensor;
  };
  const std::vector<matrix::SparseTensor> tensors{tensor_of(1, 1), tensor_of(3, 5), tensor_of(2, 70)};
  for (const char* text : {
           "spmv f32 | A: i:U k:C | loop: i k | par: i balanced x12",
           "spmv f32 | A: i:C k:S | loop: i k | par: i balanced x12",
           "spmv f64 | A: i1:U i0:U k:L [i/32 sort:64] | loop: i1 k i0 | par: i1 static x12",
           "spmv f32 | A: i1:U k:C i0:U [i/8] | loop: i1 k i0 | par: i1 static x12",
           "spmv f32 | A: i1:U k1:C k0:U i0:U [i/6 k/4] | loop: i1 k1 k0 i0 | par: i1 balanced x12",
           "spmm f32 J=20 | A: i1:U k:C i0:U [i/8] | loop: i1 k i0 j | par: i1 balanced x12",
           "spmm f32 J=20 | A: i:U k:C | loop: i k j | par: i dynamic,256 x12",
           "sddmm f32 K=24 | A: i1:U j:C i0:U [i/8] | loop: i1 j i0 k | par: i1 static x12",
       })
    for (const matrix::SparseTensor& tensor : tensors) {
      INFO(text << " on " << tensor.dims[0] << " x " << tensor.dims[1]);
      CHECK(check_point(schedule::parse(text), tensor, test_cache()) == "");
    }
}

TEST_CASE("kernel: coordinates of two and of four bytes equal the reference", "[codegen]") {
  for (const char* text : {
           "spmv f32 | A: i:U k:C | loop: i k | par: i balanced x2 | unroll 8",
           "spmv f64 | A: i:U k:C | loop: i k | par: i static x2 | unroll 4",
           "spmv f32 | A: i1:U i0:U k:L [i/8 sort:16] | loop: i1 k i0 | par: i1 static x2",
           "spmv f64 | A: i1:U i0:U k:L [i/4] | loop: i1 k i0 | par: serial",
           "spmv f32 | A: i1:U k1:C k0:U i0:U [i/3 k/3] | loop: i1 k1 k0 i0 | par: i1 static x2",
           "spmv f32 | A: k:C i:C | loop: k i | par: serial",
           "spmm f32 J=20 | A: i:U k:C | loop: i k j | par: i static x2 | prefetch 4",
           "spmm f64 J=8 | A: i1:U k:C i0:U [i/6] | loop: i1 k i0 j | par: i1 balanced x2",
           "sddmm f32 K=24 | A: i:U j:C | loop: i j k | par: i static x2 | unroll 4",
           "mttkrp f32 J=16 | A: i:C k:C l:C | loop: i k l j | par: i balanced x2",
           "mttkrp f32 J=16 | A: i:C k:S l:S | loop: i k l j | par: i static x2",
       })
    for (const int64_t size : {300, 70000}) {
      const schedule::SuperSchedule point = schedule::parse(text);
      std::vector<int64_t> dims(static_cast<size_t>(schedule::sparse_order(point.problem.op)), size);
      dims[0] = 40;
      Random random(17);
      const auto tensor = random_tensor(random, dims, 1500);
      INFO(text << " " << size);
      CHECK(check_point(point, tensor, test_cache()) == "");
    }
}

TEST_CASE("kernel: spmv formats equal the reference", "[codegen]") {
  for (const char* text : {
           "spmv f32 | A: i:U k:C | loop: i k | par: serial",
           "spmv f32 | A: i:U k:C | loop: i k | par: i static x2 | unroll 2",
           "spmv f32 | A: i:U k:C | loop: i k | par: i balanced x3 | unroll 16",
           "spmv f64 | A: i:U k:C | loop: i k | par: i dynamic,4 x2 | unroll 8",
           "spmv f32 | A: i:C k:C | loop: i k | par: i balanced x2",
           "spmv f32 | A: i:C k:S | loop: i k | par: i balanced x3",
           "spmv f32 | A: i:C k:S | loop: i k | par: i static x2 | unroll 4",
           "spmv f32 | A: i1:U k1:C k0:U i0:U [i/3 k/3] | loop: i1 k1 k0 i0 | par: i1 balanced x2",
           "spmv f64 | A: i1:U k1:C i0:U k0:U [i/6 k/4] | loop: i1 k1 i0 k0 | par: i1 static x2",
           "spmv f32 | A: i1:U k1:C i0:U k0:U [i/2 k/32] | loop: i1 k1 i0 k0 | par: serial | unroll 2",
           "spmv f64 | A: i:U k1:C k0:U [k/8] | loop: i k1 k0 | par: i static x2",
           "spmv f32 | A: i1:U k:C i0:U [i/8] | loop: i1 k i0 | par: i1 static x2",
           "spmv f32 | A: i1:U k:C i0:U [i/6] | loop: i1 k i0 | par: i1 static x2",
           "spmv f64 | A: i1:U k:C i0:U [i/6] | loop: i1 k i0 | par: i1 balanced x3",
           "spmv f32 | A: k:U i1:C i0:U [i/6] | loop: k i1 i0 | par: serial",
           "spmv f32 | A: i1:U i0:U k:L [i/8 sort:64] | loop: i1 k i0 | par: i1 dynamic,2 x2",
           "spmv f64 | A: i1:U i0:U k:E [i/32 sort:64] | loop: i1 k i0 | par: serial",
           "spmv f32 | A: i1:U i0:U k:L [i/32] | loop: i1 k i0 | par: i1 static x2",
           "spmv f64 | A: i1:U i0:U k:E [i/4] | loop: i1 k i0 | par: i1 static x2",
           "spmv f32 | A: i1:U i0:U k:L [i/4 sort:16] | loop: i1 i0 k | par: i1 static x2",
           "spmv f32 | A: k:U i:C | loop: k i | par: k balanced x2",
           "spmv f32 | A: i:U k:C | loop: k i | par: k static x2",
           "spmv f32 | A: i1:U k1:C i0:U k0:C [i/16 k/16] | loop: i1 k1 i0 k0 | par: i1 static x2 | unroll 4",
       })
    check_on_several_matrices(text);
}

TEST_CASE("kernel: small dense blocks are multiplied whole, wide ones column by column", "[codegen]") {
  const std::string small = "spmv f32 | A: i1:U k1:C k0:U i0:U [i/3 k/3] | loop: i1 k1 k0 i0 | par: serial";
  const std::string wide = "spmv f32 | A: i1:U k1:C k0:U i0:U [i/16 k/2] | loop: i1 k1 k0 i0 | par: serial";
  CHECK(has(source(small, {300, 300}), "WACO_PICK8"));
  CHECK(has(source(small, {300, 300}), "edge["));  // vectors of the operand are longer than a block
  CHECK_FALSE(has(source(wide, {320, 320}), "WACO_PICK"));
  CHECK_FALSE(has(source(wide, {320, 320}), "edge["));
  CHECK(has(source(wide, {320, 321}), "edge["));
}

/// Vectors run over the ends of rows and of columns in a block, and over the last column of the matrix.
TEST_CASE("kernel: small dense blocks at the edge of a matrix equal the reference", "[codegen]") {
  for (const char* text : {
           "spmv f32 | A: i1:U k1:C k0:U i0:U [i/2 k/2] | loop: i1 k1 k0 i0 | par: i1 static x2 | unroll 4",
           "spmv f32 | A: i1:U k1:C k0:U i0:U [i/3 k/2] | loop: i1 k1 k0 i0 | par: i1 balanced x2 | unroll 2",
           "spmv f32 | A: i1:C k1:C k0:U i0:U [i/3 k/3] | loop: i1 k1 k0 i0 | par: i1 static x2 | unroll 4",
           "spmv f32 | A: i1:U k1:C k0:U i0:U [i/2 k/8] | loop: i1 k1 k0 i0 | par: i1 dynamic,2 x2",
           "spmv f32 | A: i1:U k1:C k0:U i0:U [i/4 k/4] | loop: i1 k1 k0 i0 | par: serial",
           "spmv f32 | A: i1:U k1:C k0:U i0:U [i/6 k/6] | loop: i1 k1 k0 i0 | par: i1 balanced x2 | unroll "
           "16",
           "spmv f32 | A: i1:U k1:C k0:U i0:U [i/5 k/7] | loop: i1 k1 k0 i0 | par: i1 static x2",
           "spmv f32 | A: k1:U i1:C k0:U i0:U [i/3 k/4] | loop: k1 i1 k0 i0 | par: k1 static x2",
           "spmv f64 | A: i1:U k1:C k0:U i0:U [i/2 k/2] | loop: i1 k1 k0 i0 | par: i1 static x2 | unroll 2",
           "spmv f64 | A: i1:U k1:C k0:U i0:U [i/3 k/4] | loop: i1 k1 k0 i0 | par: i1 balanced x2 | unroll 4",
           "spmv f32 | A: i1:U k1:C k0:U i0:U [i/8 k/3] | loop: i1 k1 k0 i0 | par: i1 static x2 | unroll 4",
           "spmv f32 | A: i1:U k1:C i0:U k0:U [i/3 k/4] | loop: i1 k1 i0 k0 | par: i1 static x2 | unroll 2",
           "spmv f64 | A: i1:U k1:C i0:U k0:U [i/2 k/3] | loop: i1 k1 i0 k0 | par: i1 static x2",
           "spmv f32 | A: i1:U i0:U k1:L k0:U [i/4 k/4] | loop: i1 k1 k0 i0 | par: i1 static x2",
           "spmv f32 | A: i1:U i0:U k1:L k0:U [i/32 k/4] | loop: i1 k1 k0 i0 | par: serial",
           "spmv f64 | A: i1:U i0:U k1:E k0:U [i/8 k/64] | loop: i1 k1 k0 i0 | par: serial",
           "spmv f32 | A: k1:C i1:C k0:U i0:U [i/3 k/3] | loop: i1 k1 k0 i0 | par: i1 static x2",
           "spmv f32 | A: i1:U k1:C k0:U i0:U [i/6 k/3] | loop: i1 k1 k0 i0 | par: i1 balanced x7 | unroll 2",
           "spmv f32 | A: i1:U k1:C k0:U i0:U [i/6 k/4] | loop: i1 k1 k0 i0 | par: i1 balanced x7 | unroll 2",
       }) {
    Random random(17);
    for (const int64_t columns : {1, 2, 3, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31}) {
      matrix::SparseTensor tensor;
      tensor.dims = {11, columns};
      tensor.coords.resize(2);
      for (int64_t row = 0; row < 11; ++row)
        for (int64_t column = 0; column < columns; ++column) {
          if (column + 3 < columns && random.below(3) == 0) continue;
          tensor.coords[0].push_back(row);
          tensor.coords[1].push_back(column);
          tensor.values.push_back(0.5 + static_cast<double>(random.below(8)));
        }
      INFO(text << " with " << columns << " columns");
      CHECK(check_point(schedule::parse(text), tensor, test_cache()) == "");
    }
  }
}

/// Two rows, the first of which ends in the last, narrow block of columns: what follows its coordinates is of
/// another block.
TEST_CASE("kernel: the end of a row in a narrow block of columns reads nothing past the operand",
          "[codegen]") {
  matrix::SparseTensor tensor;
  tensor.dims = {2, 4097};
  tensor.coords.resize(2);
  for (const auto& [row, column] : {std::pair<int64_t, int64_t>{0, 4096}, {1, 4094}, {1, 4095}}) {
    tensor.coords[0].push_back(row);
    tensor.coords[1].push_back(column);
    tensor.values.push_back(1.5);
  }
  for (const char* text : {"spmv f32 | A: i:U k1:C k0:C [k/4096] | loop: i k1 k0 | par: serial | unroll 16",
                           "spmv f32 | A: i:U k1:C k0:C [k/4096] | loop: i k1 k0 | par: serial | unroll 2",
                           "spmv f32 | A: i:U k1:C k0:C [k/4096] | loop: i k1 k0 | par: serial | unroll 4",
                           "spmv f32 | A: i:U k1:C k0:C [k/4096] | loop: i k1 k0 | par: serial | unroll 8",
                           "spmv f64 | A: i:U k1:C k0:C [k/4096] | loop: i k1 k0 | par: serial | unroll 8"})
    CHECK(check_point(schedule::parse(text), tensor, test_cache()) == "");
}

TEST_CASE("kernel: spmm formats equal the reference", "[codegen]") {
  for (const char* text : {
           "spmm f32 J=256 | A: i:U k:C | loop: i k j | par: i balanced x2 | prefetch 4",
           "spmm f32 J=100 | A: i:U k:C | loop: i j1 k j0 [j/32] | par: i dynamic,2 x2 | unroll 2",
           "spmm f32 J=37 | A: i:U k:C | loop: i k j | par: i static x2 | unroll 4",
           "spmm f32 J=32 | A: i:U k:C | loop: i k j | par: i static x2 | unroll 16",
           "spmm f64 J=16 | A: i1:U k:C i0:U [i/2] | loop: i1 k i0 j | par: serial | unroll 8",
           "spmm f32 J=600 | A: i:U k:C | loop: i k j | par: i static x2 | unroll 4",
           "spmm f64 J=32 | A: i1:U k:C i0:U [i/4] | loop: i1 k i0 j | par: i1 static x2",
           "spmm f32 J=64 | A: i1:U k1:C i0:U k0:U [i/3 k/3] | loop: i1 j1 k1 i0 k0 j0 [j/32] | par: i1 "
           "static x2",
           "spmm f32 J=64 | A: k1:U i:C k0:C [k/16] | loop: k1 i k0 j | par: i dynamic,4 x2 | unroll 2",
           "spmm f32 J=33 | A: k:U i:C | loop: k i j | par: k static x2 | unroll 4",
           "spmm f32 J=20 | A: i:C k:S | loop: i k j | par: i balanced x2 | unroll 4",
           "spmm f32 J=32 | A: i:U k:C | loop: k i j | par: i static x2",
           "spmm f32 J=40 | A: i1:U i0:U k:L [i/4 sort:32] | loop: i1 k i0 j | par: i1 static x2 | prefetch "
           "2",
           "spmm f32 J=48 | A: i:U k:C | loop: j1 i k j0 [j/16] | par: j1 static x2",
           "spmm f32 J=48 | A: i:U k:C | loop: i k j1 j0 [j/16] | par: i balanced x3 | unroll 4",
           "spmm f32 J=48 | A: i:U k:C | loop: j1 i k j0 [j/16] | par: i balanced x3",
       })
    check_on_several_matrices(text);
}

/// Rows of these lengths, from column 0 on.
matrix::SparseTensor rows_of_lengths(const std::vector<int64_t>& lengths) {
  matrix::SparseTensor tensor;
  tensor.dims = {static_cast<int64_t>(lengths.size()), 70};
  tensor.coords.resize(2);
  for (size_t row = 0; row < lengths.size(); ++row) {
    for (int64_t column = 0; column < lengths[row]; ++column) {
      tensor.coords[0].push_back(static_cast<int64_t>(row));
      tensor.coords[1].push_back(column);
      tensor.values.push_back(0.5 + 0.01 * static_cast<double>(column));
    }
  }
  return tensor;
}

TEST_CASE("kernel: rows that are cut between threads equal the reference", "[codegen]") {
  const std::vector<std::vector<int64_t>> matrices = {
      {70}, {0, 70, 0}, {70, 70}, {1, 70, 1, 2}, {70, 0, 0, 0, 70}, {3, 0, 70, 5, 70, 1, 0, 2}};
  for (const char* text : {
           "spmv f32 | A: i:U k:C | loop: i k | par: i balanced x5",
           "spmv f64 | A: i1:U k:C i0:U [i/2] | loop: i1 k i0 | par: i1 balanced x5",
           "spmm f32 J=48 | A: i:U k:C | loop: j1 i k j0 [j/16] | par: i balanced x5",
           "spmm f32 J=16 | A: i:U k:C | loop: i k j | par: i balanced x5 | unroll 4 stream",
           "sddmm f32 K=16 | A: i:U j:C | loop: i j k | par: i balanced x5",
       })
    for (const std::vector<int64_t>& lengths : matrices) {
      INFO(text << " on rows of " << fmt::format("{}", fmt::join(lengths.begin(), lengths.end(), " ")));
      CHECK(check_point(schedule::parse(text), rows_of_lengths(lengths), test_cache()) == "");
    }
}

/// Nothing past the end of an operand can be read or written here, and a wrong lane of the last vector shows.
TEST_CASE("kernel: sizes of the dense index that are no multiple of a vector equal the reference",
          "[codegen]") {
  const std::pair<const char*, const char*> kinds[] = {
      {"spmm", "A: i:U k:C | loop: i k j | par: serial"},
      {"sddmm", "A: i:U j:C | loop: i j k | par: serial"},
      {"mttkrp", "A: i:C k:C l:C | loop: i k l j | par: serial"},
  };
  Random random(17);
  for (const auto& [op, rest] : kinds) {
    const auto tensor = random_small_tensor(schedule::sparse_order(*schedule::parse_op(op)), random);
    for (const char* type : {"f32", "f64"}) {
      const int vector_bytes = type[1] == '3' ? 32 : 64;
      for (const int size : {1, 3, 6, 7, 17, 20, 33, 40, 100}) {
        const char* index = op == std::string("sddmm") ? "K" : "J";
        const std::string text = fmt::format("{} {} {}={} | {}", op, type, index, size, rest);
        INFO(text);
        CHECK(check_point(schedule::parse(text), tensor, test_cache(), vector_bytes) == "");
      }
    }
  }
}

TEST_CASE("kernel: the rest of a tile and of steps through a row equals the reference", "[codegen]") {
  for (const char* text : {
           "spmm f32 J=100 | A: i:U k:C | loop: i j1 k j0 [j/64] | par: i static x2",
           "spmm f32 J=121 | A: i:U k:C | loop: j1 i k j0 [j/24] | par: j1 static x2 | unroll 2",
           "spmm f64 J=47 | A: k:U i:C | loop: k j1 i j0 [j/32] | par: serial",
           "spmm f32 J=601 | A: i:U k:C | loop: i j1 k j0 [j/512] | par: serial",
           "spmm f32 J=303 | A: i1:U k:C i0:U [i/3] | loop: i1 k i0 j | par: i1 static x2",
           "spmm f64 J=511 | A: k1:U i:C k0:C [k/16] | loop: k1 i k0 j | par: serial | unroll 2",
           "spmm f32 J=300 | A: k:U i:C | loop: k i j | par: serial | unroll 4",
           "spmm f64 J=260 | A: i1:U k1:C k0:U i0:U [i/3 k/2] | loop: i1 k1 k0 i0 j | par: serial | unroll 4",
           "sddmm f32 K=47 | A: i:U j:C | loop: i k1 j k0 [k/32] | par: i static x2 | unroll 4",
           "sddmm f64 K=1001 | A: i:U j:C | loop: i j k1 k0 [k/512] | par: serial | unroll 4",
           "mttkrp f32 J=33 | A: i:U k:C l:C | loop: i j1 k l j0 [j/16] | par: i static x2",
           "mttkrp f64 J=300 | A: i:C k:S l:S | loop: i k l j | par: i balanced x2",
       })
    check_on_several_matrices(text);
}

TEST_CASE("kernel: streamed results equal the reference", "[codegen]") {
  for (const char* text : {
           "spmm f32 J=256 | A: i:U k:C | loop: i k j | par: i balanced x2 | unroll 4 stream",
           "spmm f32 J=37 | A: i:U k:C | loop: i k j | par: i static x2 | stream",
           "spmm f32 J=40 | A: i:U k:C | loop: i j1 k j0 [j/32] | par: i static x2 | stream",
           "spmm f32 J=100 | A: i:U k:C | loop: i j1 k j0 [j/64] | par: i static x2 | stream",
           "spmm f32 J=4 | A: i:U k:C | loop: i k j | par: i static x2 | stream",
           "spmm f32 J=1024 | A: i:U k:C | loop: i k j | par: i balanced x3 | unroll 2 stream",
           "spmm f64 J=512 | A: i1:U k:C i0:U [i/3] | loop: i1 k i0 j | par: i1 balanced x2 | stream",
           "spmm f64 J=64 | A: i1:U k1:C k0:U i0:U [i/3 k/2] | loop: i1 k1 k0 i0 j | par: i1 static x2 | "
           "stream",
           "spmm f32 J=64 | A: i1:U i0:U k:L [i/4 sort:32] | loop: i1 k i0 j | par: i1 static x2 | stream",
           "spmm f32 J=512 | A: i:C k:C | loop: i k j | par: i dynamic,4 x2 | stream",
           "mttkrp f32 J=16 | A: i:C k:C l:C | loop: i k l j | par: i balanced x2 | stream",
           "mttkrp f64 J=512 | A: i:C k:C l:S | loop: i k l j | par: i static x2 | stream",
       })
    check_on_several_matrices(text);
}

TEST_CASE("kernel: sddmm formats equal the reference", "[codegen]") {
  for (const char* text : {
           "sddmm f32 K=256 | A: i:U j:C | loop: i j k | par: i balanced x3 | unroll 4",
           "sddmm f64 K=50 | A: i:U j:C | loop: i j k1 k0 [k/16] | par: i static x2 | unroll 2",
           "sddmm f32 K=40 | A: i:U j:C | loop: i k1 j k0 [k/32] | par: i static x2 | unroll 8",
           "sddmm f32 K=64 | A: i1:U j:C i0:U [i/4] | loop: i1 j i0 k | par: i1 static x2",
           "sddmm f32 K=64 | A: i1:U j1:C i0:U j0:U [i/3 j/2] | loop: i1 j1 i0 j0 k | par: i1 dynamic,2 x2",
           "sddmm f32 K=32 | A: j:U i:C | loop: j i k | par: j static x2 | unroll 4",
           "sddmm f32 K=32 | A: i:C j:S | loop: i j k | par: i static x2 | unroll 4",
           "sddmm f32 K=32 | A: i1:U i0:U j:L [i/8 sort:16] | loop: i1 j i0 k | par: i1 static x2",
           "sddmm f32 K=48 | A: j1:U i:U j0:C [j/16] | loop: j1 i j0 k | par: i static x2 | unroll 2 "
           "prefetch 2",
           "sddmm f32 K=48 | A: i:U j:C | loop: k1 i j k0 [k/16] | par: k1 static x2",
           "sddmm f32 K=2000 | A: i:U j:C | loop: i j k | par: i static x2 | unroll 4",
           "sddmm f32 K=256 | A: i:U j:C | loop: i j k | par: i static x2 | unroll 16",
           "sddmm f32 K=8 | A: i:U j:C | loop: i j k | par: i static x2 | unroll 16",
           "sddmm f64 K=64 | A: i:C j:C | loop: i j k | par: i static x2 | unroll 8",
           "sddmm f64 K=24 | A: i1:U j:C i0:U [i/5] | loop: i1 j i0 k | par: i1 balanced x2 | unroll 2",
           "sddmm f32 K=64 | A: i1:U j1:C i0:U j0:U [i/4 j/3] | loop: i1 j1 j0 i0 k | par: i1 static x2",
           "sddmm f32 K=64 | A: j1:U i:C j0:U [j/4] | loop: i j1 j0 k | par: i static x2",
       })
    check_on_several_matrices(text);
}

TEST_CASE("kernel: neighbouring results of sddmm are summed up together, from four on", "[codegen]") {
  const auto csr = [](int unroll) {
    return source(fmt::format("sddmm f32 K=256 | A: i:U j:C | loop: i j k | par: serial | unroll {}", unroll),
                  {300, 300});
  };
  CHECK(has(csr(4), "store4(out + "));
  CHECK(has(csr(8), "store8(out + "));
  CHECK_FALSE(has(csr(2), "store2(out + "));
  const char* block = "sddmm f32 K=64 | A: i1:U j:C i0:U [i/4] | loop: i1 j i0 k | par: serial";
  CHECK(has(source(block, {300, 300}), "store4(out + "));
  // A level between the nonzeros in flight and the end, bound before them, keeps their results apart.
  const std::string apart = source(
      "sddmm f32 K=256 | A: j1:U i:C j0:U [j/4] | loop: j1 j0 i k | par: serial | unroll 4", {300, 300});
  CHECK(has(apart, "p1 += 4"));
  CHECK_FALSE(has(apart, "(out + "));
}

TEST_CASE("kernel: mttkrp formats equal the reference", "[codegen]") {
  for (const char* text : {
           "mttkrp f32 J=16 | A: i:C k:C l:C | loop: i k l j | par: i dynamic,4 x2 | unroll 4",
           "mttkrp f64 J=16 | A: i:U k:C l:C | loop: i k l j | par: i balanced x2 | unroll 2",
           "mttkrp f32 J=32 | A: i:C k:C l:C | loop: i k l j | par: i balanced x2 | unroll 8",
           "mttkrp f32 J=20 | A: i:U l:C k:C | loop: i l k j | par: i static x2",
           "mttkrp f32 J=16 | A: k:U l:C i:C | loop: k l i j | par: k static x2 | unroll 4",
           "mttkrp f32 J=16 | A: k:U i:C l:C | loop: k i l j | par: i static x2",
           "mttkrp f32 J=16 | A: i:C k:S l:S | loop: i k l j | par: i balanced x2 | unroll 4",
           "mttkrp f32 J=8 | A: i1:C k1:S l1:S i0:C k0:S l0:S [i/8 k/8 l/8] | loop: i1 k1 l1 i0 k0 l0 j | "
           "par: i1 balanced x2",
           "mttkrp f32 J=16 | A: i1:U i0:U k:L l:S [i/4 sort:8] | loop: i1 k l i0 j | par: i1 static x2",
           "mttkrp f32 J=40 | A: i1:U i0:U k1:L l:S k0:U [i/32 k/4 sort:64] | loop: j1 i1 k1 l k0 i0 j0 "
           "[j/8] "
           "| par: i1 dynamic,1 x3",
           "mttkrp f32 J=40 | A: i:U k:C l:C | loop: i j1 k l j0 [j/8] | par: i static x2",
           "mttkrp f32 J=16 | A: i:U k:C l:C | loop: l i k j | par: l static x2",
       })
    check_on_several_matrices(text);
}

/// The third row holds nothing, nor do the second and fourth k and the third l: the checked kernel finds NaN
/// in their rows of the operands.
TEST_CASE("kernel: rows of operands that no nonzero meets play no part in mttkrp", "[codegen]") {
  matrix::SparseTensor tensor;
  tensor.dims = {4, 5, 4};
  tensor.coords.resize(3);
  const int64_t entries[][3] = {{0, 0, 1}, {0, 0, 3}, {0, 2, 0}, {1, 4, 1}, {3, 0, 0}, {3, 2, 3}, {3, 4, 3}};
  for (const auto& entry : entries) {
    for (size_t m = 0; m < 3; ++m) tensor.coords[m].push_back(entry[m]);
    tensor.values.push_back(1.5);
  }
  matrix::SparseTensor empty;
  empty.dims = tensor.dims;
  empty.coords.resize(3);
  for (const char* text : {
           "mttkrp f32 J=16 | A: i:U k:U l:C | loop: i k l j | par: serial",
           "mttkrp f64 J=20 | A: i:U k:U l:C | loop: i k l j | par: i static x2 | unroll 4",
           "mttkrp f32 J=16 | A: i:U k:U l:C | loop: i l k j | par: serial",
           "mttkrp f64 J=8 | A: i:U k:C l:C | loop: i l k j | par: i balanced x2",
           "mttkrp f32 J=16 | A: i:U k:U l:C | loop: i k l j | par: l static x2",
           "mttkrp f32 J=16 | A: k:U l:C i:C | loop: k l i j | par: serial",
       }) {
    INFO(text);
    CHECK(check_point(schedule::parse(text), tensor, test_cache()) == "");
    CHECK(check_point(schedule::parse(text), empty, test_cache()) == "");
  }
}

}  // namespace waco::codegen
