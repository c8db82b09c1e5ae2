// Speed of sparse convolutions, beside the matrix product of libtorch's BLAS.
//
//     conv_perf [--threads N] [--max-sites N] FILE...
//
// For each matrix or 3-D tensor: the layers of waconet (a 5-wide window, then 3-wide kernels of stride 2, 32
// channels) and one layer of minkowski (3-wide, stride 1). Flops are 2 * 32 * 32 a pair of input and output;
// additions of the first layer 32 an occupied cell. Sites and maps are built anew in each run, and timed on
// their own.
#include <fmt/format.h>
#include <sys/resource.h>
#include <torch/utils.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "stopwatch.hpp"
#include "waco/base/error.hpp"
#include "waco/matrix/read.hpp"
#include "waco/model/conv/conv_networks.hpp"
#include "waco/model/conv/convolution.hpp"
#include "waco/train/memory.hpp"
#include "waco/train/network/extractor.hpp"

namespace {

using namespace waco::model;
constexpr int kC = kConvChannels;

/// The median, after a run that is not timed.
double seconds_of(const std::function<void()>& work) {
  work();
  return waco::perf::median_seconds({.least = 3, .seconds = 0.1, .most = 51}, work);
}

std::vector<float> some_floats(int64_t count) {
  std::vector<float> values(count);
  for (int64_t n = 0; n < count; ++n) values[n] = static_cast<float>(n % 17) * 0.1f - 0.7f;
  return values;
}

/// Times of one or several layers, in seconds, and what they computed.
struct Times {
  double sites = 0, map = 0, back_map = 0, forward = 0, grad_input = 0, grad_weight = 0;
  double pairs = 0;

