// Time of the pattern features, in runs of SpMV as fixed_csr does it (CSR, dynamic chunks of 128 rows) on the
// same matrix and threads in the same process.
//
//     feature_perf [--threads N] [FILE | RECIPE...]
//
// Arguments with a blank are recipes of synthetic matrices. Limits to aim for: 15 runs for matrices of more
// than 1,000,000 nonzeros, 30 ms for smaller ones.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "waco/base/error.hpp"
#include "waco/base/machine.hpp"
#include "waco/matrix/read.hpp"
#include "waco/matrix/synthetic.hpp"
#include "waco/pattern/block_features.hpp"
#include "waco/pattern/fiber_features.hpp"
#include "waco/pattern/pattern_features.hpp"
#include "waco/pattern/row_lengths.hpp"
#include "waco/pattern/spread_features.hpp"

namespace {

using waco::matrix::SparseTensor;
using waco::pattern::FeatureList;

double median_ms(const std::function<void()>& body) {
  std::vector<double> ms;
  double total = 0;
  while (ms.size() < 5 || (total < 300 && ms.size() < 200)) {
    const auto start = std::chrono::steady_clock::now();
    body();
    ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    total += ms.back();
  }
  std::sort(ms.begin(), ms.end());
  return ms[ms.size() / 2];
}

double spmv_ms(const SparseTensor& matrix, int threads) {
  const std::vector<int64_t> pointers = waco::matrix::row_pointers(matrix);
  const std::vector<int32_t> columns(matrix.coords[1].begin(), matrix.coords[1].end());
  const std::vector<float> values(columns.size(), 1.0f), b(static_cast<size_t>(matrix.dims[1]), 1.0f);
  std::vector<float> c(static_cast<size_t>(matrix.dims[0]));
  return median_ms([&] {
#pragma omp parallel for num_threads(threads) schedule(dynamic, 128)
    for (size_t row = 0; row < c.size(); ++row) {
      float sum = 0;
      for (int64_t n = pointers[row]; n < pointers[row + 1]; ++n)
        sum += values[static_cast<size_t>(n)] * b[static_cast<size_t>(columns[static_cast<size_t>(n)])];
      c[row] = sum;
    }
  });
}

void report(const SparseTensor& tensor, int threads) {
  const auto part = [&](void (*add)(const SparseTensor&, int, FeatureList&)) {
    return median_ms([&] {
      FeatureList features;
      add(tensor, threads, features);
    });
  };
  const bool matrix = tensor.order() == 2;
  const auto start = std::chrono::steady_clock::now();
  waco::pattern::pattern_features(tensor, threads);
  const double first =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  const double rows = median_ms([&] {
    FeatureList features;
    add_row_length_features(waco::pattern::measure_row_lengths(tensor, threads), "rows", threads, features);
  });
  const double panels = part(matrix ? waco::pattern::add_block_features : waco::pattern::add_fiber_features);
  const double spread =
      part(matrix ? waco::pattern::add_spread_features : waco::pattern::add_tensor_spread_features);
  const double all = median_ms([&] { waco::pattern::pattern_features(tensor, threads); });
  const double spmv = matrix ? spmv_ms(tensor, threads) : 0;
  fmt::print("{:40} {:>10} {:8.3f} {:8.3f} {:8.3f} {:8.3f} {:8.3f} {:9.4f} {:8.1f}\n",
             tensor.name.substr(0, 40), tensor.num_nonzeros(), rows, panels, spread, all, first, spmv,
             spmv > 0 ? all / spmv : 0);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  int threads = waco::usable_threads();
  std::vector<std::string> inputs;
  for (int n = 1; n < argc; ++n) {
    const std::string word = argv[n];
    if (word == "--threads" && n + 1 < argc)
      threads = std::max(1, std::atoi(argv[++n]));
    else
      inputs.push_back(word);
  }
  if (inputs.empty())
    inputs = {"fem nx=40 ny=40 nz=40 dof=3",
              "stencil3d n=110 points=7",
              "rmat scale=18 degree=8",
              "uniform rows=1000000 cols=1000000 degree=2",
              "dense-rows n=100000 degree=10 dense=8",
              "uniform rows=500 cols=500000 degree=3000",
              "tensor-power i=20000 k=20000 l=20000 nnz=2000000"};
  fmt::print("{} threads, ms\n{:40} {:>10} {:>8} {:>8} {:>8} {:>8} {:>8} {:>9} {:>8}\n", threads, "matrix",
             "nonzeros", "rows", "panels", "spread", "all", "first", "spmv", "runs");
  try {
    for (const std::string& input : inputs)
      report(input.find(' ') == std::string::npos ? waco::matrix::read_tensor(input).tensor
                                                  : waco::matrix::generate(input),
             threads);
  } catch (const waco::Error& error) {
    fmt::print(stderr, "feature_perf: {}\n", error.what());
    return 1;
  }
  return 0;
}
