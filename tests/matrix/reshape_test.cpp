// What each step does to a tensor.
#include "waco/matrix/reshape.hpp"

#include <omp.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "matrix_check.hpp"
#include "waco/base/error.hpp"
#include "waco/matrix/synthetic.hpp"

using namespace waco;
using namespace waco::matrix;

namespace {

SparseTensor after(const std::string& family, const std::string& step) {
  return reshape(generate(family), parse_step(step));
}

std::vector<int64_t> sorted_row_lengths(const SparseTensor& tensor) {
  const std::vector<int64_t> rows = row_pointers(tensor);
  std::vector<int64_t> lengths;
  for (size_t row = 0; row + 1 < rows.size(); ++row) lengths.push_back(rows[row + 1] - rows[row]);
  std::sort(lengths.begin(), lengths.end());
  return lengths;
}

}  // namespace

TEST_CASE("reshape: every step leaves a valid tensor, the same for any number of threads", "[matrix]") {
  const int before = omp_get_max_threads();
  for (const ReshapeStep& step : reshape_steps()) {
    CAPTURE(step.name);
    omp_set_num_threads(1);
    const SparseTensor serial = after("rmat scale=11 degree=9", step.name);
    CHECK(is_valid(serial));
    CHECK(serial.name == generate("rmat scale=11 degree=9").name);
    CHECK(to_text(parse_step(to_text(parse_step(step.name)))) == to_text(parse_step(step.name)));
    omp_set_num_threads(3);
    const SparseTensor parallel = after("rmat scale=11 degree=9", step.name);
    CHECK(parallel.coords == serial.coords);
    CHECK(parallel.values == serial.values);
  }
  omp_set_num_threads(before);
}

TEST_CASE("reshape: shuffling renumbers a mesh, alike in rows and columns", "[matrix]") {
  const SparseTensor mesh = generate("fem nx=6 ny=5 nz=4 dof=3");
  const SparseTensor shuffled = after("fem nx=6 ny=5 nz=4 dof=3", "shuffle block=3 seed=4");
  CHECK(pattern_hash(shuffled) != pattern_hash(mesh));
  CHECK(is_symmetric(shuffled));
  CHECK(sorted_row_lengths(shuffled) == sorted_row_lengths(mesh));
  std::set<std::pair<int64_t, int64_t>> blocks;
  for (size_t i = 0; i < shuffled.values.size(); ++i) {
    blocks.emplace(shuffled.coords[0][i] / 3, shuffled.coords[1][i] / 3);
  }
  CHECK(static_cast<int64_t>(blocks.size()) * 9 == mesh.num_nonzeros());
  CHECK_FALSE(is_symmetric(after("fem nx=6 ny=5 nz=4 dof=3", "shuffle apart=1")));
}

TEST_CASE("reshape: shuffling inside windows moves nothing farther", "[matrix]") {
  const SparseTensor shuffled = after("banded n=1000 band=0", "shuffle window=16 apart=1 seed=3");
  int64_t farthest = 0;
  for (size_t i = 0; i < shuffled.values.size(); ++i) {
    farthest = std::max(farthest, std::abs(shuffled.coords[0][i] - shuffled.coords[1][i]));
  }
  CHECK(farthest > 8);
  CHECK(farthest < 16);
}

TEST_CASE("reshape: resizing keeps the picture and the symmetry", "[matrix]") {
  const SparseTensor smaller = after("stencil2d n=40", "resize rows=400 cols=400");
  CHECK(smaller.dims == std::vector<int64_t>{400, 400});
  CHECK(is_symmetric(smaller));
  const SparseTensor larger = after("stencil2d n=40", "resize rows=5000 cols=5000");
  CHECK(larger.num_nonzeros() == generate("stencil2d n=40").num_nonzeros());
  CHECK(is_symmetric(larger));
  // The band of 40 in 1600 rows is one of 125 in 5000, give or take the room a nonzero has.
  for (size_t i = 0; i < larger.values.size(); ++i) {
    const int64_t distance = std::abs(larger.coords[0][i] - larger.coords[1][i]);
    CHECK((distance <= 8 || std::abs(distance - 125) <= 8));
  }
  const SparseTensor wide = after("uniform rows=300 cols=300", "resize cols=900");
  CHECK(wide.dims == std::vector<int64_t>{300, 900});
  CHECK(*std::max_element(wide.coords[1].begin(), wide.coords[1].end()) > 850);
  const SparseTensor tensor = after("tensor i=90 k=80 l=70 nnz=5000", "resize rows=45 depth=140");
  CHECK(tensor.dims == std::vector<int64_t>{45, 80, 140});
  CHECK(is_valid(tensor));
}

