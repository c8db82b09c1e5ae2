// The accesses to a few of the coordinates of a mode, from which curves of the whole trace are estimated:
// spatially sampled reuse (SHARDS: Waldspurger, Park, Garthwaite, Ahmad, FAST 2015).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace waco::model {

/// Whole blocks of neighbouring coordinates, one out of every few, so that the same sample serves elements of
/// any small grain, and tells whether neighbours follow each other.
struct AccessSample {
  static constexpr int kBlockBits = 6;
  static constexpr int64_t kBlock = int64_t{1} << kBlockBits;

  int64_t length = 0;           ///< accesses of the whole trace
  int64_t dim = 0;              ///< coordinates there are
  std::vector<int64_t> starts;  ///< first coordinate of each block that is kept, ascending
  std::vector<int32_t> times;   ///< of each access that is kept, ascending
  std::vector<int32_t> places;  ///< its coordinate: number of the block * kBlock + place in the block
};

/// Which blocks of `dim` coordinates to keep, so that a trace of `length` accesses leaves about 2^15: one,
/// drawn at random, of every stretch. Their starts, ascending; empty when all should be kept.
std::vector<int64_t> sampled_blocks(int64_t dim, int64_t length);

/// The accesses to these blocks when the coordinates are visited in the given order; `visits` empty: as they
/// are.
AccessSample sample_accesses(std::span<const int64_t> coords, int64_t dim, std::span<const int32_t> visits,
                             std::vector<int64_t> blocks);

/// The same of a mode whose coordinates ascend as they are visited, from the starts of its rows [rows + 1].
AccessSample sample_rows(std::span<const int64_t> row_pointers, std::vector<int64_t> blocks);

/// About the same when slice follows slice, `slices[n]` that of nonzero n, and those of one slice come as
/// they are; `slice_pointers` [slices + 1] has their starts. Nothing is sorted, and only what is kept is
/// looked at where `coords_ascend`: at what time within its slice an access comes is taken from its share of
/// the nonzeros before it.
AccessSample sample_slices(std::span<const int64_t> coords, bool coords_ascend, int64_t dim,
                           std::span<const int64_t> slices, std::span<const int64_t> slice_pointers,
                           std::vector<int64_t> blocks);

}  // namespace waco::model
