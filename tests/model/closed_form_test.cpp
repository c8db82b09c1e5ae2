// Order is what a cost model is for: pairs of points whose order nobody doubts.
#include "waco/model/closed_form.hpp"

#include <catch2/catch.hpp>
#include <set>
#include <utility>

#include "patterns.hpp"
#include "server_ceilings.hpp"
#include "waco/codegen/arranged.hpp"

using waco::model::ClosedFormModel;
using waco::schedule::parse;

namespace {

double cost(const waco::matrix::SparseTensor& tensor, const std::string& point, int threads = 2) {
  ClosedFormModel model(tensor, waco::test::server_ceilings(threads));
  return model.terms(parse(point)).total_ns;
}

const std::string kSpmvCsr = "spmv f32 | A: i:U k:C | loop: i k | par: ";
const std::string kSpmmCsr = "spmm f32 J=256 | A: i:U k:C | loop: i k j | par: ";

}  // namespace

TEST_CASE("closed_form: 3x3 blocks beat CSR on a 3-dof mesh", "[model]") {
  const auto mesh = waco::test::fem(8000, 3);
  CHECK(cost(mesh, "spmv f32 | A: i1:U k1:C k0:U i0:U [i/3 k/3] | loop: i1 k1 k0 i0 | par: i1 static x2") <
        cost(mesh, kSpmvCsr + "i static x2"));
}

TEST_CASE("closed_form: row blocks beat CSR for many columns on a 3-dof mesh", "[model]") {
  const auto mesh = waco::test::fem(8000, 3);
  CHECK(cost(mesh, "spmm f32 J=32 | A: i1:U k:C i0:U [i/3] | loop: i1 k i0 j | par: i1 static x2") <
        cost(mesh, "spmm f32 J=32 | A: i:U k:C | loop: i k j | par: i static x2"));
}

TEST_CASE("closed_form: CSR beats 8x8 blocks on a power-law graph", "[model]") {
  const auto graph = waco::test::power_law(20000, 100000, 1);
  CHECK(cost(graph, kSpmvCsr + "i balanced x2") <
        cost(graph, "spmv f32 | A: i1:U k1:C i0:U k0:U [i/8 k/8] | loop: i1 k1 i0 k0 | par: i1 balanced x2"));
  CHECK(
      cost(graph, kSpmmCsr + "i balanced x2") <
      cost(graph,
           "spmm f32 J=256 | A: i1:U k1:C i0:U k0:U [i/8 k/8] | loop: i1 k1 i0 k0 j | par: i1 balanced x2"));
}

TEST_CASE("closed_form: a discordant loop order is far worse than a concordant one", "[model]") {
  const auto matrix = waco::test::uniform(3000, 3000, 20000, 2);
  CHECK(10 * cost(matrix, kSpmvCsr + "serial") <
        cost(matrix, "spmv f32 | A: i:U k:C | loop: k i | par: serial"));
}

TEST_CASE("closed_form: balanced beats static when the first rows are the longest", "[model]") {
  const auto graph = waco::test::power_law(20000, 100000, 3);
  CHECK(cost(graph, kSpmvCsr + "i balanced x2") < cost(graph, kSpmvCsr + "i static x2"));
  CHECK(cost(graph, kSpmmCsr + "i balanced x2") < cost(graph, kSpmmCsr + "i static x2"));
}

TEST_CASE("closed_form: static beats tiny dynamic chunks on equal short rows", "[model]") {
  const auto mesh = waco::test::fem(8000, 1);
  CHECK(cost(mesh, kSpmvCsr + "i static x2") < cost(mesh, kSpmvCsr + "i dynamic,1 x2"));
}

TEST_CASE("closed_form: chunks that leave a thread nearly nothing cost its time", "[model]") {
  const auto matrix = waco::test::uniform(1107, 1107, 5664, 5);
  const auto dealt_out = [&](const std::string& point, int chunk) {
    return cost(matrix, point + std::to_string(chunk) + " x2");
  };
  const std::string by_rows = kSpmmCsr + "i dynamic,";
  const std::string by_columns = "sddmm f32 K=256 | A: j:U i:C | loop: j i k | par: j dynamic,";
  for (const std::string& point : {by_rows, by_columns})
    CHECK(1.5 * dealt_out(point, 32) < dealt_out(point, 1024));
}

