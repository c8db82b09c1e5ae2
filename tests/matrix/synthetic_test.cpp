// The families' text form, and the structure each of them promises.
#include "waco/matrix/synthetic.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "matrix_check.hpp"
#include "waco/base/error.hpp"
#include "waco/base/files.hpp"
#include "waco/matrix/read.hpp"
#include "write.hpp"

using namespace waco;
using namespace waco::matrix;

namespace {

int64_t longest_row(const SparseTensor& tensor) {
  const std::vector<int64_t> pointers = row_pointers(tensor);
  int64_t longest = 0;
  for (size_t row = 0; row + 1 < pointers.size(); ++row)
    longest = std::max(longest, pointers[row + 1] - pointers[row]);
  return longest;
}

}  // namespace

TEST_CASE("synthetic: every family makes a valid tensor, the same for the same seed", "[matrix]") {
  for (const SyntheticFamily& family : synthetic_families()) {
    CAPTURE(family.name);
    const Recipe spec = parse_synthetic(family.name);
    const SparseTensor tensor = generate(spec);
    CHECK(is_valid(tensor));
    CHECK(tensor.num_nonzeros() > 1000);
    CHECK(tensor.name.find_first_of(" =/") == std::string::npos);
    CHECK(to_string(generate(spec)) == to_string(tensor));
    CHECK(to_text(parse_synthetic(to_text(spec))) == to_text(spec));
  }
}

TEST_CASE("synthetic: another seed gives another random pattern", "[matrix]") {
  for (const char* family :
       {"rmat", "uniform", "road", "lp", "dense-rows", "chung-lu", "web", "circuit", "pruned", "scattered",
        "diagonals", "kronecker", "tensor", "tensor-power", "tensor-band"}) {
    CAPTURE(family);
    CHECK(pattern_hash(generate(std::string(family) + " seed=1")) !=
          pattern_hash(generate(std::string(family) + " seed=2")));
  }
}

TEST_CASE("synthetic: a small stencil, exactly", "[matrix]") {
  CHECK(
      to_string(generate("stencil2d n=2")) ==
      "4x4: (0,0)=4 (0,1)=-1 (0,2)=-1 (1,0)=-1 (1,1)=4 (1,3)=-1 (2,0)=-1 (2,2)=4 (2,3)=-1 (3,1)=-1 (3,2)=-1 "
      "(3,3)=4");
}

TEST_CASE("synthetic: the structure is the family's", "[matrix]") {
  CHECK(generate("stencil2d n=10 points=9").num_nonzeros() == 28 * 28);
  CHECK(generate("stencil3d n=5 points=7").num_nonzeros() == 125 + 6 * 100);
  CHECK(generate("stencil3d n=5 points=27").num_nonzeros() == 13 * 13 * 13);
  CHECK(generate("banded n=100 band=2").num_nonzeros() == 494);
  CHECK(generate("blockdiag blocks=7 size=6").num_nonzeros() == 7 * 36);
  CHECK(generate("arrow n=50 width=1").num_nonzeros() == 50 + 2 * 49 + 2 * 48);
  CHECK(longest_row(generate("rmat scale=10 degree=8")) > 60);
  CHECK(longest_row(generate("dense-rows n=1000 degree=3 dense=2")) > 400);
  const SparseTensor fem = generate("fem nx=3 ny=4 nz=2 dof=3");
  CHECK(fem.dims == std::vector<int64_t>{72, 72});
  CHECK(fem.num_nonzeros() == 9 * 7 * 10 * 4);
  const SparseTensor lp = generate("lp rows=100 cols=400");
  CHECK(lp.dims == std::vector<int64_t>{100, 400});
}

TEST_CASE("synthetic: meshes, graphs, circuits and Hamiltonians are symmetric", "[matrix]") {
  for (const char* text :
       {"stencil2d n=9", "stencil3d n=4", "fem nx=4 ny=3 nz=2 dof=2", "road n=30", "arrow n=40",
        "scattered nx=9 ny=8 dof=2", "scattered nx=5 ny=5 nz=4 reach=1.25", "chung-lu n=300 local=0.5",
        "circuit n=400", "kkt variables=200 constraints=150", "spins sites=7 field=1"}) {
    CAPTURE(text);
    CHECK(is_symmetric(generate(text)));
  }
}

TEST_CASE("synthetic: errors name what is wrong and what there is", "[matrix]") {
  CHECK_THROWS_WITH(parse_synthetic(""), Catch::Contains("empty"));
  CHECK_THROWS_WITH(parse_synthetic("mesh n=3"), Catch::Contains("'mesh'") && Catch::Contains("stencil2d"));
  CHECK_THROWS_WITH(parse_synthetic("rmat n=3"), Catch::Contains("'n'") && Catch::Contains("scale"));
  CHECK_THROWS_WITH(parse_synthetic("rmat scale=99"), Catch::Contains("scale") && Catch::Contains("26"));
  CHECK_THROWS_WITH(parse_synthetic("rmat scale=2.5"), Catch::Contains("whole number"));
  CHECK_THROWS_WITH(parse_synthetic("rmat scale=x"), Catch::Contains("scale=x"));
  CHECK_THROWS_WITH(parse_synthetic("rmat seed=-1"), Catch::Contains("seed"));
  CHECK_THROWS_AS(generate("stencil2d points=7"), UsageError);
}

TEST_CASE("read: written matrices and tensors come back as they were", "[matrix]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "a.txt";
  const SparseTensor graph = generate("rmat scale=8 degree=5");
  write_matrix_market(graph, file);
  CHECK(to_string(read_tensor(file.string()).tensor) == to_string(graph));

  const SparseTensor mesh = generate("fem nx=3 ny=3 nz=3 dof=2");
  write_matrix_market(mesh, file, {.symmetric = true});
  CHECK(to_string(read_tensor(file.string(), {2, 100}).tensor) == to_string(mesh));

  write_matrix_market(mesh, file, {.symmetric = true, .pattern = true});
  const SparseTensor pattern = read_tensor(file.string()).tensor;
  CHECK(pattern_hash(pattern) == pattern_hash(mesh));
  CHECK(std::all_of(pattern.values.begin(), pattern.values.end(), [](double value) { return value == 1; }));

  const SparseTensor tensor = generate("tensor i=20 k=30 l=5 nnz=2000");
  write_frostt(tensor, file);
  CHECK(to_string(read_tensor(file.string(), {3, 50}).tensor) == to_string(tensor));
}

TEST_CASE("read: pieces of any size and any number of threads give the same tensor", "[matrix]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "a.mtx";
  write_matrix_market(generate("rmat scale=9 degree=9"), file);
  const std::string expected = to_string(read_tensor(file.string(), {1, size_t{1} << 20}).tensor);
  for (const size_t chunk_bytes : {1, 13, 300, 5000}) {
    for (const int threads : {1, 2, 4}) {
      CAPTURE(chunk_bytes, threads);
      CHECK(to_string(read_tensor(file.string(), {threads, chunk_bytes}).tensor) == expected);
    }
  }
}
