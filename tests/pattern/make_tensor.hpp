// Patterns from sets of coordinates.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "waco/matrix/sparse_tensor.hpp"

namespace waco::pattern {

/// All values 1.
inline matrix::SparseTensor make_tensor(std::vector<int64_t> dims,
                                        const std::set<std::vector<int64_t>>& coords) {
  matrix::SparseTensor tensor;
  tensor.dims = std::move(dims);
  tensor.coords.resize(tensor.dims.size());
  for (const std::vector<int64_t>& coord : coords) {
    for (size_t mode = 0; mode < coord.size(); ++mode) tensor.coords[mode].push_back(coord[mode]);
    tensor.values.push_back(1);
  }
  return tensor;
}

/// 5 x 6:  x x . . . x / . . . . . . / x . . . . . / x x x x . . / . . . . . x
inline matrix::SparseTensor small_matrix() {
  return make_tensor({5, 6}, {{0, 0}, {0, 1}, {0, 5}, {2, 0}, {3, 0}, {3, 1}, {3, 2}, {3, 3}, {4, 5}});
}

}  // namespace waco::pattern