TEST_CASE("closed_form: a thread that gets a heavy chunk last holds up the others", "[model]") {
  constexpr int64_t kRows = 8192, kHeavy = 1024;
  // An eighth of the rows, which have half of the nonzeros, come first or last.
  std::set<std::pair<int64_t, int64_t>> first;
  std::set<std::pair<int64_t, int64_t>> last;
  for (int64_t row = 0; row < kRows; ++row) {
    const bool heavy = row < kHeavy;
    for (int64_t n = 0; n < (heavy ? 28 : 4); ++n) {
      first.emplace(row, (row * 7 + n * 97) % kRows);
      last.emplace(kRows - 1 - row, (row * 7 + n * 97) % kRows);
    }
  }
  const auto imbalance = [&](const auto& entries, const std::string& point) {
    const auto matrix = waco::test::from_entries(kRows, kRows, entries);
    ClosedFormModel model(matrix, waco::test::server_ceilings(2));
    return model.terms(parse(point)).imbalance;
  };
  CHECK(imbalance(first, kSpmmCsr + "i dynamic,1024 x2") < 1.15);
  CHECK(imbalance(last, kSpmmCsr + "i dynamic,1024 x2") > 1.3);
  CHECK(imbalance(last, kSpmmCsr + "i dynamic,64 x2") < 1.1);
  const auto sliced = [](const std::string& sort) {
    return "spmm f32 J=256 | A: i1:U i0:U k:E [i/8" + sort + "] | loop: i1 k i0 j | par: i1 dynamic,128 x2";
  };
  CHECK(imbalance(last, sliced("")) > 1.3);
  CHECK(imbalance(last, sliced(" sort:8192")) < 1.15);  // the longest come first
}

TEST_CASE("closed_form: tiles of the dense index that threads share evenly are balanced", "[model]") {
  const auto matrix = waco::test::uniform(1107, 1107, 5664, 5);
  ClosedFormModel model(matrix, waco::test::server_ceilings(2));
  const auto imbalance = [&](const std::string& tile) {
    return model
        .terms(parse("spmm f32 J=256 | A: i:U k:C | loop: j1 i k j0 [j/" + tile + "] | par: j1 dynamic,1 x2"))
        .imbalance;
  };
  CHECK(imbalance("64") < 1.1);
  CHECK(imbalance("128") < 1.1);
  CHECK(imbalance("96") == Approx(4.0 / 3));  // three tiles
}

TEST_CASE("closed_form: ten nonzeros are best left to one thread", "[model]") {
  const auto matrix = waco::test::uniform(10, 10, 10, 4);
  for (const char* policy : {"i static x2", "i balanced x2", "i dynamic,16 x2"})
    CHECK(cost(matrix, kSpmvCsr + "serial") < cost(matrix, kSpmvCsr + policy));
}

TEST_CASE("closed_form: a big matrix is worth two threads", "[model]") {
  const auto mesh = waco::test::fem(20000, 3);
  CHECK(cost(mesh, kSpmmCsr + "i static x2") < cost(mesh, kSpmmCsr + "serial"));
}

TEST_CASE("closed_form: more threads than cores do not help", "[model]") {
  const auto mesh = waco::test::fem(20000, 3);
  CHECK(cost(mesh, kSpmmCsr + "i static x2") < cost(mesh, kSpmmCsr + "i static x8"));
}

TEST_CASE("closed_form: additions to memory wait for each other only in the same row", "[model]") {
  const auto graph = waco::test::uniform(20000, 20000, 640000, 7);
  const std::string tiles = "spmv f32 | A: i1:U k1:C ", schedule = " | par: i1 dynamic,1 x2";
  const double by_column = cost(graph, tiles + "k0:C i0:S [i/4096 k/4096] | loop: i1 k1 k0 i0" + schedule);
  const double by_row = cost(graph, tiles + "i0:C k0:S [i/4096 k/4096] | loop: i1 k1 i0 k0" + schedule);
  INFO(by_column << " ns column after column, " << by_row << " row after row");
  CHECK(by_column < 1.3 * by_row);
}