  double flops() const { return pairs * 2 * kC * kC; }
  void print(const std::string& what) const {
    const auto rate = [&](double seconds) { return flops() / seconds * 1e-9; };
    fmt::print(
        "  {:24} {:9.2f} {:8.2f} {:8.2f} {:8.2f} | {:8.2f} {:6.1f} | {:8.2f} {:6.1f} | {:8.2f} {:6.1f}\n",
        what, pairs * 1e-6, sites * 1e3, map * 1e3, back_map * 1e3, forward * 1e3, rate(forward),
        grad_input * 1e3, rate(grad_input), grad_weight * 1e3, rate(grad_weight));
  }
  void operator+=(const Times& other) {
    sites += other.sites, map += other.map, back_map += other.back_map, forward += other.forward;
    grad_input += other.grad_input, grad_weight += other.grad_weight, pairs += other.pairs;
  }
};

Times time_layer(const Sites& in, const Sites& out, int stride, int threads) {
  Times times;
  const KernelMap map = make_kernel_map(in, out, 3, stride, threads), back = transposed(map, threads);
  if (stride == 2) times.sites = seconds_of([&] { halved(in, threads); });
  times.map = seconds_of([&] { make_kernel_map(in, out, 3, stride, threads); });
  times.back_map = seconds_of([&] { transposed(map, threads); });
  times.pairs = static_cast<double>(map.num_pairs());
  const auto x = some_floats(in.size() * kC), gy = some_floats(out.size() * kC);
  const auto w = some_floats(static_cast<int64_t>(map.num_offsets) * kC * kC);
  std::vector<float> y(gy.size()), gx(x.size()), gw(w.size());
  times.forward = seconds_of([&] { convolve(map, x.data(), w.data(), kC, kC, true, y.data(), threads); });
  times.grad_input =
      seconds_of([&] { convolve_grad_input(back, gy.data(), w.data(), kC, kC, gx.data(), threads); });
  times.grad_weight =
      seconds_of([&] { convolve_grad_weight(map, x.data(), gy.data(), kC, kC, gw.data(), threads); });
  return times;
}

void report_first_layer(const Sites& sites, int threads) {
  const WindowMap map = make_window_map(sites, kWindowWidth, threads);
  const auto w = some_floats(static_cast<int64_t>(map.num_offsets) * kC), gy = some_floats(sites.size() * kC);
  std::vector<float> y(gy.size()), gw(w.size());
  const double build = seconds_of([&] { make_window_map(sites, kWindowWidth, threads); });
  const double forward = seconds_of([&] { convolve_windows(map, w.data(), kC, true, y.data(), threads); });
  const double back =
      seconds_of([&] { convolve_windows_grad_weight(map, gy.data(), kC, gw.data(), threads); });
  const double adds = static_cast<double>(map.offsets.size()) * kC * 1e-9;
  fmt::print(
      "  window: {:.1f} cells a site; map {:.2f} ms, forward {:.2f} ms ({:.1f} Gadd/s), weights {:.2f} ms "
      "({:.1f} Gadd/s)\n",
      static_cast<double>(map.offsets.size()) / static_cast<double>(sites.size()), build * 1e3, forward * 1e3,
      adds / forward, back * 1e3, adds / back);
}

/// A forward pass, and a step of training, of a whole extractor.
void report_extractors(const waco::matrix::SparseTensor& tensor, int64_t max_sites) {
  for (const char* name : {"waconet", "minkowski", "dense_conv"}) {
    const auto extractor = waco::train::make_conv_torch_extractor(name, tensor.order(), max_sites);
    const auto pattern = extractor->prepare(tensor);
    const double forward = seconds_of([&] {
      torch::NoGradGuard no_grad;
      extractor->forward({pattern});
    });
    const double step = seconds_of([&] { extractor->forward({pattern}).sum().backward(); });
    fmt::print("  {:10} forward {:8.2f} ms, forward and backward {:8.2f} ms\n", name, forward * 1e3,
               step * 1e3);
  }
}

void report(const std::string& file, int64_t max_sites, int threads) {
  const waco::matrix::SparseTensor tensor = waco::matrix::read_tensor(file).tensor;
  const Sites sites = sites_of(tensor, max_sites);
  fmt::print("{}: order {}, {} nonzeros, {} sites\n", tensor.name, tensor.order(), tensor.num_nonzeros(),
             sites.size());
  report_first_layer(sites, threads);
  fmt::print("  {:24} {:>9} {:>8} {:>8} {:>8} | {:>15} | {:>15} | {:>15}\n", "layer", "Mpairs", "sites ms",
             "map ms", "back ms", "forward GF/s", "input GF/s", "weight GF/s");
  Sites fine = sites;
  Times all;
  for (int n = 1; n <= kStridedLayers; ++n) {
    const Sites coarse = halved(fine, threads);
    const Times times = time_layer(fine, coarse, 2, threads);
    if (n <= 3) times.print(fmt::format("stride 2, {} sites", coarse.size()));
    all += times;
    fine = coarse;
  }
  all.print("all 13 of stride 2");
  time_layer(sites, sites, 1, threads).print("stride 1");
  report_extractors(tensor, max_sites);
  std::fflush(stdout);
}

void report_product(int64_t rows, int64_t inner, int64_t columns) {
  const torch::Tensor a = torch::randn({rows, inner}), b = torch::randn({inner, columns});
  torch::Tensor c = torch::empty({rows, columns});
  const double seconds = seconds_of([&] { torch::mm_out(c, a, b); });
  fmt::print("sgemm {} x {} x {}: {:.1f} GFLOP/s\n", rows, inner, columns,
             2e-9 * static_cast<double>(rows * inner * columns) / seconds);
}

}  // namespace

int main(int argc, char** argv) {
  waco::train::keep_freed_memory();
  int threads = 2;
  int64_t max_sites = int64_t{1} << 19;
  std::vector<std::string> files;
  for (int n = 1; n < argc; ++n) {
    const std::string word = argv[n];
    const bool option = word == "--threads" || word == "--max-sites";
    const int64_t number = option && n + 1 < argc ? std::atoll(argv[n + 1]) : 64;
    if (number < 1 || (option && n + 1 == argc) || (!option && word[0] == '-') ||
        (word == "--max-sites" && number < 64)) {
      fmt::print(stderr, "usage: conv_perf [--threads N] [--max-sites N] FILE...\n");
      return 2;
    }
    if (option) ++n;
    if (word == "--threads") threads = static_cast<int>(number);
    if (word == "--max-sites") max_sites = number;
    if (!option) files.push_back(word);
  }
  torch::set_num_threads(threads);
  fmt::print("{} threads\n", threads);
  report_product(2048, 2048, 2048);
  report_product(200000, kC, kC);
  try {
    for (const std::string& file : files) report(file, max_sites, threads);
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    fmt::print("peak resident memory {:.2f} GB\n", static_cast<double>(usage.ru_maxrss) * 1.024e-6);
  } catch (const waco::Error& error) {
    fmt::print(stderr, "conv_perf: {}\n", error.what());
    return 1;
  }
  return 0;
}
