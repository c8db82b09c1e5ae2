// Matrices in the archives of SuiteSparse.
#include <catch2/catch.hpp>
#include <string>

#include "../gzipped.hpp"
#include "../tarred.hpp"
#include "matrix_check.hpp"
#include "waco/base/error.hpp"
#include "waco/matrix/read.hpp"

using namespace waco;
using namespace waco::matrix;

namespace {

const std::string kMatrix = "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 1 1.5\n2 3 -2\n";
const std::string kVector = "%%MatrixMarket matrix array real general\n2 1\n1\n2\n";

}  // namespace

TEST_CASE("read: of an archive the matrix called as its folder is read", "[matrix]") {
  const std::string archive = tar_member("cant/", "", '5') + tar_member("cant/cant_b.mtx", kVector) +
                              tar_member("cant/cant.mtx", kMatrix) + tar_member("cant/cant_x.mtx", kVector) +
                              tar_end();
  for (const std::string& bytes : {archive, gzipped(archive)}) {
    const ReadResult result = read_tensor_bytes(bytes, "cant.tar.gz");
    CHECK(to_string(result.tensor) == "2x3: (0,0)=1.5 (1,2)=-2");
    CHECK(result.tensor.name == "cant");
  }
}

TEST_CASE("read: Rutherford-Boeing files, the other kind of SuiteSparse, are refused by name", "[matrix]") {
  const std::string text =
      "1138_BUS, power network                          |Boeing\n  100 10 40 50\nrsa 2 2 3 0\n";
  CHECK_THROWS_WITH(read_tensor_bytes(text, "a.rb"),
                    Catch::StartsWith("a.rb: is a Rutherford-Boeing file; "));
  CHECK(read_tensor_bytes(kMatrix, "a.rb").tensor.num_nonzeros() == 2);  // the content decides
}

TEST_CASE("read: archives without such a matrix, or damaged, are refused", "[matrix]") {
  const std::string other = tar_member("data/cant.mtx", kMatrix) + tar_end();
  CHECK_THROWS_WITH(read_tensor_bytes(other, "a.tar"),
                    Catch::StartsWith("a.tar: is a tar archive without a NAME/"));
  const std::string faulty = tar_member("a/a.mtx", kMatrix + "3 1 1\n") + tar_end();
  CHECK_THROWS_WITH(read_tensor_bytes(faulty, "a.tar"), Catch::StartsWith("a.tar:5: "));
  std::string damaged = gzipped(tar_member("a/a.mtx", kMatrix) + tar_end());
  damaged[damaged.size() - 7] ^= 1;  // the checksum, behind all members
  CHECK_THROWS_WITH(read_tensor_bytes(damaged, "a.tar.gz"), Catch::Contains("the gzip file is damaged"));
}
