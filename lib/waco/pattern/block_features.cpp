// Blocks are counted down a tree of shapes: the occupied blocks of a shape are the input of the larger ones,
// so that clustered patterns shrink fast.
#include "waco/pattern/block_features.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "waco/base/error.hpp"
#include "waco/base/parallel.hpp"
#include "waco/pattern/row_panels.hpp"
#include "waco/pattern/stamp_set.hpp"

namespace waco::pattern {
namespace {

struct BlockShape {
  int rows, cols;
  int parent;  ///< number of a shape whose rows and cols divide these
};

/// In depth-first order: while a shape is counted, the blocks of all its ancestors are still there. Shapes of
/// more than 16 rows are cut where the panel ends.
constexpr std::array<BlockShape, 39> kShapes{{
    {1, 1, -1},   {1, 2, 0},    {1, 4, 1},     {1, 8, 2},    {1, 16, 3},   {1, 64, 4},     {1, 256, 5},
    {1, 1024, 6}, {1, 4096, 7}, {1, 16384, 8}, {1, 3, 0},    {1, 6, 10},   {2, 1, 0},      {2, 2, 12},
    {2, 4, 13},   {2, 8, 14},   {4, 2, 13},    {8, 2, 16},   {4, 1, 12},   {4, 4, 18},     {4, 8, 19},
    {4, 16, 20},  {8, 8, 20},   {16, 16, 22},  {32, 32, 23}, {64, 64, 24}, {128, 128, 25}, {256, 256, 26},
    {8, 4, 19},   {16, 4, 28},  {8, 1, 18},    {16, 1, 30},  {32, 1, 31},  {64, 1, 32},    {256, 1, 33},
    {3, 1, 0},    {3, 3, 35},   {6, 6, 36},    {6, 1, 35},
}};
constexpr std::array<int64_t, 8> kGaps{1, 2, 4, 16, 64, 1024, 16384, INT64_MAX};
constexpr int kTableBits = 15;

constexpr size_t depth_of(size_t shape) {
  size_t depth = 0;
  for (int s = static_cast<int>(shape); kShapes[static_cast<size_t>(s)].parent >= 0;
       s = kShapes[static_cast<size_t>(s)].parent)
    ++depth;
  return depth;
}

constexpr size_t max_depth() {
  size_t depth = 0;
  for (size_t s = 0; s < kShapes.size(); ++s) depth = std::max(depth, depth_of(s));
  return depth;
}

/// What was found in one panel, or in all of them.
struct PanelCounts {
  std::array<int64_t, kShapes.size()> blocks{};
  std::array<int64_t, kGaps.size()> gaps{};  ///< between neighbours in a row
  int64_t rows = 0;                          ///< with nonzeros
  int64_t repeated = 0;                      ///< columns that are in the row before, too
  int64_t shifted = 0;                       ///< columns whose left neighbour is in the row before

  void operator+=(const PanelCounts& other) {
    for (size_t s = 0; s < blocks.size(); ++s) blocks[s] += other.blocks[s];
    for (size_t g = 0; g < gaps.size(); ++g) gaps[g] += other.gaps[g];
    rows += other.rows;
    repeated += other.repeated;
    shifted += other.shifted;
  }
};

/// Writes the distinct blocks of kRows x kCols blocks of `in` to `out`; returns their number. `kSorted`: rows
/// one by one, so that equal blocks are neighbours.
template <int kRows, int kCols, bool kSorted = false>
size_t coarsen(const std::vector<uint64_t>& in, size_t size, uint64_t* out, StampSet& seen) {
  size_t found = 0;
  uint64_t previous = ~uint64_t{0};
  for (size_t n = 0; n < size; ++n) {
    const uint64_t key = ((in[n] >> kItemBits) / kRows << kItemBits) | ((in[n] & kItemMask) / kCols);
    out[found] = key;
    found += kSorted ? key != previous : seen.insert(key);
    previous = key;
  }
  return found;
}

class PanelCounter {
 public:
  PanelCounts count(const matrix::SparseTensor& matrix, const RowPanel& panel) {
    PanelCounts counts;
    copy_panel(matrix, panel, blocks_[0]);
    const std::vector<uint64_t>& keys = blocks_[0];
    counts.blocks[0] = static_cast<int64_t>(keys.size());
    for (size_t shape = 1; shape < kShapes.size(); ++shape)
      counts.blocks[shape] = count_blocks(counts, shape);
    count_gaps(keys, counts);
    count_repeats(keys, counts);
    return counts;
  }

 private:
  int64_t count_blocks(const PanelCounts& counts, size_t shape) {
    const auto parent = static_cast<size_t>(kShapes[shape].parent);
    const std::vector<uint64_t>& in = blocks_[depth_of(parent)];
    const auto size = static_cast<size_t>(counts.blocks[parent]);
    std::vector<uint64_t>& out = blocks_[depth_of(shape)];
    if (out.size() <= size) out.resize(size + 1);
    seen_.restart();
    const int rows = kShapes[shape].rows / kShapes[parent].rows;
    const int cols = kShapes[shape].cols / kShapes[parent].cols;
    return static_cast<int64_t>(dispatch(rows, cols, kShapes[shape].rows == 1, in, size, out.data()));
  }

