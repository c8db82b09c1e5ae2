// How many distinct elements a window of consecutive accesses touches: the one curve from which the misses of
// a cache of any size follow (the footprint theory of locality: Xiang, Ding, Luo, Bao, HOTL, ASPLOS 2013).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "waco/model/access_sample.hpp"

namespace waco::model {

/// The average footprint of a cyclic trace of accesses. The trace is cyclic because a tuned kernel runs again
/// and again: what the last run left in the cache is there for the next.
class FootprintCurve {
 public:
  FootprintCurve() = default;
  /// The curve of `trace`, whose elements are in [0, num_elements).
  FootprintCurve(std::span<const int32_t> trace, int64_t num_elements);
  /// The curve of the trace whose elements are coordinates / `grain`, in [0, num_elements).
  FootprintCurve(std::span<const int64_t> coords, int64_t grain, int64_t num_elements);
  /// The same estimated from a sample. `grain` at most AccessSample::kBlock / 2.
  static FootprintCurve estimate(const AccessSample& sample, int64_t grain);

  /// Average number of distinct elements in a window of `window` consecutive accesses.
  double distinct(double window) const;
  /// Share of the accesses whose element was not accessed during the last `window` accesses.
  double miss_ratio(double window) const;
  /// Distinct elements of the whole trace.
  double num_distinct() const { return num_distinct_; }
  double length() const { return length_; }
  /// Share of the far accesses (not repeated within a few thousand) whose left neighbour was accessed shortly
  /// before, so that hardware prefetchers see a stream: 0 random .. 1 sequential.
  double sequential() const { return sequential_; }

 private:
  struct Gaps;
  struct Stretch;
  template <typename ElementAt>
  void trace(int64_t length, int64_t num_elements, ElementAt element_at);
  void finish(Gaps& gaps, double share);

  double length_ = 0;
  double num_distinct_ = 0;
  double sequential_ = 1;
  std::vector<double> distinct_at_;  ///< by window bin
  std::vector<double> missing_at_;   ///< share of accesses with a longer gap, by window bin
};

}  // namespace waco::model
