// Time and memory of packing, in runs of `fixed_csr` on the same matrix and number of threads.
//
//     pack_perf [--threads N] [--nonzeros N] [--only TEXT] [FILE...]
//
// Files are matrices (SpMV) or 3-D tensors (MTTKRP, J = 16); without any, a brick mesh and a skewed graph of
// N nonzeros. --only takes the formats whose name holds the text. Values are packed as f32. Limits to aim
// for: 15 SpMV times for formats in the order of the input, 40 for blocked and sliced ones, peak memory 3
// times what is packed.
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "stopwatch.hpp"
#include "waco/base/error.hpp"
#include "waco/base/random.hpp"
#include "waco/codegen/storage.hpp"
#include "waco/matrix/read.hpp"
#include "waco/schedule/super_schedule.hpp"
#include "yardstick.hpp"

namespace {

using namespace waco::perf;
using waco::Random;
using waco::codegen::Storage;
using waco::matrix::SparseTensor;
using waco::schedule::Problem;

struct NamedFormat {
  const char* name;
  std::string point;  ///< as text; only its format is used
};

std::vector<NamedFormat> matrix_formats() {
  const auto point = [](const std::string& levels, const std::string& loop) {
    return fmt::format("spmv f32 | A: {} | loop: {} | par: serial", levels, loop);
  };
  return {
      {"CSR", point("i:U k:C", "i k")},
      {"CSR, clustered", point("i:U k:C [clustered]", "i k")},
      {"DCSR", point("i:C k:C", "i k")},
      {"COO", point("i:C k:S", "i k")},
      {"ELL-8", point("i1:U i0:U k:E [i/8]", "i1 k i0")},
      {"SELL-8", point("i1:U i0:U k:L [i/8]", "i1 k i0")},
      {"SELL-8-1024", point("i1:U i0:U k:L [i/8 sort:1024]", "i1 k i0")},
      {"SELL-16-4096", point("i1:U i0:U k:L [i/16 sort:4096]", "i1 k i0")},
      {"rows of 4", point("i1:U k:C i0:U [i/4]", "i1 k i0")},
      {"diagonals of 32", point("i1:U k:C i0:U [i/32 skewed]", "i1 k i0")},
      {"1x8 blocks", point("i:U k1:C k0:U [k/8]", "i k1 k0")},
      {"BCSR 2x2", point("i1:U k1:C i0:U k0:U [i/2 k/2]", "i1 k1 i0 k0")},
      {"BCSR 3x3", point("i1:U k1:C i0:U k0:U [i/3 k/3]", "i1 k1 i0 k0")},
      {"BCSR 4x4", point("i1:U k1:C i0:U k0:U [i/4 k/4]", "i1 k1 i0 k0")},
      {"BCSR 6x6", point("i1:U k1:C i0:U k0:U [i/6 k/6]", "i1 k1 i0 k0")},
      {"SELL-8 of 1x4", point("i1:U i0:U k1:L k0:U [i/8 k/4]", "i1 k1 i0 k0")},
      {"rows of 16, 2 parts", point("i1:U k1:C k0:C i0:U [i/16 k/16384]", "i1 k1 k0 i0")},
      {"rows of 16, tiles", point("i1:U k1:U k0:C i0:U [i/16 k/512]", "i1 k1 k0 i0")},
      {"rows of 16, C", point("i1:U k:C i0:C [i/16]", "i1 k i0")},
      {"CSB 64x512", point("i1:U k1:C i0:U k0:C [i/64 k/512]", "i1 k1 i0 k0")},
      {"HiCOO 128", point("i1:C k1:S i0:C k0:S [i/128 k/128]", "i1 k1 i0 k0")},
      {"tiles 32768", point("k1:U i:U k0:C [k/32768]", "k1 i k0")},
      {"CSC", point("k:U i:C", "k i")},
  };
}

std::vector<NamedFormat> tensor_formats() {
  const auto point = [](const std::string& levels, const std::string& loop) {
    return fmt::format("mttkrp f32 J=16 | A: {} | loop: {} j | par: serial", levels, loop);
  };
  return {
      {"CSF", point("i:C k:C l:C", "i k l")},
      {"CSF, dense rows", point("i:U k:C l:C", "i k l")},
      {"COO", point("i:C k:S l:S", "i k l")},
      {"CSF of i l k", point("i:C l:C k:C", "i l k")},
      {"rows of pairs", point("i:C l:C k:S", "i l k")},
      {"SELL-8-1024", point("i1:U i0:U k:L l:S [i/8 sort:1024]", "i1 k l i0")},
      {"SELL-8-1024, l k", point("i1:U i0:U l:L k:S [i/8 sort:1024]", "i1 l k i0")},
      {"HiCOO 64", point("i1:C k1:S l1:S i0:C k0:S l0:S [i/64 k/64 l/64]", "i1 k1 l1 i0 k0 l0")},
  };
}

// ---- Inputs ----

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

// ---- Measuring ----

/// A field of /proc/self/status in bytes.
int64_t status_bytes(const std::string& field) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.rfind(field + ":", 0) == 0) return std::atoll(line.c_str() + field.size() + 1) * 1024;
  return 0;
}

/// The highest resident memory while `body` runs, beyond that before it.
int64_t peak_bytes(const std::function<void()>& body) {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5";
  const int64_t before = status_bytes("VmRSS");
  body();
  return status_bytes("VmHWM") - before;
}