TEST_CASE("closed_form: column tiles outside of everything pay for reading A again", "[model]") {
  const auto mesh = waco::test::fem(8000, 3);
  CHECK(cost(mesh, "spmm f32 J=256 | A: i:U k:C | loop: i j1 k j0 [j/64] | par: i static x2") <
        cost(mesh, "spmm f32 J=256 | A: i:U k:C | loop: j1 i k j0 [j/4] | par: i static x2"));
}

TEST_CASE("closed_form: storing every element of a sparse matrix costs what it stores", "[model]") {
  const auto matrix = waco::test::uniform(2000, 2000, 8000, 5);
  ClosedFormModel model(matrix, waco::test::server_ceilings(2));
  const auto terms = model.terms(parse("spmv f32 | A: i:U k1:C k0:U [k/1024] | loop: i k1 k0 | par: serial"));
  CHECK(terms.fill > 300);
  CHECK(terms.total_ns > 20 * model.terms(parse(kSpmvCsr + "serial")).total_ns);
}

TEST_CASE("closed_form: terms count what a CSR product stores and computes", "[model]") {
  const auto matrix = waco::test::uniform(500, 400, 3000, 6);
  ClosedFormModel model(matrix, waco::test::server_ceilings(1));
  const auto terms = model.terms(parse("spmm f32 J=32 | A: i:U k:C | loop: i k j | par: serial"));
  CHECK(terms.stored_values == 3000);
  CHECK(terms.fill == 1);
  CHECK(terms.bodies == 3000);
  CHECK(terms.flops == 2.0 * 3000 * 32);
  CHECK(terms.traffic.a_bytes == 3000 * (4 + 2) + 4 * 501);
}

TEST_CASE("closed_form: clustering gains where the rows' order wastes the caches, and only there",
          "[model]") {
  using namespace waco;
  const schedule::Problem problem{schedule::Op::kSpmm, schedule::ValueType::kF32, 256};
  const auto share_of_csr = [&](const matrix::SparseTensor& tensor) {
    const matrix::SparseTensor clustered = codegen::with_clustered_rows(tensor, 0, 2);
    ClosedFormModel given(tensor, test::server_ceilings(2)), expected(clustered, given.ceilings());
    return given.clustered_share(expected, schedule::csr_point(problem, 2));
  };
  const matrix::SparseTensor shuffled = test::shuffled_grid(150, 3);
  CHECK(share_of_csr(shuffled) < 0.9);
  CHECK(share_of_csr(codegen::with_clustered_rows(shuffled, 0, 2)) > 0.97);
  CHECK(share_of_csr(test::from_entries(5, 7, {})) > 0);
}

TEST_CASE("closed_form: an empty matrix has a finite cost", "[model]") {
  const auto matrix = waco::test::from_entries(5, 7, {});
  const double ns = cost(matrix, kSpmvCsr + "serial");
  CHECK(ns >= 0);
  CHECK(ns < 1e6);
}

TEST_CASE("closed_form: tensors are judged in every mode order", "[model]") {
  waco::matrix::SparseTensor tensor;
  tensor.dims = {50, 60, 70};
  tensor.coords.resize(3);
  for (int64_t i = 0; i < 50; i++)
    for (int64_t k = 0; k < 6; k++)
      for (int64_t l = 0; l < 4; l++) {
        tensor.coords[0].push_back(i);
        tensor.coords[1].push_back((i * 7 + k * 9) % 60 / 6 + k * 10);
        tensor.coords[2].push_back(l * 17);
        tensor.values.push_back(1);
      }
  ClosedFormModel model(tensor, waco::test::server_ceilings(2));
  const std::vector<waco::schedule::SuperSchedule> points{
      parse("mttkrp f32 J=16 | A: i:C k:C l:C | loop: i k l j | par: serial"),
      parse("mttkrp f32 J=16 | A: l:C k:C i:C | loop: l k i j | par: serial"),
      parse("mttkrp f32 J=16 | A: i:C k:S l:S | loop: i k l j | par: serial"),
      parse("mttkrp f32 J=16 | A: i:C k:C l:C | loop: l k i j | par: serial")};
  const auto costs = model.costs(points);
  REQUIRE(costs.size() == 4);
  for (const double c : costs) CHECK(c > 0);
  CHECK(costs[0] < costs[2]);
  CHECK(10 * costs[0] < costs[3]);
}
