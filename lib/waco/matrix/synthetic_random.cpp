// Synthetic random patterns: uniform, power-law, with dense rows, and 3-D tensors.
#include <cmath>

#include "waco/matrix/synthetic_families.hpp"

namespace waco::matrix {
namespace {

int64_t below(Random& random, int64_t bound) {
  return static_cast<int64_t>(random.below(static_cast<uint64_t>(bound)));
}

void add_uniform(EntryList& entries, int64_t rows, int64_t cols, double degree, Random& random) {
  for (int64_t row = 0; row < rows; ++row) {
    const double whole = std::floor(degree);
    const int64_t count = static_cast<int64_t>(whole) + (random.chance(degree - whole) ? 1 : 0);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t col = below(random, cols);
      entries.add(row, col, random_value(random));
    }
  }
}

/// One edge of an R-MAT graph (Chakrabarti, Zhan, Faloutsos 2004) with the Graph500 probabilities.
void add_rmat_edge(EntryList& entries, int64_t scale, Random& random) {
  constexpr double kA = 0.57;
  constexpr double kB = 0.19;
  constexpr double kC = 0.19;
  int64_t row = 0;
  int64_t col = 0;
  for (int64_t bit = 0; bit < scale; ++bit) {
    const double draw = random.uniform();
    row = 2 * row + (draw >= kA + kB ? 1 : 0);
    col = 2 * col + ((draw >= kA && draw < kA + kB) || draw >= kA + kB + kC ? 1 : 0);
  }
  entries.add(row, col, random_value(random));
}

/// Small indices are frequent: bound * u^skew, by multiplications alone so that it is the same everywhere.
int64_t skewed_below(Random& random, int64_t bound, int64_t skew) {
  const double u = random.uniform();
  double power = u;
  for (int64_t i = 1; i < skew; ++i) power *= u;
  return static_cast<int64_t>(power * static_cast<double>(bound));
}

}  // namespace

SparseTensor make_rmat(const SyntheticSpec& spec) {
  const int64_t scale = spec.integer("scale");
  const int64_t n = int64_t{1} << scale;
  const auto num_edges = static_cast<int64_t>(spec.number("degree") * static_cast<double>(n));
  Random random(spec.seed);
  EntryList entries({n, n});
  for (int64_t edge = 0; edge < num_edges; ++edge) add_rmat_edge(entries, scale, random);
  return entries.finish();
}

SparseTensor make_uniform(const SyntheticSpec& spec) {
  const int64_t rows = spec.integer("rows");
  const int64_t cols = spec.integer("cols");
  Random random(spec.seed);
  EntryList entries({rows, cols});
  add_uniform(entries, rows, cols, spec.number("degree"), random);
  return entries.finish();
}

SparseTensor make_dense_rows(const SyntheticSpec& spec) {
  const int64_t n = spec.integer("n");
  const int64_t dense = spec.integer("dense");
  Random random(spec.seed);
  EntryList entries({n, n});
  add_uniform(entries, n, n, spec.number("degree"), random);
  for (int64_t i = 0; i < dense; ++i) {
    const int64_t row = below(random, n);
    for (int64_t col = 0; col < n; ++col) {
      if (random.chance(0.5)) entries.add(row, col, random_value(random));
    }
  }
  return entries.finish();
}

SparseTensor make_tensor_uniform(const SyntheticSpec& spec) {
  const int64_t i = spec.integer("i");
  const int64_t k = spec.integer("k");
  const int64_t l = spec.integer("l");
  Random random(spec.seed);
  EntryList entries({i, k, l});
  for (int64_t n = spec.integer("nnz"); n > 0; --n) {
    const int64_t at_i = below(random, i);
    const int64_t at_k = below(random, k);
    const int64_t at_l = below(random, l);
    entries.add(at_i, at_k, at_l, random_value(random));
  }
  return entries.finish();
}

SparseTensor make_tensor_power(const SyntheticSpec& spec) {
  const int64_t i = spec.integer("i");
  const int64_t k = spec.integer("k");
  const int64_t l = spec.integer("l");
  const int64_t skew = spec.integer("skew");
  Random random(spec.seed);
  EntryList entries({i, k, l});
  for (int64_t n = spec.integer("nnz"); n > 0; --n) {
    const int64_t at_i = skewed_below(random, i, skew);
    const int64_t at_k = skewed_below(random, k, skew);
    const int64_t at_l = skewed_below(random, l, skew);
    entries.add(at_i, at_k, at_l, random_value(random));
  }
  return entries.finish();
}

}  // namespace waco::matrix