TEST_CASE("reshape: the longest dimensions do not overflow", "[matrix]") {
  SparseTensor tensor;
  tensor.dims = {INT64_MAX, 10};
  tensor.coords = {{0, INT64_MAX / 2, INT64_MAX - 1}, {0, 5, 9}};
  tensor.values = {1, 2, 3};
  const SparseTensor small = reshape(tensor, parse_step("resize rows=10"));
  CHECK(to_string(small) == "10x10: (0,0)=1 (4,5)=2 (9,9)=3");
  CHECK_THROWS_WITH(reshape(tensor, parse_step("repeat copies=2")), Catch::Contains("64 bits"));
}

TEST_CASE("reshape: a window, copies on the diagonal, the transpose: exactly", "[matrix]") {
  const SparseTensor arrow = generate("stencil2d n=2");
  CHECK(to_string(reshape(arrow, parse_step("crop row=1 col=0 rows=2 cols=2"))) ==
        "2x2: (0,0)=-1 (0,1)=4 (1,0)=-1");
  SparseTensor tensor;
  tensor.dims = {3, 3, 9};
  tensor.coords = {{0, 1, 1, 2}, {1, 0, 1, 1}, {2, 5, 7, 8}};
  tensor.values = {1, 2, 3, 4};
  CHECK(to_string(reshape(tensor, parse_step("crop row=1 col=1"))) == "2x2x9: (0,0,7)=3 (1,0,8)=4");
  CHECK(to_string(after("stencil2d n=1", "repeat copies=3")) == "3x3: (0,0)=4 (1,1)=4 (2,2)=4");
  const SparseTensor lp = generate("lp rows=50 cols=90");
  CHECK(reshape(lp, parse_step("transpose")).dims == std::vector<int64_t>{90, 50});
  CHECK(to_string(reshape(reshape(lp, parse_step("transpose")), parse_step("transpose"))) == to_string(lp));
}

TEST_CASE("reshape: copies that memory does not hold are not begun", "[matrix]") {
  CHECK_THROWS_AS(after("stencil2d n=700", "repeat copies=10000"), std::bad_alloc);
}

TEST_CASE("reshape: deepening gives every nonzero places in a third mode", "[matrix]") {
  const SparseTensor matrix = generate("stencil2d n=30");
  const SparseTensor tensor = after("stencil2d n=30", "deepen l=5000 depth=3");
  CHECK(tensor.dims == std::vector<int64_t>{900, 900, 5000});
  CHECK(is_valid(tensor));
  std::set<std::pair<int64_t, int64_t>> fibers;
  for (size_t i = 0; i < tensor.values.size(); ++i) fibers.emplace(tensor.coords[0][i], tensor.coords[1][i]);
  CHECK(static_cast<int64_t>(fibers.size()) == matrix.num_nonzeros());
  CHECK(static_cast<double>(tensor.num_nonzeros()) ==
        Approx(3.0 * static_cast<double>(matrix.num_nonzeros())).epsilon(0.01));
}

TEST_CASE("reshape: errors name the step and what there is", "[matrix]") {
  CHECK_THROWS_WITH(parse_step("rotate"), Catch::Contains("rotate") && Catch::Contains("shuffle"));
  CHECK_THROWS_WITH(parse_step("crop height=3"), Catch::Contains("height") && Catch::Contains("rows"));
  CHECK_THROWS_WITH(after("tensor nnz=10", "transpose"), Catch::Contains("takes a matrix"));
}
