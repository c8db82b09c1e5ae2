// The space of all legal points of one problem on one shape: sampling, neighbours and structured starting
// points.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "waco/base/random.hpp"
#include "waco/schedule/limits.hpp"
#include "waco/schedule/super_schedule.hpp"

namespace waco::schedule {

/// Families of formats that a stratified sample draws from; schedules are drawn freely within each.
enum class Stratum : uint8_t {
  kUniform,       ///< any legal point
  kCsrLike,       ///< whole indices in U and C levels: CSR, CSC, DCSR, CSF
  kBlocked,       ///< dense inner blocks r x c (x d) of small splits: row blocks, BCSR, column blocks
  kSliced,        ///< ELL and SELL-C-sigma
  kSparseBlocks,  ///< large outer blocks with compressed or coordinate levels inside
  kCoo,           ///< tuples: COO and HiCOO
};
inline constexpr std::array<Stratum, 6> kStrata{Stratum::kUniform, Stratum::kCsrLike,      Stratum::kBlocked,
                                                Stratum::kSliced,  Stratum::kSparseBlocks, Stratum::kCoo};
std::string_view name(Stratum stratum);  ///< "uniform", "csr_like", ...

/// Points returned are legal, canonical, in `limits.subspace`, split no index at or beyond its dimension, and
/// use at most `limits.max_threads` threads. What a pattern's storage excludes is exclusion_reason's to say.
class ScheduleSpace {
 public:
  /// `dims`: [sparse_order(problem.op)]. Throws UsageError when their number or the problem's size is wrong.
  ScheduleSpace(const Problem& problem, std::vector<int64_t> dims, const SpaceLimits& limits);

  const Problem& problem() const { return problem_; }
  const std::vector<int64_t>& dims() const { return dims_; }
  const SpaceLimits& limits() const { return limits_; }

  /// Splits of a mode that are smaller than its dimension, ascending; 1 (not split) is always one of them.
  const std::vector<int32_t>& splits(int mode) const { return splits_[static_cast<size_t>(mode)]; }
  /// Tiles smaller than the size of the dense index, ascending, after 0 (not tiled).
  const std::vector<int32_t>& tiles() const { return tiles_; }

  /// In slices of `slice` rows: all rows, or a thread's where threads would share cache lines of the result,
  /// and smaller windows are parts of these. Threads then have hardly a window in common: none where ranges
  /// are static, there are two threads and the parts are equal.
  int64_t largest_sort_window(int32_t slice) const;

  /// Every choice drawn uniformly among the legal ones, from the format to the threads.
  SuperSchedule sample_uniform(Random& random) const;
  /// A format of the stratum with a schedule that mostly follows it. On shapes too small for the stratum the
  /// sample falls back to a smaller member of it, or to a uniform one.
  SuperSchedule sample_stratified(Random& random, Stratum stratum) const;

  /// All points one change away: a split, a level's kind, two adjacent levels or loops, the dense tile, the
  /// parallel loop, its policy, chunk or threads, unroll, prefetch, the sort window. Repaired to legal
  /// points, distinct, never `point` itself; in a fixed order.
  std::vector<SuperSchedule> neighbours(const SuperSchedule& point) const;

  /// A few hundred points of formats known to work, distinct and in a fixed order; csr_point is the first.
  std::vector<SuperSchedule> enumerate_structured() const;

  /// All skewed points of the usual sizes and schedules, in a fixed order; none but of spmv.
  std::vector<SuperSchedule> enumerate_skewed() const;

  /// The closest point of this space, after a change that may have broken a rule or of a point of another
  /// space; nullopt when there is none.
  /// Where only format or schedule varies, the other half is replaced by the default one.
  std::optional<SuperSchedule> repaired(SuperSchedule point) const;

 private:
  void repair_sort(FormatSchedule& format) const;  ///< a multiple of the slice, as large as may be at most

  Problem problem_;
  std::vector<int64_t> dims_;
  SpaceLimits limits_;
  std::vector<std::vector<int32_t>> splits_;
  std::vector<int32_t> tiles_;
};

}  // namespace waco::schedule
