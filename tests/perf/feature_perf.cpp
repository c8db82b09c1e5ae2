// Time of the pattern features, in runs of fixed_csr's SpMV on the same matrix and number of threads.
//
//     feature_perf [--threads N] [FILE | RECIPE...]
//
// Arguments with a blank are recipes of synthetic matrices. Limits to aim for: 15 runs for matrices of more
// than 1,000,000 nonzeros, 30 ms for smaller ones.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "stopwatch.hpp"
#include "waco/base/error.hpp"
#include "waco/base/machine.hpp"
#include "waco/matrix/read.hpp"
#include "waco/matrix/synthetic.hpp"
#include "waco/pattern/block_features.hpp"
#include "waco/pattern/fiber_features.hpp"
#include "waco/pattern/pattern_features.hpp"
#include "waco/pattern/row_lengths.hpp"
#include "waco/pattern/spread_features.hpp"
#include "yardstick.hpp"

namespace {

using waco::matrix::SparseTensor;
using waco::pattern::FeatureList;
using namespace waco::perf;

double median_ms(const std::function<void()>& work) {
  return 1e3 * median_seconds({.least = 5, .seconds = 0.3, .most = 200}, work);
}

void report(const SparseTensor& tensor, int threads) {
  const auto part = [&](void (*add)(const SparseTensor&, int, FeatureList&)) {
    return median_ms([&] {
      FeatureList features;
      add(tensor, threads, features);
    });
  };
  const bool matrix = tensor.order() == 2;
  const double first = 1e3 * seconds_of([&] { waco::pattern::pattern_features(tensor, threads); });
  const double rows = median_ms([&] {
    FeatureList features;
    add_row_length_features(waco::pattern::measure_row_lengths(tensor, threads), "rows", threads, features);
  });
  const double panels = part(matrix ? waco::pattern::add_block_features : waco::pattern::add_fiber_features);
  const double spread =
      part(matrix ? waco::pattern::add_spread_features : waco::pattern::add_tensor_spread_features);
  const double all = median_ms([&] { waco::pattern::pattern_features(tensor, threads); });
  const waco::schedule::Problem problem{waco::schedule::Op::kSpmv, waco::schedule::ValueType::kF32, 1};
  const double spmv = matrix ? 1e3 * fixed_csr_seconds(tensor, problem, threads) : 0;
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