  size_t dispatch(int rows, int cols, bool sorted, const std::vector<uint64_t>& in, size_t size,
                  uint64_t* out) {
    switch (rows * 10 + cols) {
      case 12:
        return sorted ? coarsen<1, 2, true>(in, size, out, seen_) : coarsen<1, 2>(in, size, out, seen_);
      case 13:
        return sorted ? coarsen<1, 3, true>(in, size, out, seen_) : coarsen<1, 3>(in, size, out, seen_);
      case 14:
        return sorted ? coarsen<1, 4, true>(in, size, out, seen_) : coarsen<1, 4>(in, size, out, seen_);
      case 21:
        return coarsen<2, 1>(in, size, out, seen_);
      case 22:
        return coarsen<2, 2>(in, size, out, seen_);
      case 31:
        return coarsen<3, 1>(in, size, out, seen_);
      case 41:
        return coarsen<4, 1>(in, size, out, seen_);
      default:
        WACO_ASSERT(!"a shape that no parent divides");
        return 0;
    }
  }

  static void count_gaps(const std::vector<uint64_t>& keys, PanelCounts& counts) {
    std::array<int64_t, 66> by_bits{};  // gaps g with bit_width(g - 1), larger ones than any start a row
    for (size_t n = 1; n < keys.size(); ++n) {
      const bool same_row = (keys[n] ^ keys[n - 1]) <= kItemMask;
      by_bits[same_row ? static_cast<size_t>(std::bit_width(keys[n] - keys[n - 1] - 1)) : 65]++;
    }
    counts.rows = keys.empty() ? 0 : 1 + by_bits[65];
    for (size_t bits = 0; bits < 65; ++bits) {
      size_t bin = 0;
      while (bin + 1 < kGaps.size() &&
             bits > static_cast<size_t>(std::bit_width(static_cast<uint64_t>(kGaps[bin]) - 1)))
        ++bin;
      counts.gaps[bin] += by_bits[bits];
    }
  }

  void count_repeats(const std::vector<uint64_t>& keys, PanelCounts& counts) {
    seen_.restart();
    for (const uint64_t key : keys) counts.repeated += seen_.follows(key);
    seen_.restart();
    for (const uint64_t key : keys) {
      const auto row = static_cast<int64_t>(key >> kItemBits);
      counts.shifted += seen_.follows(make_key(row, static_cast<int64_t>(key & kItemMask) - row));
    }
  }

  std::array<std::vector<uint64_t>, max_depth() + 1> blocks_;  ///< by depth in the tree
  StampSet seen_{kTableBits};
};

PanelCounts count_all(const matrix::SparseTensor& matrix, int threads) {
  const std::vector<RowPanel> panels = choose_row_panels(matrix);
  std::vector<PanelCounts> counts(panels.size());
  for_each_parallel(
      static_cast<int64_t>(panels.size()), threads, [] { return PanelCounter(); },
      [&](int64_t number, PanelCounter& counter) {
        const auto p = static_cast<size_t>(number);
        counts[p] = counter.count(matrix, panels[p]);
      });
  PanelCounts total;
  for (const PanelCounts& panel : counts) total += panel;
  return total;
}

}  // namespace

void add_block_features(const matrix::SparseTensor& matrix, int threads, FeatureList& features) {
  const PanelCounts counts = count_all(matrix, threads);
  const auto nonzeros = static_cast<double>(counts.blocks[0]);
  for (size_t s = 1; s < kShapes.size(); ++s) {
    const double cells = static_cast<double>(kShapes[s].rows) * kShapes[s].cols;
    const bool dense = cells <= 256;  // may be stored whole: fill; otherwise nonzeros that share a block
    features.add_log_ratio(
        fmt::format("{}_{}x{}", dense ? "fill" : "blocks", kShapes[s].rows, kShapes[s].cols),
        static_cast<double>(counts.blocks[s]) * (dense ? cells : 1), nonzeros);
  }
  for (size_t g = 0; g < kGaps.size(); ++g)
    features.add_share(g + 1 < kGaps.size() ? fmt::format("gap_to_{}", kGaps[g]) : "gap_longer",
                       static_cast<double>(counts.gaps[g]), nonzeros);
  features.add_share("column_in_row_before", static_cast<double>(counts.repeated), nonzeros);
  features.add_share("diagonal_goes_on", static_cast<double>(counts.shifted), nonzeros);
  features.add_log_ratio("panel_row_length", nonzeros, static_cast<double>(counts.rows));
}

}  // namespace waco::pattern
