// Bounds from hand-made ceilings.
#include "apps/bench/bound.hpp"

#include <catch2/catch.hpp>

using namespace waco;
using namespace waco::bench;
using schedule::Op;
using schedule::ValueType;

namespace {

/// 3 x 4 with nonzeros in rows 0 and 2 and columns 1 and 3.
matrix::SparseTensor small_matrix() {
  matrix::SparseTensor tensor;
  tensor.dims = {3, 4};
  tensor.coords = {{0, 0, 2}, {1, 3, 1}};
  tensor.values = {1, 2, 3};
  return tensor;
}

/// L1 of 1 kB and L2 of 10 kB a core, L3 of 100 kB for all; 40, 20, 10 and 5 bytes/ns; 100 and 50 flops/ns.
model::Ceilings hand_made() {
  model::Ceilings ceilings;
  ceilings.threads = 2;
  ceilings.levels = {
      {{1000, false, 20, 40}, {10000, false, 10, 20}, {100000, true, 5, 10}, {INT64_MAX, true, 3, 5}}};
  ceilings.fma_f32_one = 50, ceilings.fma_f32_all = 100;
  ceilings.fma_f64_one = 25, ceilings.fma_f64_all = 50;
  return ceilings;
}

}  // namespace

TEST_CASE("bound: work counts used rows of the dense operands, the result and the flops", "[bench]") {
  const matrix::SparseTensor a = small_matrix();
  const Work spmv = work_of(a, {Op::kSpmv, ValueType::kF32, 1});
  CHECK(spmv.dense_bytes == 2 * 4);
  CHECK(spmv.output_bytes == 3 * 4);
  CHECK(spmv.flops == 6);
  const Work spmm = work_of(a, {Op::kSpmm, ValueType::kF64, 16});
  CHECK(spmm.dense_bytes == 2 * 16 * 8);
  CHECK(spmm.output_bytes == 3 * 16 * 8);
  CHECK(spmm.flops == 96);
  CHECK(spmm.least_flops == 96);
  const Work sddmm = work_of(a, {Op::kSddmm, ValueType::kF32, 8});
  CHECK(sddmm.dense_bytes == (2 + 2) * 8 * 4);
  CHECK(sddmm.output_bytes == 3 * 4);
  matrix::SparseTensor tensor = a;
  tensor.dims.push_back(5);
  tensor.coords.push_back({0, 4, 2});
  const Work mttkrp = work_of(tensor, {Op::kMttkrp, ValueType::kF32, 16});
  CHECK(mttkrp.dense_bytes == (2 + 3) * 16 * 4);
  CHECK(mttkrp.output_bytes == 3 * 16 * 4);
  CHECK(mttkrp.flops == 3 * 3 * 16);
  CHECK(mttkrp.least_flops == 2 * (3 + 3) * 16);  // no two nonzeros share two coordinates
}

TEST_CASE("bound: of mttkrp it charges the flops of the loop nest that needs the fewest", "[bench]") {
  const schedule::Problem problem{Op::kMttkrp, ValueType::kF32, 16};
  matrix::SparseTensor tensor;
  tensor.dims = {2, 2, 4};
  tensor.coords = {{0, 0, 0, 1}, {0, 0, 1, 1}, {0, 3, 3, 3}};
  tensor.values = {1, 2, 3, 4};
  // (i, k): 3 pairs, (i, l): 3, (k, l): 3; with one nonzero more that is 3, 4 and 4.
  CHECK(work_of(tensor, problem).least_flops == 2 * (4 + 3) * 16);
  tensor.coords = {{0, 0, 0, 0, 1}, {0, 0, 0, 1, 1}, {0, 2, 3, 3, 3}};
  tensor.values = {1, 2, 3, 4, 5};
  const Work work = work_of(tensor, problem);
  CHECK(work.least_flops == 2 * (5 + 3) * 16);
  CHECK(work.flops == 3 * 5 * 16);
  CHECK(bound_of(work, 0, hand_made(), 0, 2, 2, false).compute_ns == Approx(work.least_flops / 100));
}

TEST_CASE("bound: bytes are charged at the nearest level that holds them all", "[bench]") {
  const Work none;
  const auto bound = [&](int64_t bytes) { return bound_of(none, bytes, hand_made(), 0, 2, 2, false); };
  CHECK(bound(2000).level == 0);  // two private caches
  CHECK(bound(2001).level == 1);
  CHECK(bound(20001).level == 2);
  CHECK(bound(100000).level == 2);  // one shared cache
  CHECK(bound(100001).level == 3);
  CHECK(bound(100000).memory_ns == Approx(10000));
  CHECK(bound(100000).binding() == "L3 bandwidth");
  CHECK(bound_of(none, 200000, hand_made(), 200000, 2, 2, false).level ==
        2);  // a larger L3 than is counted on
  CHECK(bound_of(none, 200001, hand_made(), 200000, 2, 2, false).level == 3);
  CHECK(bound_of(none, 2000, hand_made(), 200000, 2, 2, false).level == 0);
  CHECK(bound_of(none, 1000, hand_made(), 0, 2, 1, false).level == 0);
  CHECK(bound_of(none, 1001, hand_made(), 0, 2, 1, false).level == 1);  // two threads of one core
  CHECK(bound_of(none, 2000, hand_made(), 0, 1, 1, false).level == 1);
  CHECK(bound_of(none, 2000, hand_made(), 0, 1, 1, false).memory_ns == Approx(200));
}

TEST_CASE("bound: the longer of the two times binds, and f64 has its own peak", "[bench]") {
  const Work work{.dense_bytes = 100, .output_bytes = 100, .least_flops = 1e6};
  const Bound f32 = bound_of(work, 200, hand_made(), 0, 2, 2, false);
  CHECK(f32.bytes == 400);
  CHECK(f32.memory_ns == Approx(10));
  CHECK(f32.compute_ns == Approx(1e4));
  CHECK(f32.ns() == Approx(1e4));
  CHECK(f32.binding() == "arithmetic");
  CHECK(bound_of(work, 200, hand_made(), 0, 2, 2, true).compute_ns == Approx(2e4));
}
