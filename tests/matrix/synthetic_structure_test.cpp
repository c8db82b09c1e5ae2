// What each family claims of its structure, and that threads change nothing.
#include <omp.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "matrix_check.hpp"
#include "waco/base/error.hpp"
#include "waco/matrix/synthetic.hpp"

using namespace waco;
using namespace waco::matrix;

namespace {

/// Nonzeros of each index of a mode.
std::vector<int64_t> counts_of(const SparseTensor& tensor, size_t mode) {
  std::vector<int64_t> counts(static_cast<size_t>(tensor.dims[mode]));
  for (const int64_t at : tensor.coords[mode]) ++counts[static_cast<size_t>(at)];
  return counts;
}

/// The largest count over the mean.
double imbalance(const SparseTensor& tensor, size_t mode) {
  const std::vector<int64_t> counts = counts_of(tensor, mode);
  const double mean = static_cast<double>(tensor.num_nonzeros()) / static_cast<double>(counts.size());
  return static_cast<double>(*std::max_element(counts.begin(), counts.end())) / mean;
}

int64_t farthest(const SparseTensor& matrix) {
  int64_t distance = 0;
  for (size_t i = 0; i < matrix.values.size(); ++i) {
    distance = std::max(distance, std::abs(matrix.coords[0][i] - matrix.coords[1][i]));
  }
  return distance;
}

/// Share of filled cells in the blocks that hold a nonzero.
double block_fill(const SparseTensor& tensor, const std::vector<int64_t>& block) {
  std::set<std::vector<int64_t>> blocks;
  for (size_t i = 0; i < tensor.values.size(); ++i) {
    std::vector<int64_t> at;
    for (size_t mode = 0; mode < block.size(); ++mode) at.push_back(tensor.coords[mode][i] / block[mode]);
    blocks.insert(at);
  }
  int64_t cells = static_cast<int64_t>(blocks.size());
  for (const int64_t side : block) cells *= side;
  return static_cast<double>(tensor.num_nonzeros()) / static_cast<double>(cells);
}

}  // namespace

TEST_CASE("synthetic: any number of threads makes the same tensor", "[matrix]") {
  const int before = omp_get_max_threads();
  for (const SyntheticFamily& family : synthetic_families()) {
    CAPTURE(family.name);
    omp_set_num_threads(1);
    const SparseTensor serial = generate(family.name);
    for (const int threads : {2, 5}) {
      omp_set_num_threads(threads);
      const SparseTensor parallel = generate(family.name);
      CHECK(parallel.coords == serial.coords);
      CHECK(parallel.values == serial.values);
    }
  }
  omp_set_num_threads(before);
}

TEST_CASE("synthetic: a scattered mesh couples near nodes by full blocks in rows of different lengths",
          "[matrix]") {
  const SparseTensor mesh = generate("scattered nx=40 ny=40 reach=1.5 dof=3");
  CHECK(block_fill(mesh, {3, 3}) == 1);
  CHECK(farthest(mesh) < 3 * (3 * 40 + 3));
  const std::vector<int64_t> lengths = counts_of(mesh, 0);
  CHECK(std::set<int64_t>(lengths.begin(), lengths.end()).size() > 5);
  CHECK(static_cast<double>(mesh.num_nonzeros()) / 4800 == Approx(3 * 3.14 * 2.25).epsilon(0.1));
}

TEST_CASE("synthetic: bands, diagonals and arrows are where they should be", "[matrix]") {
  const SparseTensor band = generate("banded n=2000 band=30 fill=0.2");
  CHECK(farthest(band) == 30);
  CHECK(static_cast<double>(band.num_nonzeros()) == Approx(2000 * (1 + 60 * 0.2)).epsilon(0.05));

  const SparseTensor diagonals = generate("diagonals n=500 count=9 reach=100");
  std::map<int64_t, int64_t> lengths;
  for (size_t i = 0; i < diagonals.values.size(); ++i) {
    ++lengths[diagonals.coords[1][i] - diagonals.coords[0][i]];
  }
  CHECK(lengths.size() == 10);
  for (const auto& [offset, length] : lengths) CHECK(length == 500 - std::abs(offset));

  const std::vector<int64_t> rows = counts_of(generate("arrow n=300 width=3"), 0);
  CHECK(rows[0] == 300);
  CHECK(rows[2] == 300);
  CHECK(rows[150] == 3 + 3);
}

TEST_CASE("synthetic: blocks are full", "[matrix]") {
  CHECK(block_fill(generate("blockdiag blocks=50 size=7"), {7, 7}) == 1);
  CHECK(block_fill(generate("blocks rows=90 cols=120 block_rows=3 block_cols=5"), {3, 5}) == 1);
  CHECK(block_fill(generate("blocks rows=90 cols=120 fill=0.5"), {4, 4}) == Approx(0.5).epsilon(0.1));
  CHECK(block_fill(generate("pruned rows=512 cols=512 block_rows=8 block_cols=1"), {8, 1}) == 1);
  const SparseTensor varied = generate("blockdiag blocks=400 size=10 vary=0.6");
  const std::vector<int64_t> sizes = counts_of(varied, 0);
  CHECK(*std::min_element(sizes.begin(), sizes.end()) == 4);
  CHECK(*std::max_element(sizes.begin(), sizes.end()) == 10);
}

TEST_CASE("synthetic: a pruned layer has the density asked for, and rows that vary", "[matrix]") {
  const SparseTensor even = generate("pruned rows=500 cols=800 density=0.1 vary=0");
  CHECK(static_cast<double>(even.num_nonzeros()) == Approx(0.1 * 500 * 800).epsilon(0.03));
  const SparseTensor varied = generate("pruned rows=500 cols=800 density=0.1 vary=0.9");
  CHECK(static_cast<double>(varied.num_nonzeros()) == Approx(0.1 * 500 * 800).epsilon(0.1));
  CHECK(imbalance(varied, 0) > imbalance(even, 0) + 0.3);
}

