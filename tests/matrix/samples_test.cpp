// The shipped samples are what data/samples/README.md says they are.
#include <catch2/catch.hpp>
#include <string>

#include "matrix_check.hpp"
#include "waco/matrix/read.hpp"
#include "waco/matrix/synthetic.hpp"

using namespace waco::matrix;

namespace {

SparseTensor sample(const std::string& file) {
  return read_tensor(std::string(WACO_TEST_DATA_DIR) + "/../../data/samples/" + file).tensor;
}

}  // namespace

TEST_CASE("samples: the mesh is the generated one", "[matrix]") {
  CHECK(to_string(sample("mesh_3dof.mtx.gz")) == to_string(generate("fem nx=43 ny=40 nz=1 dof=3 seed=1")));
}

TEST_CASE("samples: the graph has the generated pattern", "[matrix]") {
  CHECK(pattern_hash(sample("power_law_graph.mtx.gz")) ==
        pattern_hash(generate("rmat scale=12 degree=10 seed=1")));
}

TEST_CASE("samples: the tensor holds the generated entries", "[matrix]") {
  const SparseTensor expected = generate("tensor-power i=2000 k=1500 l=40 nnz=10000 skew=3 seed=1");
  const SparseTensor tensor = sample("events.tns.gz");
  CHECK(tensor.coords == expected.coords);
  CHECK(tensor.values == expected.values);
}
