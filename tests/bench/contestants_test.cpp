// Contestants side by side, stand-ins for libraries among them.
#include "apps/bench/contestants.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>

#include "../measure/small_kernels.hpp"
#include "waco/base/error.hpp"
#include "waco/base/files.hpp"
#include "waco/base/random.hpp"

using namespace waco;
using namespace waco::bench;

namespace {

matrix::SparseTensor random_matrix() {
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

/// How a stand-in for a library behaves.
struct Manner {
  int64_t calls = INT64_MAX;        ///< after so many it fails
  int64_t right_calls = INT64_MAX;  ///< after so many it answers wrongly
  int64_t slow_calls = 0;           ///< so many take `slow_ms`
  int slow_ms = 250;                ///< far above what a small kernel takes on a busy machine
};

/// A library for spmv in f32 that knows the result.
class StandIn : public PreparedPeer {
 public:
  StandIn(const PeerInput& input, const Manner& manner) : result_(input.num_rows()), manner_(manner) {
    const auto* x = static_cast<const float*>(input.dense[0]);
    const auto* values = static_cast<const float*>(input.values);
    for (int64_t n = 0; n < input.num_nonzeros(); ++n)
      result_[input.tensor->coords[0][n]] += values[n] * x[input.columns[n]];
  }
  void run(void* out) override {
    if (manner_.calls-- <= 0) throw EnvironmentError("the library has no memory left");
    if (manner_.slow_calls-- > 0) std::this_thread::sleep_for(std::chrono::milliseconds(manner_.slow_ms));
    if (manner_.right_calls-- <= 0) result_[0] = 1e6;
    std::memcpy(out, result_.data(), result_.size() * sizeof(float));
  }
  int64_t stored_bytes() const override { return 1; }

 private:
  std::vector<float> result_;
  Manner manner_;
};

Peer stand_in(const std::string& name, const Manner& manner) {
  return {name, "stand-in", "", [](const PeerInput&) { return std::nullopt; },
          [manner](const PeerInput& input) { return std::make_unique<StandIn>(input, manner); }};
}

Record spmv_record() {
  Record record;
  record.problem = {schedule::Op::kSpmv, schedule::ValueType::kF32, 1};
  record.threads = 2;
  return record;
}

/// Timing that takes no longer than it must.
measure::TimingOptions brief() {
  measure::TimingOptions timing;
  timing.budget_s = 0.01;
  return timing;
}

/// A contest that fixed_csr takes part in.
struct WithBaseline {
  Record record = spmv_record();
  TemporaryFolder folder;
  measure::KernelCache cache{measure::Compiler::find(), folder.path() / "kernels"};
  Contestants contest{random_matrix(), cache, record};
  WithBaseline() { contest.add_fixed_csr(kFixedCsr); }
};

}  // namespace

TEST_CASE("contestants: the set-up of a library is timed as that of our kernels", "[bench]") {
  WithBaseline begun;
  begun.contest.add_peers({stand_in("first", {})}, {});  // which starts the library
  int set_ups = 0;
  Peer peer = stand_in("peer", {});
  peer.prepare = [&](const PeerInput& input) {
    ++set_ups;
    std::this_thread::sleep_for(std::chrono::milliseconds(40));
    return std::make_unique<StandIn>(input, Manner());
  };
  begun.contest.add_peers({peer}, {});
  CHECK(set_ups == 1);
  CHECK(begun.record.entries.back().setup_ns >= 40e6);
}

TEST_CASE("contestants: a peer that fails while it is timed costs the others nothing", "[bench]") {
  WithBaseline begun;
  Record& record = begun.record;
  Contestants& contest = begun.contest;
  // Enough calls to be verified, and too few for one sample.
  contest.add_peers(
      {stand_in("failing", {.calls = 20}), stand_in("good", {}), stand_in("never", {.calls = 0})}, {});
  REQUIRE(record.entries.size() == 4);
  for (size_t n = 0; n < 3; ++n) {
    INFO(record.entries[n].name << ": " << record.entries[n].message);
    REQUIRE(record.entries[n].ok());
    REQUIRE_FALSE(record.entries[n].censored);
  }
  CHECK(record.entries[3].status == "crash");

  contest.time_all(brief());
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

TEST_CASE("contestants: a result that is wrong after it was timed has no time", "[bench]") {
  WithBaseline begun;
  Record& record = begun.record;
  Contestants& contest = begun.contest;
  contest.add_peers({stand_in("forgetful", {.right_calls = 20}), stand_in("good", {})}, {});
  REQUIRE(record.entries.size() == 3);
  REQUIRE(record.entries[1].ok());
  contest.time_all(brief());
  CHECK(record.entries[0].ok());
  CHECK(record.entries[1].status == "wrong");
  CHECK_THAT(record.entries[1].message, Catch::StartsWith("after it was timed, "));
  CHECK(record.entries[1].samples_ns.empty());
  CHECK(record.entries[2].ok());
  CHECK(record.entries[2].time_ns.median > 0);
}

TEST_CASE("contestants: a peer that is slow at first gets a few calls more", "[bench]") {
  WithBaseline begun;
  Record& record = begun.record;
  Contestants& contest = begun.contest;
  // One call verifies what is so far off.
  contest.add_peers({stand_in("cold", {.slow_calls = 2}), stand_in("slow", {.slow_calls = INT64_MAX}),
                     stand_in("tiring", {.calls = 2, .slow_calls = INT64_MAX}),
                     stand_in("endless", {.calls = 1, .slow_calls = 1, .slow_ms = 1100})},
                    {});
  REQUIRE(record.entries.size() == 5);
  CHECK(record.entries[1].ok());
  CHECK_FALSE(record.entries[1].censored);
  CHECK(record.entries[2].ok());
  CHECK(record.entries[2].censored);
  CHECK(record.entries[2].time_ns.median >= 250e6);
  CHECK(record.entries[3].status == "crash");
  CHECK(record.entries[4].ok());
  CHECK(record.entries[4].censored);
  CHECK(record.entries[4].time_ns.median >= 1100e6);
  contest.time_all(brief());
  CHECK(record.entries[1].samples_ns.size() >= 3);
  CHECK(record.entries[2].samples_ns.empty());
}

TEST_CASE("contestants: a peer without memory to look at the matrix is absent", "[bench]") {
  WithBaseline begun;
  Record& record = begun.record;
  Contestants& contest = begun.contest;
  Peer hungry = stand_in("hungry", {});
  hungry.refusal = [](const PeerInput&) -> std::optional<std::string> { throw std::bad_alloc(); };
  contest.add_peers({hungry, stand_in("good", {})}, {});
  REQUIRE(record.absent.size() == 1);
  CHECK(record.absent[0].name == "hungry");
  CHECK(record.absent[0].reason == "not enough memory");
  REQUIRE(record.entries.size() == 2);
  CHECK(record.entries[1].name == "good");
}

TEST_CASE("contestants: what the machine did to a compiler is no result of the kernel", "[bench]") {
  Record record = spmv_record();
  const TemporaryFolder folder;
  const measure::testing::CompilerScript script("unlucky-c++", "is_kernel && kill -KILL $$");
  const measure::KernelCache cache(measure::Compiler::find("unlucky-c++"), folder.path() / "kernels");
  Contestants contest(random_matrix(), cache, record);
  CHECK_THROWS_WITH(contest.add_fixed_csr(kFixedCsr), Catch::Contains("free memory"));
}
