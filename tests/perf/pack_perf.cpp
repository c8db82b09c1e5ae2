// Time of packing, in nanoseconds per nonzero and in runs of a plain CSR SpMV on the same matrix.
//
//     pack_perf [threads] [nonzeros]
//
// Limits to aim for: 15 SpMV times for formats in the order of the input, 40 for blocked and sliced ones.
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "waco/base/random.hpp"
#include "waco/codegen/storage.hpp"

namespace {

using waco::Random;
using waco::codegen::Storage;
using waco::matrix::SparseTensor;
using waco::schedule::FormatSchedule;
using waco::schedule::Op;
using waco::schedule::ValueType;

struct NamedFormat {
  const char* name;
  std::string point;  ///< as text; only its format is used
};

std::vector<NamedFormat> formats() {
  return {
      {"CSR", "spmv f32 | A: i:U k:C | loop: i k | par: serial"},
      {"DCSR", "spmv f32 | A: i:C k:C | loop: i k | par: serial"},
      {"COO", "spmv f32 | A: i:C k:S | loop: i k | par: serial"},
      {"SELL-8", "spmv f32 | A: i1:U i0:U k:L [i/8] | loop: i1 k i0 | par: serial"},
      {"SELL-8-1024", "spmv f32 | A: i1:U i0:U k:L [i/8 sort:1024] | loop: i1 k i0 | par: serial"},
      {"rows of 4", "spmv f32 | A: i1:U k:C i0:U [i/4] | loop: i1 k i0 | par: serial"},
      {"BCSR 3x3", "spmv f32 | A: i1:U k1:C i0:U k0:U [i/3 k/3] | loop: i1 k1 i0 k0 | par: serial"},
      {"HiCOO 128", "spmv f32 | A: i1:C k1:S i0:C k0:S [i/128 k/128] | loop: i1 k1 i0 k0 | par: serial"},
      {"tiles 32768", "spmv f32 | A: k1:U i:U k0:C [k/32768] | loop: k1 i k0 | par: serial"},
      {"CSC", "spmv f32 | A: k:U i:C | loop: k i | par: serial"},
  };
}

void add_row(SparseTensor& tensor, int64_t row, const std::vector<int64_t>& columns) {
  for (int64_t column : columns) {
    tensor.coords[0].push_back(row);
    tensor.coords[1].push_back(column);
    tensor.values.push_back(1.0 + static_cast<double>(column % 7));
  }
}

SparseTensor empty_matrix(const std::string& name, int64_t rows) {
  SparseTensor tensor;
  tensor.name = name;
  tensor.dims = {rows, rows};
  tensor.coords.resize(2);
  return tensor;
}

/// A brick mesh with 3 unknowns a node: 27 neighbours, 3x3 blocks.
SparseTensor brick_mesh(int64_t nonzeros) {
  int64_t side = 4;
  while (side * side * side * 243 < nonzeros) ++side;
  SparseTensor tensor = empty_matrix("brick mesh, 3 unknowns", side * side * side * 3);
  for (int64_t node = 0; node < side * side * side; ++node) {
    const int64_t x = node % side, y = node / side % side, z = node / side / side;
    std::vector<int64_t> columns;
    for (int64_t w = std::max<int64_t>(z - 1, 0); w <= std::min(z + 1, side - 1); ++w)
      for (int64_t v = std::max<int64_t>(y - 1, 0); v <= std::min(y + 1, side - 1); ++v)
        for (int64_t u = std::max<int64_t>(x - 1, 0); u <= std::min(x + 1, side - 1); ++u)
          for (int64_t d = 0; d < 3; ++d) columns.push_back(((w * side + v) * side + u) * 3 + d);
    for (int64_t d = 0; d < 3; ++d) add_row(tensor, node * 3 + d, columns);
  }
  return tensor;
}

/// Rows of skewed length with columns of skewed popularity: a graph.
SparseTensor skewed_graph(int64_t nonzeros) {
  Random random(1);
  const int64_t rows = nonzeros / 16;
  SparseTensor tensor = empty_matrix("skewed graph", rows);
  for (int64_t row = 0; row < rows; ++row) {
    const double u = random.uniform();
    const auto length = static_cast<int64_t>(std::min(4.0 / (u * u + 0.02), 200.0));
    std::set<int64_t> columns;
    for (int64_t n = 0; n < length; ++n) {
      const double v = random.uniform();
      columns.insert(static_cast<int64_t>(v * v * v * static_cast<double>(rows)));
    }
    add_row(tensor, row, {columns.begin(), columns.end()});
  }
  return tensor;
}

double median_seconds(int repeats, const std::function<void()>& body) {
  std::vector<double> seconds;
  for (int n = 0; n < repeats; ++n) {
    const auto start = std::chrono::steady_clock::now();
    body();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

double csr_spmv_seconds(const Storage& csr, int threads) {
  const waco_storage& s = csr.abi();
  const auto* pos = static_cast<const int32_t*>(s.level[1].pos);
  const auto* crd = static_cast<const uint32_t*>(s.level[1].crd);
  const auto* values = static_cast<const float*>(s.values);
  std::vector<float> x(s.dim[1], 1.0f), y(s.dim[0]);
  return median_seconds(11, [&] {
#pragma omp parallel for num_threads(threads) schedule(dynamic, 128)
    for (int64_t i = 0; i < s.dim[0]; ++i) {
      float sum = 0;
      for (int32_t p = pos[i]; p < pos[i + 1]; ++p) sum += values[p] * x[crd[p]];
      y[i] = sum;
    }
  });
}

void report(const SparseTensor& tensor, int threads) {
  const double nonzeros = static_cast<double>(tensor.num_nonzeros());
  fmt::print("{}: {} rows, {} nonzeros, {} threads\n", tensor.name, tensor.dims[0], tensor.num_nonzeros(),
             threads);
  double spmv = 0;
  for (const NamedFormat& entry : formats()) {
    const FormatSchedule format = waco::schedule::parse(entry.point).format;
    const Storage storage = waco::codegen::pack(tensor, format, Op::kSpmv, ValueType::kF32, threads);
    if (spmv == 0) {
      if (storage.abi().level[1].crd_bytes != 4) std::exit(1);
      spmv = csr_spmv_seconds(storage, threads);
      fmt::print("  CSR SpMV {:8.3f} ms\n", spmv * 1e3);
    }
    const double seconds =
        median_seconds(5, [&] { waco::codegen::pack(tensor, format, Op::kSpmv, ValueType::kF32, threads); });
    fmt::print("  {:12} {:8.1f} ms {:6.2f} ns a nonzero {:6.1f} SpMV, fill {:4.1f}\n", entry.name,
               seconds * 1e3, seconds * 1e9 / nonzeros, seconds / spmv,
               static_cast<double>(storage.abi().num_stored) / nonzeros);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const int64_t nonzeros = argc > 2 ? std::atoll(argv[2]) : 8'000'000;
  if (threads < 1 || nonzeros < 6000000) {
    fmt::print(stderr, "usage: pack_perf [threads >= 1] [nonzeros >= 6000000]\n");
    return 2;
  }
  report(brick_mesh(nonzeros), threads);
  report(skewed_graph(nonzeros), threads);
  return 0;
}
