// Forward: each block of outputs is summed in a buffer that stays in cache, offset after offset. Gradients of
// weights: a number of chunks of blocks that depends on the map alone, each with its own sum, added in order.
#include "waco/model/conv/convolution.hpp"

#include <algorithm>
#include <vector>

#include "waco/model/conv/gemm.hpp"

namespace waco::model {
namespace {

constexpr int kBlock = KernelMap::kBlock;
constexpr int64_t kMaxChunks = 16;
constexpr int64_t kMeanRows = 4096;

int at_least_one(int threads) {
  return std::max(threads, 1);
}

/// [rows, columns] with every row lengthened by zeros to `padded`.
std::vector<float> with_padded_rows(const float* matrix, int64_t rows, int columns, int padded) {
  std::vector<float> result(rows * padded, 0.0f);
  for (int64_t r = 0; r < rows; ++r) std::copy_n(matrix + r * columns, columns, result.data() + r * padded);
  return result;
}

void write_rows(const float* padded_rows, int64_t rows, int columns, int padded, bool relu, float* y) {
  for (int64_t r = 0; r < rows; ++r) {
    const float* from = padded_rows + r * padded;
    float* to = y + r * columns;
    if (relu)
      for (int c = 0; c < columns; ++c) to[c] = from[c] > 0 ? from[c] : 0;
    else
      std::copy_n(from, columns, to);
  }
}

/// gw [rows, columns] = the sum of `chunks` matrices [rows, padded], first to last.
void add_chunks(const std::vector<float>& sums, int64_t chunks, int64_t rows, int columns, int padded,
                float* gw) {
  for (int64_t r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c) {
      float sum = 0;
      for (int64_t chunk = 0; chunk < chunks; ++chunk) sum += sums[(chunk * rows + r) * padded + c];
      gw[r * columns + c] = sum;
    }
}

/// Rows of a gradient that the kernels can read as whole vectors: `gy` itself, or a padded copy in `scratch`.
const float* padded_block(const float* gy, int64_t rows, int columns, int padded,
                          std::vector<float>& scratch) {
  if (columns == padded) return gy;
  for (int64_t r = 0; r < rows; ++r) std::copy_n(gy + r * columns, columns, scratch.data() + r * padded);
  return scratch.data();
}

int64_t chunks_of(int64_t blocks) {
  return std::clamp<int64_t>(blocks / 4, 1, kMaxChunks);
}

}  // namespace

void convolve(const KernelMap& map, const float* x, const float* w, int cin, int cout, bool relu, float* y,
              int threads) {
  const ConvKernels& kernels = conv_kernels();
  const int padded = kernels.padded(cout);
  const int64_t offsets = map.num_offsets;
  const std::vector<float> weights = with_padded_rows(w, offsets * cin, cout, padded);
#pragma omp parallel num_threads(at_least_one(threads))
  {
    std::vector<float> sums(kBlock * padded);
#pragma omp for schedule(dynamic, 4)
    for (int64_t b = 0; b < map.num_blocks(); ++b) {
      std::fill(sums.begin(), sums.end(), 0.0f);
      for (int64_t k = 0; k < offsets; ++k) {
        const int64_t first = map.segments[b * offsets + k], last = map.segments[b * offsets + k + 1];
        if (first < last)
          kernels.multiply(x, cin, &map.in[first], &map.out[first], static_cast<int>(last - first),
                           &weights[k * cin * padded], padded, sums.data());
      }
      const int64_t rows = std::min<int64_t>(kBlock, map.num_out - b * kBlock);
      write_rows(sums.data(), rows, cout, padded, relu, y + b * kBlock * cout);
    }
  }
}

void convolve_grad_input(const KernelMap& back, const float* gy, const float* w, int cin, int cout, float* gx,
                         int threads) {
  std::vector<float> exchanged(static_cast<size_t>(back.num_offsets) * cin * cout);
  for (int64_t k = 0; k < back.num_offsets; ++k)
    for (int64_t i = 0; i < cin; ++i)
      for (int64_t o = 0; o < cout; ++o) exchanged[(k * cout + o) * cin + i] = w[(k * cin + i) * cout + o];
  convolve(back, gy, exchanged.data(), cout, cin, false, gx, threads);
}

void convolve_grad_weight(const KernelMap& map, const float* x, const float* gy, int cin, int cout, float* gw,
                          int threads) {
  const ConvKernels& kernels = conv_kernels();
  const int padded = kernels.padded(cout);
  const int64_t offsets = map.num_offsets, blocks = map.num_blocks(), chunks = chunks_of(blocks);
  const int64_t weights = offsets * cin * padded;
  std::vector<float> sums(chunks * weights, 0.0f);
#pragma omp parallel for num_threads(at_least_one(threads)) schedule(dynamic, 1)
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    std::vector<float> scratch(padded == cout ? 0 : kBlock * padded, 0.0f);
    for (int64_t b = blocks * chunk / chunks; b < blocks * (chunk + 1) / chunks; ++b) {
      const int64_t rows = std::min<int64_t>(kBlock, map.num_out - b * kBlock);
      const float* g = padded_block(gy + b * kBlock * cout, rows, cout, padded, scratch);
      for (int64_t k = 0; k < offsets; ++k) {
        const int64_t first = map.segments[b * offsets + k], last = map.segments[b * offsets + k + 1];
        if (first < last)
          kernels.outer(x, cin, &map.in[first], g, &map.out[first], static_cast<int>(last - first),
                        &sums[chunk * weights + k * cin * padded], padded);
      }
    }
  }
  add_chunks(sums, chunks, offsets * cin, cout, padded, gw);
}

