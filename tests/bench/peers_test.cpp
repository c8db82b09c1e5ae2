// Every library that this build found answers rightly; none has to be there.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "apps/bench/peers/csr_arrays.hpp"
#include "apps/bench/peers/dense_form.hpp"
#include "apps/bench/peers/peer.hpp"
#include "apps/bench/report/table.hpp"
#include "waco/base/error.hpp"
#include "waco/base/random.hpp"
#include "waco/measure/workbench.hpp"

using namespace waco;
using namespace waco::bench;
using schedule::Op;
using schedule::ValueType;

namespace {

constexpr int kThreads = 2;

/// 144 x 96, full blocks of 12 x 12 here and there (so that blocks of 2, 3 and 4 hold no fill), other rows
/// empty.
matrix::SparseTensor blocky_matrix() {
  Random random(5);
  matrix::SparseTensor tensor;
  tensor.name = "blocky";
  tensor.dims = {144, 96};
  tensor.coords.resize(2);
  for (int64_t block_row = 0; block_row < 12; ++block_row)
    for (int64_t block = 0; block < 8; ++block) {
      if (block_row == 5 || !random.chance(0.4)) continue;
      for (int64_t n = 0; n < 144; ++n) {
        tensor.coords[0].push_back(block_row * 12 + n / 12);
        tensor.coords[1].push_back(block * 12 + n % 12);
        tensor.values.push_back(2 * random.uniform() - 1);
      }
    }
  matrix::sort_and_merge(tensor);
  return tensor;
}

PeerInput input_of(measure::Workbench& bench, const CsrArrays& arrays, const schedule::Problem& problem,
                   Buffer& out) {
  return {problem,
          kThreads,
          &bench.tensor(),
          arrays.row_begin(),
          arrays.columns(),
          arrays.values(),
          {bench.operands().data(0), bench.operands().data(1)},
          out.data()};
}

}  // namespace

TEST_CASE("peers: seven libraries are known, each found with a version or absent with a reason", "[bench]") {
  const std::vector<Library> libraries = all_libraries();
  CHECK(libraries.size() == 7);
  std::set<std::string> names;
  for (const Library& library : libraries) {
    INFO(library.name);
    CHECK_FALSE((library.available() ? library.version : library.remark).empty());
    for (const Peer& peer : library.peers) {
      CHECK(peer.library == library.name);
      CHECK(names.insert(peer.name).second);
    }
  }
  const std::string table = to_table(libraries);
  for (const Library& library : libraries) CHECK(table.find(library.name) != std::string::npos);
}

TEST_CASE("peers: are chosen by library or by name and unknown or absent ones are refused", "[bench]") {
  const Peer one{"one", "first", "", {}, {}}, two{"two", "first", "", {}, {}},
      three{"three", "third", "", {}, {}};
  const std::vector<Library> libraries{{"first", "First", "1", "", {one, two}},
                                       {"second", "Second", "", "is not installed", {}},
                                       {"third", "Third", "3", "is slow here", {three}}};
  const auto names = [&](const std::vector<std::string>& chosen) {
    std::vector<std::string> result;
    for (const Peer& peer : choose_peers(libraries, chosen)) result.push_back(peer.name);
    return result;
  };
  CHECK(names({}) == std::vector<std::string>{"one", "two", "three"});
  CHECK(names({"none"}).empty());
  CHECK(names({"first"}) == std::vector<std::string>{"one", "two"});
  CHECK(names({"three", "two"}) == std::vector<std::string>{"two", "three"});
  CHECK(names({"first", "first", "one", "three", "three"}) ==
        std::vector<std::string>{"one", "two", "three"});
  CHECK(names({"none", "none"}).empty());
  CHECK(choose_peers(libraries, {"three"}).at(0).remark == "is slow here");
  CHECK(choose_peers(libraries, {"one"}).at(0).remark.empty());
  CHECK_THROWS_WITH(names({"second"}), Catch::Contains("is not installed"));
  CHECK_THROWS_AS(names({"fourth"}), UsageError);
  CHECK_THROWS_AS(names({"one", "none"}), UsageError);
}

