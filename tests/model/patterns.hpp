// Small patterns that cost models are tested on, built entry by entry.
#pragma once

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "waco/base/random.hpp"
#include "waco/matrix/sparse_tensor.hpp"

namespace waco::test {

inline matrix::SparseTensor from_entries(int64_t rows, int64_t cols,
                                         const std::set<std::pair<int64_t, int64_t>>& entries) {
  matrix::SparseTensor tensor;
  tensor.dims = {rows, cols};
  tensor.coords.resize(2);
  for (const auto& [row, col] : entries) {
    tensor.coords[0].push_back(row);
    tensor.coords[1].push_back(col);
    tensor.values.push_back(1);
  }
  return tensor;
}

/// A finite-element matrix: a band of dense dof x dof blocks.
inline matrix::SparseTensor fem(int64_t nodes, int dof) {
  std::set<std::pair<int64_t, int64_t>> entries;
  for (int64_t node = 0; node < nodes; node++)
    for (const int64_t offset : {-70, -8, -1, 0, 1, 8, 70}) {
      if (node + offset < 0 || node + offset >= nodes) continue;
      for (int r = 0; r < dof; r++)
        for (int c = 0; c < dof; c++) entries.emplace(node * dof + r, (node + offset) * dof + c);
    }
  return from_entries(nodes * dof, nodes * dof, entries);
}

/// Rows whose lengths and columns follow a power law; the longest rows come first.
inline matrix::SparseTensor power_law(int64_t size, int64_t nonzeros, uint64_t seed) {
  Random random(seed);
  std::set<std::pair<int64_t, int64_t>> entries;
  const auto draw = [&] {
    const double u = random.uniform();
    return static_cast<int64_t>(static_cast<double>(size) * u * u * u);
  };
  for (int64_t n = 0; n < nonzeros; n++) entries.emplace(draw(), draw());
  return from_entries(size, size, entries);
}

inline matrix::SparseTensor uniform(int64_t rows, int64_t cols, int64_t nonzeros, uint64_t seed) {
  Random random(seed);
  std::set<std::pair<int64_t, int64_t>> entries;
  while (static_cast<int64_t>(entries.size()) < nonzeros)
    entries.emplace(static_cast<int64_t>(random.below(static_cast<uint64_t>(rows))),
                    static_cast<int64_t>(random.below(static_cast<uint64_t>(cols))));
  return from_entries(rows, cols, entries);
}

/// A grid of `side` x `side` points, each with its four neighbours, whose rows come in random order.
inline matrix::SparseTensor shuffled_grid(int64_t side, uint64_t seed) {
  Random random(seed);
  std::vector<int64_t> place(static_cast<size_t>(side * side));
  for (size_t n = 0; n < place.size(); ++n) place[n] = static_cast<int64_t>(n);
  for (size_t n = place.size(); n > 1; --n) std::swap(place[n - 1], place[random.below(n)]);
  std::set<std::pair<int64_t, int64_t>> entries;
  for (int64_t y = 0; y < side; ++y)
    for (int64_t x = 0; x < side; ++x)
      for (const auto& [dx, dy] : {std::pair{0, 0}, {1, 0}, {-1, 0}, {0, 1}, {0, -1}})
        if (x + dx >= 0 && x + dx < side && y + dy >= 0 && y + dy < side)
          entries.insert({place[static_cast<size_t>(y * side + x)], (y + dy) * side + x + dx});
  return from_entries(side * side, side * side, entries);
}

}  // namespace waco::test
