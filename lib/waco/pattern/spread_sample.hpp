// Samples of nonzeros from all over a tensor: short runs for what is coarse, long windows for what a cache
// sees.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "waco/matrix/sparse_tensor.hpp"
#include "waco/pattern/stamp_set.hpp"

namespace waco::pattern {

/// Coordinates of at most 65536 nonzeros in runs of 8, evenly spread, in their order: [order][samples].
std::vector<std::vector<int64_t>> sample_runs(const matrix::SparseTensor& tensor, int threads);

/// How often sampled values come again.
struct Concentration {
  static constexpr std::array<int64_t, 3> kTop{16, 256, 4096};
  int64_t samples = 0;
  int64_t distinct = 0;
  double pairs = 0;              ///< ordered pairs of samples with equal values
  int64_t most = 0;              ///< samples of the most frequent value
  std::array<int64_t, 3> top{};  ///< samples of the kTop most frequent values

  /// Chance that two samples are equal, times the number of values there are: 1 when all are equally likely.
  double relative_to(double num_values) const;
};
/// Values are below 2^64 - 1.
Concentration concentration(const std::vector<uint64_t>& values);

/// Distinct coordinates >> `shift` of `mode` in windows of `window` consecutive nonzeros (a power of two, up
/// to 2^17; some are sampled), per nonzero.
double distinct_in_windows(const matrix::SparseTensor& tensor, int mode, int shift, int64_t window,
                           StampSet& seen);

/// Stamps of the tables that tasks get.
inline constexpr int kTaskTableBits = 16;
/// Runs all tasks on `threads` threads, each with a table of its own.
void run_tasks(const std::vector<std::function<void(StampSet&)>>& tasks, int threads);

}  // namespace waco::pattern
