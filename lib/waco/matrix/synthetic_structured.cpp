// Synthetic matrices of regular structure: bands, diagonals, blocks, arrows, Kronecker powers.
#include <algorithm>
#include <set>

#include "waco/base/error.hpp"
#include "waco/matrix/entry_list.hpp"
#include "waco/matrix/synthetic_families.hpp"

namespace waco::matrix {
namespace {

/// The generation of a matrix row by row; fill_row(row, random, entries) draws from a sequence of its own.
template <typename FillRow>
SparseTensor generate_rows(std::vector<int64_t> dims, double row_entries, uint64_t seed,
                           const FillRow& fill_row) {
  const int64_t rows = dims[0];
  return generate_blocks(std::move(dims), rows, block_of(row_entries),
                         [&](int64_t begin, int64_t end, EntryList& entries) {
                           for (int64_t row = begin; row < end; ++row) {
                             Random random(seed, static_cast<uint64_t>(row));
                             fill_row(row, random, entries);
                           }
                         });
}

}  // namespace

SparseTensor make_banded(const Recipe& recipe) {
  const int64_t n = recipe.integer("n");
  const int64_t band = recipe.integer("band");
  const double fill = recipe.number("fill");
  return generate_rows({n, n}, static_cast<double>(2 * band + 1) * fill, recipe.seed,
                       [&](int64_t row, Random& random, EntryList& entries) {
                         const int64_t last = std::min(row + band, n - 1);
                         for (int64_t col = std::max<int64_t>(row - band, 0); col <= last; ++col) {
                           if (row == col || random.chance(fill)) entries.add(row, col, random_value(random));
                         }
                       });
}

SparseTensor make_diagonals(const Recipe& recipe) {
  const int64_t n = recipe.integer("n");
  const int64_t reach = std::min(recipe.integer("reach"), n - 1);
  const double fill = recipe.number("fill");
  const int64_t count = std::min(recipe.integer("count"), 2 * reach);
  Random drawn(recipe.seed);
  std::set<int64_t> offsets = {0};
  while (static_cast<int64_t>(offsets.size()) < count + 1) {
    offsets.insert(below(drawn, 2 * reach + 1) - reach);
  }
  return generate_rows({n, n}, static_cast<double>(count + 1), recipe.seed,
                       [&](int64_t row, Random& random, EntryList& entries) {
                         for (const int64_t offset : offsets) {
                           const int64_t col = row + offset;
                           if (col < 0 || col >= n) continue;
                           if (offset == 0 || random.chance(fill)) {
                             entries.add(row, col, random_value(random));
                           }
                         }
                       });
}

SparseTensor make_blockdiag(const Recipe& recipe) {
  const int64_t num_blocks = recipe.integer("blocks");
  const int64_t size = recipe.integer("size");
  const auto least =
      std::max<int64_t>(1, size - static_cast<int64_t>(recipe.number("vary") * static_cast<double>(size)));
  Random drawn(recipe.seed);
  std::vector<int64_t> starts = {0};
  for (int64_t block = 0; block < num_blocks; ++block) {
    starts.push_back(starts.back() + least + below(drawn, size - least + 1));
  }
  const int64_t n = starts.back();
  const auto fill = [&](int64_t begin, int64_t end, EntryList& entries) {
    for (int64_t block = begin; block < end; ++block) {
      Random random(recipe.seed, static_cast<uint64_t>(block));
      const int64_t first = starts[static_cast<size_t>(block)];
      const int64_t last = starts[static_cast<size_t>(block) + 1];
      for (int64_t row = first; row < last; ++row) {
        for (int64_t col = first; col < last; ++col) entries.add(row, col, random_value(random));
      }
    }
  };
  return generate_blocks({n, n}, num_blocks, block_of(static_cast<double>(size * size)), fill);
}

SparseTensor make_arrow(const Recipe& recipe) {
  const int64_t n = recipe.integer("n");
  const int64_t width = std::min(recipe.integer("width"), n);
  return generate_rows({n, n}, static_cast<double>(2 * width + 3), recipe.seed,
                       [&](int64_t row, Random& random, EntryList& entries) {
                         const int64_t last = std::min(row, width);  // the lower triangle, mirrored
                         for (int64_t col = 0; col < last; ++col) {
                           entries.add_symmetric(row, col, random_value(random));
                         }
                         if (row - 1 >= last) entries.add_symmetric(row, row - 1, random_value(random));
                         entries.add(row, row, static_cast<double>(n));
                       });
}

SparseTensor make_kronecker(const Recipe& recipe) {
  constexpr int64_t kMostRows = int64_t{1} << 30;
  const int64_t size = recipe.integer("size");
  const int64_t power = recipe.integer("power");
  const int64_t ones = std::min(recipe.integer("ones"), size * size);
  int64_t n = 1;
  for (int64_t i = 0; i < power; ++i) {
    n *= size;
    if (n > kMostRows) throw UsageError("kronecker: size^power must be at most 2^30; take a smaller power");
  }
  // Random cells, the first ones in different rows, so that no row of the power is empty if they suffice.
  const std::vector<int64_t> order = random_permutation(size * size, Random(recipe.seed));
  std::vector<std::vector<int64_t>> base(static_cast<size_t>(size));
  int64_t placed = 0;
  for (const bool first : {true, false}) {
    for (const int64_t cell : order) {
      auto& row = base[static_cast<size_t>(cell / size)];
      if (placed == ones || row.empty() != first) continue;
      if (std::find(row.begin(), row.end(), cell % size) != row.end()) continue;
      row.push_back(cell % size);
      ++placed;
    }
  }
  for (auto& row : base) std::sort(row.begin(), row.end());
  double row_entries = 1;
  for (int64_t i = 0; i < power; ++i) row_entries *= static_cast<double>(ones) / static_cast<double>(size);
  return generate_rows({n, n}, row_entries, recipe.seed,
                       [&](int64_t row, Random& random, EntryList& entries) {
                         std::vector<int64_t> cols = {0};
                         std::vector<int64_t> next;
                         for (int64_t digit = n / size; digit > 0; digit /= size) {
                           next.clear();
                           for (const int64_t col : cols) {
                             for (const int64_t part : base[static_cast<size_t>(row / digit % size)]) {
                               next.push_back(col * size + part);
                             }
                           }
                           std::swap(cols, next);
                         }
                         for (const int64_t col : cols) entries.add(row, col, random_value(random));
                       });
}

SparseTensor make_spins(const Recipe& recipe) {
  const int64_t sites = recipe.integer("sites");
  const bool field = recipe.integer("field") == 1;
  const int64_t n = int64_t{1} << sites;
  const auto row_entries = static_cast<double>(1 + sites / 2 + (field ? sites : 0));
  return generate_rows({n, n}, row_entries, recipe.seed, [&](int64_t row, Random&, EntryList& entries) {
    double aligned = 0;
    for (int64_t site = 0; site < sites; ++site) {
      const int64_t here = int64_t{1} << site;
      const int64_t there = int64_t{1} << (site + 1) % sites;
      const bool differ = ((row & here) != 0) != ((row & there) != 0);
      aligned += differ ? -1 : 1;
      // A ring of two has one bond, met twice.
      if (differ && (sites > 2 || site == 0)) entries.add(row, row ^ (here | there), 0.5);
      if (field) entries.add(row, row ^ here, 0.25);
    }
    entries.add(row, row, aligned / 4);
  });
}

}  // namespace waco::matrix
