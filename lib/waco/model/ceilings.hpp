// What this machine can do at most: bandwidths, arithmetic peak, gather rates and the costs of OpenMP,
// measured once and cached. The closed-form model divides counts of the pattern by these rates.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace waco::model {

/// A rate that depends on the size of the memory touched; between its points it is interpolated in log-log
/// scale, outside of them it is that of the nearest point.
struct RateCurve {
  struct Point {
    double bytes = 0;  ///< memory touched
    double rate = 0;   ///< per nanosecond
  };
  std::vector<Point> points;  ///< by increasing bytes
  double at(double bytes) const;
};

inline constexpr int kNumMemoryLevels = 4;
/// L1, L2, L3, DRAM.
extern const std::array<const char*, kNumMemoryLevels> kMemoryLevelNames;

/// One level of the memory hierarchy.
struct MemoryLevel {
  int64_t capacity_bytes = 0;  ///< of one core; L3: of all cores together; DRAM: unlimited
  bool shared = false;         ///< whether the cores share the capacity
  double read_one = 0;         ///< bytes/ns (GB/s) streamed by one thread
  double read_all = 0;         ///< bytes/ns by all threads together
};

/// Everything the closed-form model knows about the machine. Rates are per nanosecond, costs in nanoseconds.
struct Ceilings {
  std::string cpu;        ///< model name
  int threads = 1;        ///< what "all" means below
  int vector_bytes = 16;  ///< widest usable vectors: 16, 32 or 64
  bool measured = false;  ///< false: the built-in defaults
  /// Threads waited for processors then, OpenMP is as slow as if they did, or cores share their arithmetic.
  bool disturbed = false;
  std::array<MemoryLevel, kNumMemoryLevels> levels;
  double fma_f32_one = 0, fma_f32_all = 0;  ///< flops/ns (GFLOP/s), a multiply-add being two
  double fma_f64_one = 0, fma_f64_all = 0;
  double stream_one = 0, stream_all = 0;  ///< bytes/ns stored past the caches
  RateCurve gather_one;                   ///< random f32 loads/ns by one thread, indices streamed
  RateCurve gather_all;                   ///< by all threads together over one shared array
  double region_ns = 0;                   ///< an OpenMP parallel region on all threads, empty
  double grab_ns = 0;  ///< thread time of fetching one dynamic chunk while all threads do so
  double short_loop_ns =
      0;  ///< extra time of one short inner loop of unpredictable length (a mispredicted exit)

  /// The nearest level in which `bytes`, touched by threads on `cores` cores together, stay.
  int level_of(double bytes, int cores) const;
  /// Bytes/ns that `n` threads stream from a level.
  double read(int level, int n) const;
  /// Flops/ns of `n` threads.
  double fma(bool f64, int n) const;
  /// Bytes/ns that `n` threads store past the caches.
  double stream(int n) const;
  /// Random loads/ns of `n` threads over an array of `bytes`.
  double gather(double bytes, int n) const;
  /// What code with vectors of at most `bytes` reaches: a compiler may be told to use less than the machine
  /// has.
  Ceilings with_vectors_of(int bytes) const;
};

/// Plausible numbers of a server core of about 2020, for when nothing can be measured.
Ceilings default_ceilings(int threads);

/// Bytes each of `threads` threads on `cores` cores reads to stay in a level (L1, L2 and so on by number)
/// and, where the level has room for that, out of the one before it.
int64_t read_probe_bytes(const Ceilings& ceilings, int level, int threads, int cores);

/// Measures (takes one to three seconds); `threads` > 0. Never throws for a noisy or small machine: what
/// can't be measured keeps its default.
Ceilings measure_ceilings(int threads);

/// The cached ceilings of this machine and thread count, or else the defaults: nothing is measured.
Ceilings load_ceilings(int threads, const std::filesystem::path& folder);

/// The cached ceilings of this machine (CPU, caches, cores), vector width and thread count, of as many CPUs
/// and as much L3 behind the threads, measured and stored first when there are none, or when they are
/// unreadable or of another version; those that were disturbed count for ten minutes. `folder` is the cache
/// folder; one that is empty or can't be written only means that the next run measures again.
Ceilings load_or_measure_ceilings(int threads, const std::filesystem::path& folder);

nlohmann::json to_json(const Ceilings& ceilings);
/// Throws UsageError when a field is missing or of the wrong kind, or a number is of no machine.
Ceilings ceilings_from_json(const nlohmann::json& json);

}  // namespace waco::model
