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

}  // namespace waco::pattern