TEST_CASE("synthetic: a Kronecker power has the power of the nonzeros, and no empty row", "[matrix]") {
  const SparseTensor power = generate("kronecker size=3 ones=5 power=6");
  CHECK(power.dims == std::vector<int64_t>{729, 729});
  CHECK(power.num_nonzeros() == 15625);
  const std::vector<int64_t> rows = counts_of(power, 0);
  CHECK(*std::min_element(rows.begin(), rows.end()) > 0);
  CHECK_THROWS_AS(generate("kronecker size=64 power=24"), UsageError);
}

TEST_CASE("synthetic: a ring of spins couples states that differ by one swap", "[matrix]") {
  const SparseTensor ring = generate("spins sites=6");
  for (size_t i = 0; i < ring.values.size(); ++i) {
    CHECK(__builtin_popcountll(static_cast<unsigned long long>(ring.coords[0][i])) ==
          __builtin_popcountll(static_cast<unsigned long long>(ring.coords[1][i])));
  }
  CHECK(ring.num_nonzeros() == 64 + 6 * 32);  // every bond differs in half of the states
  CHECK(generate("spins sites=6 field=1").num_nonzeros() == 64 + 6 * 32 + 6 * 64);
}

TEST_CASE("synthetic: a KKT matrix has no nonzero among the constraints", "[matrix]") {
  const SparseTensor kkt = generate("kkt variables=300 constraints=200 band=2 degree=5");
  CHECK(kkt.dims == std::vector<int64_t>{500, 500});
  int64_t among = 0;
  for (size_t i = 0; i < kkt.values.size(); ++i) {
    among += kkt.coords[0][i] >= 300 && kkt.coords[1][i] >= 300 ? 1 : 0;
  }
  CHECK(among == 0);
}

TEST_CASE("synthetic: rails of a circuit are dense rows and columns among short ones", "[matrix]") {
  const SparseTensor circuit = generate("circuit n=3000 degree=4 rails=3 touch=0.4");
  for (const size_t mode : {0, 1}) {
    std::vector<int64_t> counts = counts_of(circuit, mode);
    std::sort(counts.begin(), counts.end());
    CHECK(counts[2997] > 1000);
    CHECK(counts[2996] < 100);
    CHECK(counts[1500] <= 8);
  }
}

TEST_CASE("synthetic: power-law graphs are skewed as asked, and hubs are anywhere", "[matrix]") {
  CHECK(imbalance(generate("chung-lu n=4000 degree=10 skew=1"), 0) < 4);
  CHECK(imbalance(generate("chung-lu n=4000 degree=10 skew=1.5"), 0) > 6);
  const SparseTensor skewed = generate("chung-lu n=4000 degree=10 skew=2");
  CHECK(imbalance(skewed, 0) > 25);
  const std::vector<int64_t> counts = counts_of(skewed, 0);
  CHECK(std::max_element(counts.begin(), counts.end()) - counts.begin() > 20);

  const SparseTensor items = generate("bipartite rows=4000 cols=1000 row_skew=1.25 col_skew=2");
  CHECK(imbalance(items, 1) > 3 * imbalance(items, 0));
}

TEST_CASE("synthetic: pages of the web copy the links of the page before", "[matrix]") {
  const auto copied = [](const SparseTensor& web) {
    const std::vector<int64_t> rows = row_pointers(web);
    const auto col = web.coords[1].begin();
    double same = 0;
    for (size_t row = 1; row + 1 < rows.size(); ++row) {
      std::vector<int64_t> both;
      std::set_intersection(col + rows[row - 1], col + rows[row], col + rows[row], col + rows[row + 1],
                            std::back_inserter(both));
      same += static_cast<double>(both.size());
    }
    return same / static_cast<double>(web.num_nonzeros());
  };
  CHECK(copied(generate("web n=5000 copy=0.8 host=200")) > 0.5);
  CHECK(copied(generate("web n=5000 copy=0 host=200")) < 0.2);
}

TEST_CASE("synthetic: tensors keep to their modes, blocks, fibers and bands", "[matrix]") {
  const SparseTensor modes = generate("tensor-modes nnz=30000 skew_i=1 skew_k=2 skew_l=1");
  CHECK(imbalance(modes, 1) > 3 * imbalance(modes, 0));

  CHECK(block_fill(generate("tensor-blocks i=300 k=300 l=300 nnz=20000 side=3 fill=1"), {3, 3, 3}) == 1);

  const SparseTensor fibers = generate("tensor-fibers l=500 nnz=30000 length=20 skew=1");
  std::set<std::pair<int64_t, int64_t>> heads;
  for (size_t i = 0; i < fibers.values.size(); ++i) heads.emplace(fibers.coords[0][i], fibers.coords[1][i]);
  CHECK(static_cast<double>(fibers.num_nonzeros()) / static_cast<double>(heads.size()) ==
        Approx(20).epsilon(0.1));

  const SparseTensor band = generate("tensor-band i=1000 k=500 l=2000 nnz=20000 reach=7");
  int64_t farthest_k = 0;
  int64_t farthest_l = 0;
  for (size_t i = 0; i < band.values.size(); ++i) {
    farthest_k = std::max(farthest_k, std::abs(band.coords[0][i] / 2 - band.coords[1][i]));
    farthest_l = std::max(farthest_l, std::abs(band.coords[0][i] * 2 - band.coords[2][i]));
  }
  CHECK(farthest_k == 7);
  CHECK(farthest_l == 7);
}
