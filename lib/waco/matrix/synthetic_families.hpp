// The generators behind the families of synthetic.hpp. Each gets a complete spec and returns a nameless
// tensor.
#pragma once

#include <initializer_list>

#include "waco/base/random.hpp"
#include "waco/matrix/synthetic.hpp"

namespace waco::matrix {

// Meshes: local coupling, a short repeating pattern.
SparseTensor make_stencil2d(const SyntheticSpec& spec);
SparseTensor make_stencil3d(const SyntheticSpec& spec);
SparseTensor make_fem(const SyntheticSpec& spec);
SparseTensor make_road(const SyntheticSpec& spec);

// Structure that is neither a mesh nor random.
SparseTensor make_banded(const SyntheticSpec& spec);
SparseTensor make_blockdiag(const SyntheticSpec& spec);
SparseTensor make_arrow(const SyntheticSpec& spec);
SparseTensor make_lp(const SyntheticSpec& spec);

// Random patterns.
SparseTensor make_rmat(const SyntheticSpec& spec);
SparseTensor make_uniform(const SyntheticSpec& spec);
SparseTensor make_dense_rows(const SyntheticSpec& spec);
SparseTensor make_tensor_uniform(const SyntheticSpec& spec);
SparseTensor make_tensor_power(const SyntheticSpec& spec);

/// Collects entries in any order.
class EntryList {
 public:
  explicit EntryList(std::initializer_list<int64_t> dims);
  void add(int64_t row, int64_t col, double value);
  void add(int64_t i, int64_t k, int64_t l, double value);
  /// The entry and its mirror image.
  void add_symmetric(int64_t row, int64_t col, double value);
  /// Sorted, duplicates summed.
  SparseTensor finish();

 private:
  SparseTensor tensor_;
};

/// Uniform in [-1, 1), never 0.
double random_value(Random& random);

}  // namespace waco::matrix
