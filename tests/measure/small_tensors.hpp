// Small random tensors for the tests of this folder.
#pragma once

#include <cstdint>
#include <vector>

#include "waco/base/random.hpp"
#include "waco/matrix/sparse_tensor.hpp"

namespace waco::measure::testing {

/// About `count` nonzeros at random places, values in [-1, 1].
inline matrix::SparseTensor random_tensor(std::vector<int64_t> dims, int64_t count, uint64_t seed = 7) {
  Random random(seed);
  matrix::SparseTensor tensor;
  tensor.name = "random";
  tensor.dims = dims;
  tensor.coords.resize(dims.size());
  for (int64_t n = 0; n < count; ++n) {
    for (size_t mode = 0; mode < dims.size(); ++mode) {
      tensor.coords[mode].push_back(static_cast<int64_t>(random.below(static_cast<uint64_t>(dims[mode]))));
    }
    tensor.values.push_back(2 * random.uniform() - 1);
  }
  matrix::sort_and_merge(tensor);
  return tensor;
}

}  // namespace waco::measure::testing