/// What no packing can undercut: reading the input once and writing what is packed into fresh memory.
double bound_seconds(const SparseTensor& tensor, int64_t packed_bytes, int threads) {
  uint64_t sum = 0;
  const double read = median_seconds({.least = 5}, [&] {
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : sum)
    for (int64_t n = 0; n < tensor.num_nonzeros(); ++n) {
      uint64_t bits;
      std::memcpy(&bits, &tensor.values[n], sizeof bits);
      sum += bits;
      for (const auto& coords : tensor.coords) sum += static_cast<uint64_t>(coords[n]);
    }
  });
  const double write = median_seconds({.least = 5}, [&] {
    char* memory = static_cast<char*>(std::malloc(static_cast<size_t>(packed_bytes)));
    const int64_t share = packed_bytes / threads;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int t = 0; t < threads; ++t) std::memset(memory + t * share, static_cast<int>(sum & 1), share);
    sum += static_cast<uint64_t>(memory[packed_bytes / 2]);
    std::free(memory);
  });
  return read + write;
}

struct Ratios {
  std::vector<double> time, memory;
};

void report(const SparseTensor& tensor, int threads, const std::string& only,
            std::map<std::string, Ratios>& ratios) {
  const bool matrix = tensor.order() == 2;
  const Problem problem =
      waco::schedule::parse((matrix ? matrix_formats() : tensor_formats())[0].point).problem;
  const double nonzeros = static_cast<double>(tensor.num_nonzeros());
  const double yardstick = fixed_csr_seconds(tensor, problem, threads);
  fmt::print("{}: {} rows, {} nonzeros; fixed_csr {:.1f} us\n", tensor.name, tensor.dims[0],
             tensor.num_nonzeros(), yardstick * 1e6);
  fmt::print("  {:16} {:>10} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}\n", "format", "us", "ns/nz", "runs", "GB/s",
             "x bound", "memory", "fill");
  for (const NamedFormat& entry : matrix ? matrix_formats() : tensor_formats()) {
    if (std::string(entry.name).find(only) == std::string::npos) continue;
    const auto format = waco::schedule::parse(entry.point).format;
    const auto pack = [&] { return waco::codegen::pack(tensor, format, problem.op, problem.type, threads); };
    int64_t stored = 0, bytes = 0;
    try {
      const Storage storage = pack();
      stored = storage.abi().num_stored;
      bytes = storage.bytes();
    } catch (const waco::EnvironmentError&) {
    }
    if (stored == 0 || static_cast<double>(stored) > 20 * nonzeros) {
      fmt::print("  {:16} more than 20 values a nonzero\n", entry.name);
      continue;
    }
    const int64_t peak = peak_bytes(pack);
    const double seconds = median_seconds({.least = 5, .seconds = 0.3}, pack);
    const double traffic = nonzeros * 8 * (tensor.order() + 1) + static_cast<double>(bytes);
    const double memory = static_cast<double>(peak) / static_cast<double>(bytes);
    fmt::print("  {:16} {:10.1f} {:8.2f} {:8.1f} {:8.1f} {:8.1f} {:8.2f} {:8.1f}\n", entry.name,
               seconds * 1e6, seconds * 1e9 / nonzeros, seconds / yardstick, traffic / seconds * 1e-9,
               seconds / bound_seconds(tensor, bytes, threads), memory,
               static_cast<double>(stored) / nonzeros);
    Ratios& all = ratios[(matrix ? "" : "3-D ") + std::string(entry.name)];
    all.time.push_back(seconds / yardstick);
    all.memory.push_back(memory);
  }
  std::fflush(stdout);
}

double geometric_mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += std::log(std::max(value, 1e-9));
  return std::exp(sum / static_cast<double>(values.size()));
}

void summarize(const std::map<std::string, Ratios>& ratios) {
  fmt::print("\n{:20} {:>8} {:>10} {:>8} {:>12}\n", "format", "inputs", "geo. mean", "most", "most memory");
  for (const auto& [name, all] : ratios)
    fmt::print("{:20} {:8} {:10.1f} {:8.1f} {:12.2f}\n", name, all.time.size(), geometric_mean(all.time),
               *std::max_element(all.time.begin(), all.time.end()),
               *std::max_element(all.memory.begin(), all.memory.end()));
}

}  // namespace

int main(int argc, char** argv) {
  int threads = 2;
  int64_t nonzeros = 8'000'000;
  std::vector<std::string> files;
  std::string only;
  for (int n = 1; n < argc; ++n) {
    const std::string word = argv[n];
    if (word == "--only" && n + 1 < argc) {
      only = argv[++n];
      continue;
    }
    const bool option = word == "--threads" || word == "--nonzeros";
    const int64_t number = option && n + 1 < argc ? std::atoll(argv[n + 1]) : 1;
    if (number < 1 || (option && n + 1 == argc) || (!option && word[0] == '-')) {
      fmt::print(stderr, "usage: pack_perf [--threads N] [--nonzeros N] [--only TEXT] [FILE...]\n");
      return 2;
    }
    if (option) ++n;
    if (word == "--threads") threads = static_cast<int>(number);
    if (word == "--nonzeros") nonzeros = number;
    if (!option) files.push_back(word);
  }
  // Every larger array fresh from the system, as in a program that packs once and keeps the result.
  mallopt(M_MMAP_THRESHOLD, 1 << 17);
  std::map<std::string, Ratios> ratios;
  fmt::print("{} threads, f32\n", threads);
  try {
    if (files.empty()) {
      report(brick_mesh(nonzeros), threads, only, ratios);
      report(skewed_graph(nonzeros), threads, only, ratios);
    }
    for (const std::string& file : files)
      report(waco::matrix::read_tensor(file).tensor, threads, only, ratios);
  } catch (const waco::Error& error) {
    fmt::print(stderr, "pack_perf: {}\n", error.what());
    return 1;
  }
  summarize(ratios);
  return 0;
}
