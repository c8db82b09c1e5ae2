// Contestants side by side, stand-ins for libraries among them.
#include "apps/bench/contestants.hpp"

#include <catch2/catch.hpp>
#include <cstring>

#include "../measure/small_kernels.hpp"
#include "waco/base/error.hpp"
#include "waco/base/files.hpp"
#include "waco/base/random.hpp"

using namespace waco;
using namespace waco::bench;

namespace {

matrix::SparseTensor small_matrix() {
  Random random(3);
  matrix::SparseTensor tensor;
  tensor.name = "small";
  tensor.dims = {60, 50};
  tensor.coords.resize(2);
  for (int64_t i = 0; i < 60; ++i)
    for (int64_t k = 0; k < 50; ++k) {
      if (!random.chance(0.2)) continue;
      tensor.coords[0].push_back(i);
      tensor.coords[1].push_back(k);
      tensor.values.push_back(2 * random.uniform() - 1);
    }
  return tensor;
}

/// A library for spmv in f32 that knows the result, and gives it so many times.
class StandIn : public PreparedPeer {
 public:
  StandIn(const PeerInput& input, int64_t calls) : result_(input.num_rows()), calls_(calls) {
    const auto* x = static_cast<const float*>(input.dense[0]);
    const auto* values = static_cast<const float*>(input.values);
    for (int64_t n = 0; n < input.num_nonzeros(); ++n)
      result_[input.tensor->coords[0][n]] += values[n] * x[input.columns[n]];
  }
  void run(void* out) override {
    if (calls_-- <= 0) throw EnvironmentError("the library has no memory left");
    std::memcpy(out, result_.data(), result_.size() * sizeof(float));
  }
  int64_t stored_bytes() const override { return 1; }

 private:
  std::vector<float> result_;
  int64_t calls_;
};

Peer stand_in(const std::string& name, int64_t calls) {
  return {name, "stand-in", "", [](const PeerInput&) { return std::nullopt; },
          [calls](const PeerInput& input) { return std::make_unique<StandIn>(input, calls); }};
}

}  // namespace

TEST_CASE("contestants: a peer that fails while it is timed costs the others nothing", "[bench]") {
  Record record;
  record.problem = {schedule::Op::kSpmv, schedule::ValueType::kF32, 1};
  record.threads = 2;
  const TemporaryFolder folder;
  const measure::KernelCache cache(measure::Compiler::find(), folder.path() / "kernels");
  Contestants contest(small_matrix(), cache, record);
  contest.add_fixed_csr(kFixedCsr);
  // Enough calls to be verified, and too few for one sample.
  contest.add_peers({stand_in("failing", 20), stand_in("good", INT64_MAX), stand_in("never", 0)}, {});
  REQUIRE(record.entries.size() == 4);
  for (size_t n = 0; n < 3; ++n) {
    INFO(record.entries[n].name << ": " << record.entries[n].message);
    REQUIRE(record.entries[n].ok());
    REQUIRE_FALSE(record.entries[n].censored);
  }
  CHECK(record.entries[3].status == "crash");

  measure::TimingOptions timing;
  timing.budget_s = 0.01;
  contest.time_all(timing);
  const Entry& failed = record.entries[1];
  CHECK(failed.status == "crash");
  CHECK(failed.message == "while it was timed: the library has no memory left");
  CHECK(failed.time_ns.median == 0);
  for (const size_t n : {size_t{0}, size_t{2}}) {
    CHECK(record.entries[n].ok());
    CHECK(record.entries[n].time_ns.median > 0);
    CHECK(record.entries[n].samples_ns.size() >= 3);
  }
}

TEST_CASE("contestants: what the machine did to a compiler is no result of the kernel", "[bench]") {
  Record record;
  record.problem = {schedule::Op::kSpmv, schedule::ValueType::kF32, 1};
  record.threads = 2;
  const TemporaryFolder folder;
  const measure::testing::CompilerScript script(
      "unlucky-c++", "case \"$*\" in *kernel.cpp*) kill -KILL $$;; *) exec c++ \"$@\";; esac\n");
  const measure::KernelCache cache(measure::Compiler::find("unlucky-c++"), folder.path() / "kernels");
  Contestants contest(small_matrix(), cache, record);
  CHECK_THROWS_WITH(contest.add_fixed_csr(kFixedCsr), Catch::Contains("free memory"));
}