TEST_CASE("peers: every one that takes a problem gives the reference's result, twice", "[bench]") {
  const matrix::SparseTensor tensor = blocky_matrix();
  for (const Op op : {Op::kSpmv, Op::kSpmm, Op::kSddmm})
    for (const ValueType type : {ValueType::kF32, ValueType::kF64})
      for (const int64_t rhs : {1, 32, 40}) {
        if (op == Op::kSpmv && rhs != 1) continue;
        const schedule::Problem problem{op, type, rhs};
        measure::Workbench bench(tensor, problem, 1, kThreads);
        const CsrArrays arrays(bench.tensor(), type, kThreads);
        Buffer out(static_cast<size_t>(std::max(tensor.num_nonzeros(), tensor.dims[0] * rhs) * 8));
        const PeerInput input = input_of(bench, arrays, problem, out);
        for (const Peer& peer : choose_peers(all_libraries(), {})) {
          if (peer.refusal(input)) continue;
          INFO(peer.name << " " << schedule::to_text(problem));
          const std::unique_ptr<PreparedPeer> prepared = peer.prepare(input);
          const measure::Preparation result =
              bench.prepare({[&](void* o) { prepared->run(o); }, [&](void* o) { prepared->finish(o); }}, 0);
          INFO(result.message);
          CHECK(result.status == measure::Status::kOk);
          // As after they were timed: over a result that nothing was written to.
          CHECK(bench.prepare({[&](void* o) { prepared->run(o); }, [&](void* o) { prepared->finish(o); }}, 0)
                    .status == measure::Status::kOk);
          CHECK(prepared->stored_bytes() > 0);
        }
      }
}

TEST_CASE("peers: those of this build that have the op do not refuse the blocky matrix", "[bench]") {
  const matrix::SparseTensor tensor = blocky_matrix();
  const schedule::Problem problem{Op::kSpmv, ValueType::kF32, 1};
  measure::Workbench bench(tensor, problem, 1, kThreads);
  const CsrArrays arrays(bench.tensor(), problem.type, kThreads);
  Buffer out(4096);
  PeerInput input = input_of(bench, arrays, problem, out);
  input.threads = 1;  // a build without threads refuses more
  for (const Peer& peer : choose_peers(all_libraries(), {}))
    if (peer.name != "libxsmm") CHECK_FALSE(peer.refusal(input).has_value());
}

TEST_CASE("peers: an OpenBLAS without threads refuses to run beside contestants with two", "[bench]") {
  const matrix::SparseTensor tensor = blocky_matrix();
  const schedule::Problem problem{Op::kSpmv, ValueType::kF32, 1};
  measure::Workbench bench(tensor, problem, 1, kThreads);
  const CsrArrays arrays(bench.tensor(), problem.type, kThreads);
  Buffer out(4096);
  const PeerInput input = input_of(bench, arrays, problem, out);
  for (const Library& library : all_libraries()) {
    if (library.name != "openblas" || !library.available()) continue;
    INFO(library.version);
    CHECK(library.peers[0].refusal(input).has_value() ==
          (library.version.find("SINGLE_THREADED") != std::string::npos));
  }
}

TEST_CASE("csr_arrays: are the matrix by rows, and 64-bit matrices do not fit", "[bench]") {
  matrix::SparseTensor tensor;
  tensor.dims = {4, 3};
  tensor.coords = {{0, 0, 3}, {0, 2, 1}};
  tensor.values = {1.5, -2, 3};
  const CsrArrays arrays(tensor, ValueType::kF32, kThreads);
  CHECK(std::vector<int32_t>(arrays.row_begin(), arrays.row_begin() + 5) ==
        std::vector<int32_t>{0, 2, 2, 2, 3});
  CHECK(std::vector<int32_t>(arrays.columns(), arrays.columns() + 3) == std::vector<int32_t>{0, 2, 1});
  const auto* values = static_cast<const float*>(arrays.values());
  CHECK(std::vector<float>(values, values + 3) == std::vector<float>{1.5f, -2, 3});
  CHECK(CsrArrays::fits(tensor));
  tensor.dims[1] = int64_t{1} << 31;
  CHECK_FALSE(CsrArrays::fits(tensor));
}

TEST_CASE("dense_form: is the matrix with its zeros, unless that is large", "[bench]") {
  matrix::SparseTensor tensor;
  tensor.dims = {3, 2};
  tensor.coords = {{0, 2, 2}, {1, 0, 1}};
  tensor.values = {1.5, -2, 3};
  const schedule::Problem problem{Op::kSpmv, ValueType::kF64, 1};
  measure::Workbench bench(tensor, problem, 1, kThreads);
  const CsrArrays arrays(tensor, problem.type, kThreads);
  Buffer out(64);
  const Buffer dense = dense_form(input_of(bench, arrays, problem, out));
  CHECK(std::vector<double>(dense.as<double>(), dense.as<double>() + 6) ==
        std::vector<double>{0, 1.5, 0, 0, -2, 3});
  CHECK_FALSE(refuse_large_dense_form(input_of(bench, arrays, problem, out)).has_value());
  PeerInput large = input_of(bench, arrays, problem, out);
  tensor.dims = {1 << 12, 1 << 12};
  large.tensor = &tensor;
  CHECK(refuse_large_dense_form(large) == "the dense form takes 128 MB");
}
