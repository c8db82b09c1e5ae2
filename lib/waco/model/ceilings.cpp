// Measuring, defaulting and interpolating the machine's ceilings.
#include "waco/model/ceilings.hpp"

#include <algorithm>
#include <cmath>
#include <new>

#include "waco/base/buffer.hpp"
#include "waco/base/machine.hpp"
#include "waco/model/probe.hpp"

namespace waco::model {

const std::array<const char*, kNumMemoryLevels> kMemoryLevelNames{"L1", "L2", "L3", "DRAM"};

namespace {

constexpr int64_t kMinGatherBytes = int64_t{8} << 10;
constexpr int64_t kMaxGatherBytes = int64_t{256} << 20;
/// What a core has to itself it has beside others, at this share of the rate or more: their probes being
/// disturbed must not look like contention. Threads of one core share it.
constexpr double kAloneKept = 0.9;
/// Of that rate cores that are not disturbed reach more, at the clocks that all of them allow, too.
constexpr double kDisturbedShare = 0.6;

/// All of the L3 behind the threads. Not by sysconf: on AMD it gives that of the whole socket, of which a
/// core reaches the slice beside it. 0 where it is not known.
int64_t l3_bytes(int threads) {
  for (const Cache& cache : describe_machine().caches)
    if (cache.level == 3) return cache.bytes * std::max(1, num_l3_caches(threads));
  return 0;
}

void set_cache_sizes(Ceilings& c) {
  auto& levels = c.levels;
  levels[0].capacity_bytes = 32 << 10;
  levels[1].capacity_bytes = 1 << 20;
  levels[2].capacity_bytes = 8 << 20;
  for (const Cache& cache : describe_machine().caches) {
    if (cache.level < 1 || cache.level > 2 || cache.bytes <= 0) continue;
    levels[static_cast<size_t>(cache.level - 1)].capacity_bytes = cache.bytes;
  }
  if (const int64_t bytes = l3_bytes(c.threads); bytes > 0) levels[2].capacity_bytes = bytes;
  levels[2].capacity_bytes =
      std::clamp(levels[2].capacity_bytes, 2 * levels[1].capacity_bytes,
                 std::max(2 * levels[1].capacity_bytes, kMaxL3PerThread * std::max(1, c.threads)));
  levels[3].capacity_bytes = INT64_MAX;
  levels[2].shared = levels[3].shared = true;
}

void measure_arithmetic(Ceilings& c) {
  const int cores = num_cores(c.threads);
  const auto measure = [&](bool f64, double& one, double& all) {
    one = all = probe_fma(f64, 1);
    if (c.threads == 1) return;
    const double found = probe_fma(f64, c.threads);
    all = std::max({one, found, kAloneKept * cores * one});
    c.disturbed = c.disturbed || (c.threads <= usable_threads() && found < kDisturbedShare * cores * one);
  };
  measure(false, c.fma_f32_one, c.fma_f32_all);
  measure(true, c.fma_f64_one, c.fma_f64_all);
}

void measure_reads(Ceilings& c) {
  const int64_t limit = available_memory_bytes() / 4;
  for (int level = 0; level < kNumMemoryLevels; level++) {
    const auto measure = [&](int threads, double& rate) {
      int64_t bytes = read_probe_bytes(c, level, threads, num_cores(threads));
      if (bytes * threads > limit) return;
      // Not out of an L3 of which only a part is counted on, either.
      if (level == 3) bytes = std::clamp(2 * l3_bytes(threads) / threads, bytes, limit / threads);
      if (const double found = probe_read(bytes, threads); found > 0) rate = found;
    };
    measure(1, c.levels[level].read_one);
    measure(c.threads, c.levels[level].read_all);
  }
  const int cores = num_cores(c.threads);
  for (int level = 0; level < 2; level++)
    c.levels[level].read_all =
        std::max(c.levels[level].read_all, kAloneKept * cores * c.levels[level].read_one);
  for (int level = 2; level < kNumMemoryLevels; level++)
    c.levels[level].read_all = std::max(c.levels[level].read_all, c.levels[level].read_one);
  // Noise must not make an outer level look faster than an inner one.
  for (int level = kNumMemoryLevels - 2; level >= 0; level--) {
    auto& near = c.levels[level];
    const auto& far = c.levels[level + 1];
    near.read_one = std::max(near.read_one, far.read_one);
    near.read_all = std::max(near.read_all, far.read_all);
  }
}

void measure_streams(Ceilings& c) {
  const int64_t bytes = (int64_t{64} << 20) / c.threads;
  if (4 * bytes * c.threads > available_memory_bytes()) return;
  if (const double found = probe_stream(bytes, 1); found > 0) c.stream_one = found;
  if (const double found = probe_stream(bytes, c.threads); found > 0) c.stream_all = found;
  c.stream_all = std::max(c.stream_all, c.stream_one);
}

void measure_gathers(Ceilings& c) {
  int64_t largest = kMaxGatherBytes;
  while (largest > kMinGatherBytes && largest > available_memory_bytes() / 4) largest /= 4;
  if (largest < kMinGatherBytes) return;
  const Buffer array(static_cast<size_t>(largest));
  // A zero page mapped everywhere would stay in L1: every page must be written once, by all threads, as they
  // do with operands.
#pragma omp parallel for num_threads(c.threads) schedule(static)
  for (int64_t at = 0; at < largest; at += 4096) array.as<volatile char>()[at] = 0;
  const auto curve = [&](int threads) {
    RateCurve result;
    for (int64_t bytes = kMinGatherBytes; bytes <= largest; bytes *= bytes < (1 << 20) ? 8 : 4)
      result.points.push_back(
          {static_cast<double>(bytes), probe_gather(array.as<const float>(), bytes, threads)});
    for (size_t p = result.points.size(); p-- > 1;)
      result.points[p - 1].rate = std::max(result.points[p - 1].rate, result.points[p].rate);
    return result;
  };
  c.gather_one = curve(1);
  c.gather_all = c.threads > 1 ? curve(c.threads) : c.gather_one;
}

double between(double one, double all, int n, int threads) {
  if (n <= 1 || threads <= 1) return one;
  if (n >= threads) return all;
  return one + (all - one) * (n - 1) / (threads - 1);
}

}  // namespace

double RateCurve::at(double bytes) const {
  if (points.empty()) return 1;
  if (bytes <= points.front().bytes) return points.front().rate;
  if (bytes >= points.back().bytes) return points.back().rate;
  size_t p = 1;
  while (points[p].bytes < bytes) p++;
  const Point &a = points[p - 1], &b = points[p];
  const double share = std::log(bytes / a.bytes) / std::log(b.bytes / a.bytes);
  return a.rate * std::pow(b.rate / a.rate, share);
}

int Ceilings::level_of(double bytes, int cores) const {
  const auto holds = [&](const MemoryLevel& level) {
    return bytes <= static_cast<double>(level.capacity_bytes) * (level.shared ? 1 : cores);
  };
  int level = 0;
  while (level + 1 < kNumMemoryLevels && !holds(levels[level])) ++level;
  return level;
}

double Ceilings::read(int level, int n) const {
  return between(levels[level].read_one, levels[level].read_all, n, threads);
}

double Ceilings::fma(bool f64, int n) const {
  return f64 ? between(fma_f64_one, fma_f64_all, n, threads) : between(fma_f32_one, fma_f32_all, n, threads);
}

double Ceilings::stream(int n) const {
  return between(stream_one, stream_all, n, threads);
}

double Ceilings::gather(double bytes, int n) const {
  return between(gather_one.at(bytes), gather_all.at(bytes), n, threads);
}

Ceilings Ceilings::with_vectors_of(int bytes) const {
  Ceilings narrow = *this;
  if (bytes >= vector_bytes) return narrow;
  const double share = static_cast<double>(bytes) / vector_bytes;
  narrow.vector_bytes = bytes;
  for (double* rate : {&narrow.fma_f32_one, &narrow.fma_f32_all, &narrow.fma_f64_one, &narrow.fma_f64_all,
                       &narrow.levels[0].read_one, &narrow.levels[0].read_all})
    *rate *= share;
  return narrow;
}

Ceilings default_ceilings(int threads) {
  Ceilings c;
  c.cpu = describe_machine().cpu_model;
  c.threads = std::max(1, threads);
  c.vector_bytes = usable_vector_bytes();
  set_cache_sizes(c);
  const double n = c.threads;
  const std::array<double, kNumMemoryLevels> one{180, 90, 50, 14};
  const std::array<double, kNumMemoryLevels> scaling{n, n, std::min(n, 16.0), std::min(n, 6.0)};
  for (int level = 0; level < kNumMemoryLevels; level++) {
    c.levels[level].read_one = one[level];
    c.levels[level].read_all = one[level] * scaling[level];
  }
  c.fma_f32_one = 3.0 * c.vector_bytes;
  c.fma_f64_one = c.fma_f32_one / 2;
  c.fma_f32_all = c.fma_f32_one * n;
  c.fma_f64_all = c.fma_f64_one * n;
  c.stream_one = c.levels[3].read_one;
  c.stream_all = c.levels[3].read_all;
  c.gather_one.points = {{16e3, 3.4}, {256e3, 1.7}, {4e6, 1.2}, {16e6, 0.4}, {128e6, 0.11}, {1e9, 0.08}};
  c.gather_all = c.gather_one;
  for (auto& point : c.gather_all.points) point.rate *= std::min(n, 8.0);
  c.region_ns = c.threads > 1 ? 1500 + 20 * n : 100;
  c.grab_ns = c.threads > 1 ? 25 * n : 10;
  c.short_loop_ns = 5;
  return c;
}

int64_t read_probe_bytes(const Ceilings& c, int level, int threads, int cores) {
  const auto capacity = [&](int l) {
    return c.levels[l].shared ? c.levels[l].capacity_bytes / threads : c.levels[l].capacity_bytes;
  };
  if (level == 0) return capacity(0) / 2;
  if (level == 3) return 2 * (capacity(2) + capacity(1));
  const int64_t bytes = std::min(capacity(level) / 2, capacity(level - 1) * 6);
  if (level == 1) return bytes;
  // Of an L3 that is hardly more a core than the L2, half a share would stay in the L2.
  const int64_t l2 = capacity(1) * cores / threads;
  return l2 / 2 <= capacity(2) ? std::max(bytes, l2 * 3 / 2) : bytes;
}

Ceilings measure_ceilings(int threads) {
  Ceilings c = default_ceilings(threads);
  try {
    measure_arithmetic(c);
    measure_reads(c);
    measure_streams(c);
    measure_gathers(c);
    // A machine with more runnable threads than cores shows its scheduler here, not OpenMP: bounded.
    const bool fits = c.threads <= usable_threads();  // else they always wait for each other
    const auto take_bounded = [&](double& expected_ns, double found_ns) {
      c.disturbed = c.disturbed || (fits && found_ns > 4 * expected_ns);
      expected_ns = std::min(found_ns, 4 * expected_ns);
    };
    take_bounded(c.region_ns, probe_region(c.threads));
    take_bounded(c.grab_ns, probe_grab(c.threads));
    c.short_loop_ns = std::clamp(probe_short_loop(), 1.0, 20.0);
    c.measured = true;
  } catch (const std::bad_alloc&) {
    // The defaults of what was not reached remain.
  }
  return c;
}

}  // namespace waco::model
