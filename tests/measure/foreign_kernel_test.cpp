// Kernels from elsewhere on a worker's bench: right, wrong, overrunning, accumulating and throwing ones.
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>

#include "small_tensors.hpp"
#include "waco/base/error.hpp"
#include "waco/measure/workbench.hpp"

using namespace waco;
using namespace waco::measure;
using schedule::Op;
using schedule::ValueType;

namespace {

/// spmv in the order of the input, written to `out`; `start` true: over zeros.
void spmv(const Workbench& bench, float* out, bool start) {
  const matrix::SparseTensor& a = bench.tensor();
  if (start) std::memset(out, 0, static_cast<size_t>(a.dims[0]) * sizeof(float));
  const auto* x = bench.operands().as<float>(0);
  for (int64_t p = 0; p < a.num_nonzeros(); ++p)
    out[a.coords[0][p]] += static_cast<float>(a.values[p]) * x[a.coords[1][p]];
}

Workbench spmv_bench() {
  return Workbench(testing::random_tensor({60, 50}, 400), {Op::kSpmv, ValueType::kF32, 1}, 1, 2);
}

}  // namespace

TEST_CASE("bench: a foreign kernel is verified like our own", "[measure]") {
  Workbench bench = spmv_bench();
  const Preparation right =
      bench.prepare({[&](void* out) { spmv(bench, static_cast<float*>(out), true); }, {}}, 0);
  INFO(right.message);
  CHECK(right.status == Status::kOk);
  CHECK(right.first_run_ns > 0);
  CHECK(right.max_rel_error < 1e-5);

  const Preparation wrong = bench.prepare({[&](void* out) {
                                             spmv(bench, static_cast<float*>(out), true);
                                             static_cast<float*>(out)[7] += 1;
                                           },
                                           {}},
                                          0);
  CHECK(wrong.status == Status::kWrong);
  CHECK(wrong.message.find("[7") != std::string::npos);
}

TEST_CASE("bench: a kernel is not called too slow for what took the processors a while", "[measure]") {
  using namespace std::chrono_literals;
  Workbench bench = spmv_bench();
  std::optional<std::chrono::steady_clock::time_point> first;
  const auto disturbed = [&](void* out) {
    if (!first) first = std::chrono::steady_clock::now();
    if (std::chrono::steady_clock::now() - *first < 15ms) std::this_thread::sleep_for(1ms);
    spmv(bench, static_cast<float*>(out), true);
  };
  CHECK_FALSE(bench.prepare({disturbed, {}}, 500e3).censored);

  const auto slow = [&](void* out) {
    std::this_thread::sleep_for(1ms);
    spmv(bench, static_cast<float*>(out), true);
  };
  CHECK(bench.prepare({slow, {}}, 500e3).censored);
}

TEST_CASE("bench: a foreign kernel that accumulates, overruns or throws is found out", "[measure]") {
  Workbench bench = spmv_bench();
  int calls = 0;
  const auto accumulate = [&](void* out) { spmv(bench, static_cast<float*>(out), calls++ == 0); };
  const Preparation twice = bench.prepare({accumulate, {}}, 0);
  CHECK(twice.status == Status::kWrong);
  CHECK(twice.message.find("second call") != std::string::npos);

  for (const int place : {-1, 60}) {
    const auto overrun = [&](void* out) {
      spmv(bench, static_cast<float*>(out), true);
      static_cast<float*>(out)[place] = 0;
    };
    CHECK(bench.prepare({overrun, {}}, 0).message.find("past the end") != std::string::npos);
  }

  const auto fail = [](void*) { throw EnvironmentError("the library says no"); };
  const Preparation failed = bench.prepare({fail, {}}, 0);
  CHECK(failed.status == Status::kCrash);
  CHECK(failed.message == "the library says no");
}

TEST_CASE("bench: a foreign sddmm may bring its values in an untimed step", "[measure]") {
  Workbench bench(testing::random_tensor({30, 20}, 100), {Op::kSddmm, ValueType::kF64, 8}, 1, 2);
  std::vector<double> kept;
  const auto run = [&](void*) {
    kept.clear();
    const matrix::SparseTensor& a = bench.tensor();
    for (int64_t p = 0; p < a.num_nonzeros(); ++p) {
      double dot = 0;
      for (int64_t k = 0; k < 8; ++k)
        dot += bench.operands().as<double>(0)[a.coords[0][p] * 8 + k] *
               bench.operands().as<double>(1)[a.coords[1][p] * 8 + k];
      kept.push_back(a.values[p] * dot);
    }
  };
  const auto finish = [&](void* out) { std::memcpy(out, kept.data(), kept.size() * sizeof(double)); };
  CHECK(bench.prepare({run, finish}, 0).status == Status::kOk);
  CHECK(bench.prepare({run, {}}, 0).status == Status::kWrong);
}
