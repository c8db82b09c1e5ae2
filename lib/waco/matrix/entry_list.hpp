// Generating entries in parallel, and the draws that generators share.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "waco/base/random.hpp"
#include "waco/matrix/sparse_tensor.hpp"

namespace waco::matrix {

/// Entries in any order, of one block of a generation.
struct EntryList {
  std::vector<int64_t> coords[3];
  std::vector<double> values;

  void add(int64_t row, int64_t col, double value) {
    coords[0].push_back(row);
    coords[1].push_back(col);
    values.push_back(value);
  }
  void add(int64_t i, int64_t k, int64_t l, double value) {
    coords[2].push_back(l);
    add(i, k, value);
  }
  /// The entry and its mirror image.
  void add_symmetric(int64_t row, int64_t col, double value) {
    add(row, col, value);
    if (row != col) add(col, row, value);
  }
};

/// Adds the entries of the items [begin, end).
using FillBlock = std::function<void(int64_t begin, int64_t end, EntryList& entries)>;

/// The tensor of all entries that `fill` adds for [0, num_items), which is cut into blocks of `block_items`
/// that several threads fill. Sorted; duplicates are summed, in the order of the blocks.
SparseTensor generate_blocks(std::vector<int64_t> dims, int64_t num_items, int64_t block_items,
                             const FillBlock& fill);

/// Items of a block for about `kBlockEntries` entries.
inline int64_t block_of(double entries_per_item) {
  constexpr double kBlockEntries = 1 << 15;
  return std::max<int64_t>(1, static_cast<int64_t>(kBlockEntries / std::max(entries_per_item, 1.0)));
}

/// Uniform in [-1, 1), never 0. Takes one draw.
inline double random_value(Random& random) {
  const double value = 2 * random.uniform() - 1;
  return value == 0 ? 1 : value;
}

inline int64_t below(Random& random, int64_t bound) {
  return static_cast<int64_t>(random.below(static_cast<uint64_t>(bound)));
}

/// A whole number that is `mean` on average. Takes one draw.
inline int64_t rounded(Random& random, double mean) {
  const double whole = std::floor(mean);
  return static_cast<int64_t>(whole) + (random.chance(mean - whole) ? 1 : 0);
}

/// Small indices are frequent: bound * u^skew, with `skew` in steps of a quarter. By multiplications and
/// square roots alone, so that it is the same everywhere. Takes one draw.
int64_t skewed_below(Random& random, int64_t bound, double skew);

/// The numbers below n in random order.
std::vector<int64_t> random_permutation(int64_t n, Random random);

}  // namespace waco::matrix
