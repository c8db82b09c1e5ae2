// The forecast of packing beside packings of every kind of format.
#include "waco/tune/packing_forecast.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <ctime>
#include <string>
#include <vector>

#include "waco/codegen/storage.hpp"
#include "waco/matrix/corpus.hpp"
#include "waco/measure/fresh_memory.hpp"
#include "waco/pattern/pattern_counts.hpp"
#include "waco/schedule/storage_size.hpp"

using namespace waco;

namespace {

/// Processor time on one thread, which other programs on the machine do not add to; the least of several.
double packing_ns(const matrix::SparseTensor& tensor, const schedule::SuperSchedule& point) {
  const auto now_ns = [] {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
  };
  const measure::FreshMemory fresh;  // as where one packs once
  double least = 1e18;
  for (int n = 0; n < 5; ++n) {
    const double start = now_ns();
    codegen::pack(tensor, point.format, point.problem.op, point.problem.type, 1);
    least = std::min(least, now_ns() - start);
  }
  return least;
}

struct Packing {
  double forecast_ns = 0;
  double packed_ns = 0;
};

Packing packing_of(const matrix::SparseTensor& tensor, const std::string& text) {
  const schedule::SuperSchedule point = schedule::parse(text);
  const pattern::PatternCounts counts(tensor);
  const auto size = schedule::predict_storage(point.format, point.problem.op, point.problem.type, counts);
  return {tune::packing_forecast_ns(point, tensor.num_nonzeros(), static_cast<double>(size.total_bytes), 1),
          packing_ns(tensor, point)};
}

/// Beside the first of the points, so that it does not matter how fast the machine is.
void check_forecasts(const matrix::SparseTensor& tensor, const std::vector<std::string>& points) {
  const Packing first = packing_of(tensor, points.at(0));
  for (const std::string& text : points) {
    const Packing packing = packing_of(tensor, text);
    const double forecast = packing.forecast_ns / first.forecast_ns,
                 packed = packing.packed_ns / first.packed_ns;
    INFO(tensor.name << ": " << text << "\nforecast " << forecast << " times " << points[0] << ", packed in "
                     << packed << " times its time");
    CHECK(packed < 10 * forecast);
#if !defined(__SANITIZE_ADDRESS__)
    CHECK(packed > forecast / 5);
#endif
  }
}

const char* const kMatrixFormats[] = {
    "A: i:U k:C | loop: i k",                                // concordant
    "A: i:C k:S | loop: i k",                                //
    "A: i1:U i0:U k:L [i/8 sort:1024] | loop: i1 k i0",      // lanes
    "A: i1:U k:C i0:U [i/4] | loop: i1 k i0",                // blocks
    "A: i1:U k1:C i0:U k0:U [i/3 k/3] | loop: i1 k1 i0 k0",  //
    "A: i1:U k1:C i0:U k0:U [i/6 k/6] | loop: i1 k1 i0 k0",  //
    "A: k1:U i:U k0:C [k/4096] | loop: k1 i k0",             // columns
    "A: k:U i:C | loop: k i",                                //
    "A: k1:C i1:C k0:U i0:U [i/4 k/4] | loop: k1 i1 k0 i0",  // sorted first
};

const char* const kTensorFormats[] = {
    "A: i:C k:C l:C | loop: i k l j",
    "A: i:C k:S l:S | loop: i k l j",
    "A: l:U i:C k:C | loop: l i k j",
};

matrix::SparseTensor synthetic(const std::string& recipe) {
  return matrix::make(matrix::synthetic_item(recipe));
}

}  // namespace

TEST_CASE("packing_forecast: formats take about the forecast multiple of the time of CSR", "[tune][timing]") {
  for (const char* recipe : {"fem nx=20 ny=20 nz=10 dof=3", "scattered nx=40 ny=40 nz=20 reach=2 dof=1",
                             "chung-lu n=60000 degree=12", "banded n=30000 band=20"}) {
    std::vector<std::string> points;
    for (const char* format : kMatrixFormats)
      points.push_back(fmt::format("spmv f32 | {} | par: serial", format));
    check_forecasts(synthetic(recipe), points);
  }
  std::vector<std::string> points;
  for (const char* format : kTensorFormats)
    points.push_back(fmt::format("mttkrp f32 J=16 | {} | par: serial", format));
  check_forecasts(synthetic("tensor-fibers i=4000 k=3000 l=2000 nnz=300000"), points);
}

TEST_CASE("packing_forecast: grows with nonzeros, bytes and sorting, and shrinks with threads", "[tune]") {
  const schedule::SuperSchedule csr = schedule::parse("spmv f32 | A: i:U k:C | loop: i k | par: serial");
  const schedule::SuperSchedule sorted =
      schedule::parse("spmv f32 | A: k1:C i1:C k0:U i0:U [i/4 k/4] | loop: k1 i1 k0 i0 | par: serial");
  const double usual = tune::packing_forecast_ns(csr, 100000, 6e5, 1);
  CHECK(tune::packing_forecast_ns(csr, 200000, 6e5, 1) > usual);
  CHECK(tune::packing_forecast_ns(csr, 100000, 9e5, 1) > usual);
  CHECK(tune::packing_forecast_ns(sorted, 100000, 6e5, 1) > usual);
  CHECK(tune::packing_forecast_ns(csr, 100000, 6e5, 2) < usual);
  CHECK(tune::packing_forecast_ns(csr, 100, 600, 64) < tune::packing_forecast_ns(csr, 100, 600, 1));
  CHECK(tune::packing_forecast_ns(csr, 0, 0, 0) == 0);
}
