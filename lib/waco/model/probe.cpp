// Micro-benchmarks of memory, arithmetic, gathers and OpenMP. Results pass through `sink` so that nothing is
// optimised away.
#include "waco/model/probe.hpp"

#include <omp.h>
#include <time.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <vector>

#include "waco/base/buffer.hpp"
#include "waco/base/machine.hpp"
#include "waco/base/random.hpp"
#include "waco/base/thread_places.hpp"
#include "waco/model/target.hpp"

namespace waco::model {

namespace baseline {
constexpr int kVectorBytes = 16;
#include "waco/model/vector_kernels.inc"
}  // namespace baseline

#if defined(__x86_64__)
WACO_TARGET_AVX2
namespace avx2 {
constexpr int kVectorBytes = 32;
#include "waco/model/vector_kernels.inc"
}  // namespace avx2
WACO_TARGET_END
WACO_TARGET_AVX512
namespace avx512 {
constexpr int kVectorBytes = 64;
#include "waco/model/vector_kernels.inc"
}  // namespace avx512
WACO_TARGET_END
#else
namespace avx2 = baseline;
namespace avx512 = baseline;
#endif

namespace {

constexpr int kTries = 4;
constexpr double kTryNs = 2.0e6;  // what one try aims at

constexpr double kProbeNs = 6.0e7;  // after which a probe makes do with the tries it has had

volatile double sink = 0;

double now_ns() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

float stream_read(const char* data, int64_t bytes, int64_t repeats) {
  switch (usable_vector_bytes()) {
    case 64:
      return avx512::stream_read(data, bytes, repeats);
    case 32:
      return avx2::stream_read(data, bytes, repeats);
    default:
      return baseline::stream_read(data, bytes, repeats);
  }
}

double fma_flops(bool f64, int64_t steps) {
  float f = 0;
  double d = 0, flops = 0;
  switch (usable_vector_bytes()) {
    case 64:
      flops = f64 ? avx512::fma_f64(steps, 0.5, &d) : avx512::fma_f32(steps, 0.5f, &f);
      break;
    case 32:
      flops = f64 ? avx2::fma_f64(steps, 0.5, &d) : avx2::fma_f32(steps, 0.5f, &f);
      break;
    default:
      flops = f64 ? baseline::fma_f64(steps, 0.5, &d) : baseline::fma_f32(steps, 0.5f, &f);
      break;
  }
  sink = f + d;
  return flops;
}

/// Processor time of the calling thread: what another process took away does not count.
double thread_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

/// Runs `work(thread)`, which does `amount` of something, on all threads at once, kTries times after a
/// warm-up, and returns the best sum of the threads' own rates; where they share CPUs, of as many as can run
/// at once.
template <typename Work>
double best_parallel_rate(int threads, double amount, Work work) {
  double best = 0;
  const double deadline = now_ns() + kProbeNs;
  for (int attempt = 0; attempt <= kTries && (attempt < 2 || now_ns() < deadline); attempt++) {
    double rate = 0;
#pragma omp parallel num_threads(threads) reduction(+ : rate)
    {
#pragma omp barrier
      const double start = thread_ns();
      work(omp_get_thread_num());
      rate += amount / std::max(1.0, thread_ns() - start);
    }
    if (attempt > 0) best = std::max(best, rate);
  }
  return best * std::min(1.0, static_cast<double>(usable_threads()) / threads);
}

/// Shortest of many short tries, a few of which fall between the interruptions of a busy machine.
template <typename Work>
double best_short_ns(Work work) {
  constexpr int kShortTries = 40;
  double best = 1e300;
  const double deadline = now_ns() + kProbeNs;
  for (int attempt = 0; attempt < kShortTries && (attempt == 0 || now_ns() < deadline); attempt++) {
    const double start = now_ns();
    work();
    best = std::min(best, now_ns() - start);
  }
  return best;
}

/// `bytes` for each thread, written once by the thread that will use them, on huge pages as the operands of
/// kernels are.
Buffer touched_memory(int64_t bytes, int threads) {
  Buffer data(static_cast<size_t>(bytes * threads));
#pragma omp parallel num_threads(threads)
  std::fill_n(data.as<char>() + bytes * omp_get_thread_num(), bytes, 0);
  return data;
}

/// Stores past the caches where the processor can, else ordinarily. `data` is aligned to a line.
void stream_write(char* data, int64_t bytes) {
#if defined(__SSE2__)
  const __m128 zero = _mm_setzero_ps();
  for (int64_t at = 0; at < bytes; at += 16) _mm_stream_ps(reinterpret_cast<float*>(data + at), zero);
  _mm_sfence();
#else
  std::fill_n(data, bytes, 0);
#endif
}

}  // namespace

int usable_vector_bytes() {
#if defined(__x86_64__)
  static const int bytes = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                                   __builtin_cpu_supports("avx512dq")
                               ? 64
                           : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? 32
                                                                                             : 16;
  return bytes;
#else
  return 16;
#endif
}

double probe_read(int64_t bytes_per_thread, int threads) {
  const int64_t step = 8 * 64;
  const int64_t bytes = std::max<int64_t>(step, bytes_per_thread / step * step);
  const ThreadsPinned pinned(threads);
  const Buffer data = touched_memory(bytes, threads);
  // About 10 bytes/ns at the least: repeats for one try.
  const int64_t repeats = std::max<int64_t>(1, static_cast<int64_t>(kTryNs * 20) / bytes);
  return best_parallel_rate(threads, static_cast<double>(bytes) * static_cast<double>(repeats),
                            [&](int t) { sink = stream_read(data.as<char>() + bytes * t, bytes, repeats); });
}

double probe_stream(int64_t bytes_per_thread, int threads) {
  const int64_t bytes = std::max<int64_t>(4096, bytes_per_thread / 4096 * 4096);
  const ThreadsPinned pinned(threads);
  const Buffer data = touched_memory(bytes, threads);
  return best_parallel_rate(threads, static_cast<double>(bytes),
                            [&](int t) { stream_write(data.as<char>() + bytes * t, bytes); });
}

double probe_fma(bool f64, int threads) {
  const ThreadsPinned pinned(threads);
  const int64_t steps = 60000;
  const double flops = fma_flops(f64, 16) / 16 * static_cast<double>(steps);
  return best_parallel_rate(threads, flops, [&](int) { fma_flops(f64, steps); });
}

double probe_gather(const float* array, int64_t bytes, int threads) {
  const ThreadsPinned pinned(threads);
  const int64_t elements = bytes / 4;
  constexpr int64_t kIndices = 1 << 14;
  std::vector<uint32_t> index(kIndices);
  Random random(bytes);
  for (auto& i : index) i = static_cast<uint32_t>(random.below(static_cast<uint64_t>(elements)));
  const int64_t repeats = bytes > (1 << 22) ? 6 : 40;
  const uint32_t mask = static_cast<uint32_t>(elements - 1);
  static uint32_t salt = 1;
  salt += 0x9e3779b9u;
  const uint32_t base = salt;
  const double loads = static_cast<double>(kIndices) * static_cast<double>(repeats);
  return best_parallel_rate(threads, loads, [&](int t) {
    float sum[4] = {};
    static thread_local uint32_t round = 0;
    for (int64_t r = 0; r < repeats; r++) {
      // Every pass shifts the indices, so that a large array is not cached by its own repetition.
      const uint32_t shift =
          (base + (++round) * 40503u * 64u + static_cast<uint32_t>(t) * 7919u * 64u) & mask;
      for (int64_t i = 0; i < kIndices; i += 4) {
        sum[0] += array[(index[i] + shift) & mask];
        sum[1] += array[(index[i + 1] + shift) & mask];
        sum[2] += array[(index[i + 2] + shift) & mask];
        sum[3] += array[(index[i + 3] + shift) & mask];
      }
    }
    sink = sum[0] + sum[1] + sum[2] + sum[3];
  });
}

double probe_region(int threads) {
  const ThreadsPinned pinned(threads);
  constexpr int kRegions = 20;
  return best_short_ns([&] {
           for (int r = 0; r < kRegions; r++) {
#pragma omp parallel num_threads(threads)
             asm volatile("" ::: "memory");
           }
         }) /
         kRegions;
}

double probe_grab(int threads) {
  const ThreadsPinned pinned(threads);
  constexpr int kChunks = 2000;
  const double ns = best_short_ns([&] {
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (int c = 0; c < kChunks; c++) asm volatile("" ::: "memory");
  });
  return ns * threads / kChunks;
}

double probe_short_loop() {
  constexpr int kRows = 20000;
  std::vector<int32_t> bounds(kRows + 1);
  Random random(7);
  for (int r = 0; r < kRows; r++) bounds[r + 1] = bounds[r] + 1 + static_cast<int32_t>(random.below(8));
  const int32_t total = bounds[kRows];
  std::vector<float> values(total, 1.0f), out(kRows);
  const auto run = [&](const std::vector<int32_t>& pos) {
    double best = 1e300;
    for (int attempt = 0; attempt <= kTries; attempt++) {
      const double start = now_ns();
      for (size_t r = 0; r + 1 < pos.size(); r++) {
        float sum = 0;
        for (int32_t p = pos[r]; p < pos[r + 1]; p++) sum += values[p];
        out[r] = sum;
      }
      best = std::min(best, now_ns() - start);
    }
    sink = out[0];
    return best;
  };
  // The additions are a chain in both; in one long row the loop never ends early.
  const double many = run(bounds);
  const double one = run({0, total});
  const double chained = one * 0.5;  // short chains overlap from row to row
  return std::max(0.5, (many - chained) / kRows);
}

}  // namespace waco::model