void convolve_windows(const WindowMap& map, const float* w, int cout, bool relu, float* y, int threads) {
  const ConvKernels& kernels = conv_kernels();
  const int padded = kernels.padded(cout);
  const std::vector<float> weights = with_padded_rows(w, map.num_offsets, cout, padded);
#pragma omp parallel num_threads(at_least_one(threads))
  {
    std::vector<float> sum(padded);
#pragma omp for schedule(static)
    for (int64_t s = 0; s < map.num_sites(); ++s) {
      const int64_t first = map.first[s];
      kernels.sum_rows(map.offsets.data() + first, static_cast<int>(map.first[s + 1] - first), weights.data(),
                       padded, sum.data());
      write_rows(sum.data(), 1, cout, padded, relu, y + s * cout);
    }
  }
}

void convolve_windows_grad_weight(const WindowMap& map, const float* gy, int cout, float* gw, int threads) {
  const ConvKernels& kernels = conv_kernels();
  const int padded = kernels.padded(cout);
  const int64_t sites = map.num_sites(), chunks = chunks_of((sites + kBlock - 1) / kBlock);
  const int64_t weights = static_cast<int64_t>(map.num_offsets) * padded;
  std::vector<float> sums(chunks * weights, 0.0f);
#pragma omp parallel for num_threads(at_least_one(threads)) schedule(dynamic, 1)
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    std::vector<float> scratch(padded, 0.0f);
    for (int64_t s = sites * chunk / chunks; s < sites * (chunk + 1) / chunks; ++s) {
      const float* g = padded_block(gy + s * cout, 1, cout, padded, scratch);
      const int64_t first = map.first[s];
      kernels.add_to_rows(map.offsets.data() + first, static_cast<int>(map.first[s + 1] - first), g, padded,
                          &sums[chunk * weights]);
    }
  }
  add_chunks(sums, chunks, map.num_offsets, cout, padded, gw);
}

void column_means(const float* y, int64_t rows, int columns, float* mean, int threads) {
  const int64_t blocks = (rows + kMeanRows - 1) / kMeanRows;
  std::vector<double> sums(blocks * columns, 0.0);
#pragma omp parallel for num_threads(at_least_one(threads)) schedule(static)
  for (int64_t b = 0; b < blocks; ++b)
    for (int64_t r = b * kMeanRows; r < std::min(rows, (b + 1) * kMeanRows); ++r)
      for (int c = 0; c < columns; ++c) sums[b * columns + c] += static_cast<double>(y[r * columns + c]);
  for (int c = 0; c < columns; ++c) {
    double sum = 0;
    for (int64_t b = 0; b < blocks; ++b) sum += sums[b * columns + c];
    mean[c] = rows > 0 ? static_cast<float>(sum / static_cast<double>(rows)) : 0.0f;
  }
}

}  // namespace waco::model
