// What is forecast of a problem before its nonzeros are looked at.
#include "waco/tune/csr_forecast.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "../model/server_ceilings.hpp"

using namespace waco;
using namespace waco::schedule;

TEST_CASE("csr_forecast: fixed_csr takes what it took, within a factor of three", "[tune]") {
  struct Case {
    Problem problem;
    std::vector<int64_t> dims;
    int64_t nonzeros;
    double ns;  // of two threads, from data/datasets: 4elt and CollegeMsg_3d
  };
  const auto of = GENERATE(values<Case>({
      {{Op::kSpmv, ValueType::kF32, 1}, {15606, 15606}, 91756, 40851},
      {{Op::kSpmm, ValueType::kF32, 256}, {15606, 15606}, 91756, 1662320},
      {{Op::kSpmm, ValueType::kF32, 32}, {15606, 15606}, 91756, 195646},
      {{Op::kSddmm, ValueType::kF32, 256}, {15606, 15606}, 91756, 1318954},
      {{Op::kMttkrp, ValueType::kF32, 16}, {1876, 1899, 194}, 25866, 71752},
      {{Op::kSddmm, ValueType::kF32, 3}, {1000000, 1}, 50000, 3060000},
      {{Op::kSddmm, ValueType::kF32, 1}, {1000000, 1000000}, 200000, 3660000},
  }));
  const double forecast = tune::csr_forecast_ns(of.problem, of.dims, of.nonzeros, test::server_ceilings(2));
  INFO(fmt::format("{} {} ns, forecast {}", name(of.problem.op), of.ns, forecast));
  CHECK(forecast < 3 * of.ns);
  CHECK(forecast > of.ns / 3);
}

TEST_CASE("csr_forecast: grows with rows, nonzeros and width, and shrinks with threads", "[tune]") {
  for (const Op op : {Op::kSpmv, Op::kSpmm, Op::kSddmm, Op::kMttkrp}) {
    INFO(name(op));
    const int64_t rhs = default_rhs(op);
    const auto forecast = [op](int64_t rows, int64_t nonzeros, ValueType type, int64_t width, int threads) {
      const std::vector<int64_t> dims(static_cast<size_t>(sparse_order(op)), rows);
      return tune::csr_forecast_ns({op, type, width}, dims, nonzeros, test::server_ceilings(threads));
    };
    const double usual = forecast(10000, 100000, ValueType::kF32, rhs, 2);
    CHECK(forecast(20000, 100000, ValueType::kF32, rhs, 2) > usual);
    CHECK(forecast(10000, 200000, ValueType::kF32, rhs, 2) > usual);
    CHECK(forecast(10000, 100000, ValueType::kF64, rhs, 2) > usual);
    CHECK(forecast(10000, 100000, ValueType::kF32, rhs, 4) < usual);
    if (has_dense_index(op)) CHECK(forecast(10000, 100000, ValueType::kF32, 2 * rhs, 2) > usual);
  }
}

TEST_CASE("csr_forecast: many threads take no less than a parallel region and the memory do", "[tune]") {
  const Problem spmv{Op::kSpmv, ValueType::kF32, 1};
  const model::Ceilings many = test::server_ceilings(64);
  CHECK(tune::csr_forecast_ns(spmv, {1000, 1000}, 5000, many) >= many.region_ns);
  const double bytes = 100e6 * (4 + 4) + 2 * 10e6 * 4;
  CHECK(tune::csr_forecast_ns(spmv, {10000000, 10000000}, 100000000, many) >= bytes / many.read(3, 64));
}

TEST_CASE("csr_forecast: ranking takes as long as it was seen to take, to a factor of two or three",
          "[tune]") {
  struct Seen {
    Op op;
    int64_t nonzeros, evaluations;
    double ms;
  };
  // On an Emerald Rapids, of waco-tune --effort none.
  for (const Seen& seen :
       {Seen{Op::kSpmv, 5664, 300, 16}, Seen{Op::kSpmv, 243088, 300, 62}, Seen{Op::kSpmv, 2076313, 30, 23},
        Seen{Op::kSpmm, 10556, 300, 24}, Seen{Op::kSpmm, 948464, 200, 154}, Seen{Op::kSddmm, 94926, 300, 61},
        Seen{Op::kMttkrp, 25866, 300, 35}, Seen{Op::kMttkrp, 93003, 300, 157}}) {
    const double forecast = tune::ranking_forecast_ns(seen.op, seen.nonzeros, seen.evaluations) / 1e6;
    INFO(fmt::format("{} of {}: {} ms, forecast {}", name(seen.op), seen.nonzeros, seen.ms, forecast));
    CHECK(forecast < 3 * seen.ms);
    CHECK(forecast > seen.ms / 3);
  }
}
