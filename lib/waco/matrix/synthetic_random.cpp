// Synthetic random patterns: uniform, with dense rows, pruned layers, random blocks.
#include <algorithm>

#include "waco/matrix/entry_list.hpp"
#include "waco/matrix/synthetic_families.hpp"

namespace waco::matrix {
namespace {

void add_uniform_row(EntryList& entries, int64_t row, int64_t cols, double degree, Random& random) {
  for (int64_t i = rounded(random, degree); i > 0; --i) {
    const int64_t col = below(random, cols);
    entries.add(row, col, random_value(random));
  }
}

}  // namespace

SparseTensor make_uniform(const Recipe& recipe) {
  const int64_t cols = recipe.integer("cols");
  const double degree = recipe.number("degree");
  const auto fill = [&](int64_t begin, int64_t end, EntryList& entries) {
    Random random(recipe.seed, static_cast<uint64_t>(begin));
    for (int64_t row = begin; row < end; ++row) add_uniform_row(entries, row, cols, degree, random);
  };
  const int64_t rows = recipe.integer("rows");
  return generate_blocks({rows, cols}, rows, block_of(degree), fill);
}

SparseTensor make_dense_rows(const Recipe& recipe) {
  const int64_t n = recipe.integer("n");
  const double degree = recipe.number("degree");
  Random drawn(recipe.seed);
  std::vector<bool> dense(static_cast<size_t>(n));
  for (int64_t i = recipe.integer("dense"); i > 0; --i) dense[static_cast<size_t>(below(drawn, n))] = true;
  const auto fill = [&](int64_t begin, int64_t end, EntryList& entries) {
    Random random(recipe.seed, static_cast<uint64_t>(begin));
    for (int64_t row = begin; row < end; ++row) {
      add_uniform_row(entries, row, n, degree, random);
      for (int64_t col = 0; dense[static_cast<size_t>(row)] && col < n; ++col) {
        if (random.chance(0.5)) entries.add(row, col, random_value(random));
      }
    }
  };
  return generate_blocks({n, n}, n, block_of(degree), fill);
}

SparseTensor make_pruned(const Recipe& recipe) {
  const int64_t rows = recipe.integer("rows");
  const int64_t cols = recipe.integer("cols");
  const int64_t high = recipe.integer("block_rows");
  const int64_t wide = recipe.integer("block_cols");
  const double density = recipe.number("density");
  const double vary = recipe.number("vary");
  const int64_t num_bands = (rows + high - 1) / high;
  const auto fill = [&](int64_t begin, int64_t end, EntryList& entries) {
    for (int64_t band = begin; band < end; ++band) {
      Random random(recipe.seed, static_cast<uint64_t>(band));
      const double keep = density * (1 + vary * (2 * random.uniform() - 1));
      const int64_t last_row = std::min((band + 1) * high, rows);
      for (int64_t col = 0; col < cols; col += wide) {
        if (!random.chance(keep)) continue;
        for (int64_t row = band * high; row < last_row; ++row) {
          for (int64_t c = col; c < std::min(col + wide, cols); ++c) {
            entries.add(row, c, random_value(random));
          }
        }
      }
    }
  };
  const double band_entries = density * static_cast<double>(cols * high);
  return generate_blocks({rows, cols}, num_bands, block_of(band_entries), fill);
}

SparseTensor make_blocks(const Recipe& recipe) {
  const int64_t block_rows = recipe.integer("rows");
  const int64_t block_cols = recipe.integer("cols");
  const int64_t high = recipe.integer("block_rows");
  const int64_t wide = recipe.integer("block_cols");
  const double degree = recipe.number("degree");
  const double filled = recipe.number("fill");
  const auto fill = [&](int64_t begin, int64_t end, EntryList& entries) {
    std::vector<int64_t> chosen;
    for (int64_t block_row = begin; block_row < end; ++block_row) {
      Random random(recipe.seed, static_cast<uint64_t>(block_row));
      chosen.clear();
      for (int64_t i = rounded(random, degree); i > 0; --i) chosen.push_back(below(random, block_cols));
      std::sort(chosen.begin(), chosen.end());
      chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
      for (int64_t row = block_row * high; row < (block_row + 1) * high; ++row) {
        for (const int64_t block_col : chosen) {
          for (int64_t col = block_col * wide; col < (block_col + 1) * wide; ++col) {
            if (random.chance(filled)) entries.add(row, col, random_value(random));
          }
        }
      }
    }
  };
  const double row_entries = degree * static_cast<double>(high * wide) * filled;
  return generate_blocks({block_rows * high, block_cols * wide}, block_rows, block_of(row_entries), fill);
}

}  // namespace waco::matrix
