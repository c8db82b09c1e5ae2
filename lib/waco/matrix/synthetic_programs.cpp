// Synthetic matrices of optimisation and of circuits.
#include <algorithm>

#include "waco/matrix/entry_list.hpp"
#include "waco/matrix/synthetic_families.hpp"

namespace waco::matrix {

SparseTensor make_lp(const Recipe& recipe) {
  constexpr int64_t kLongestColumn = 6;
  constexpr double kLinked = 0.3;
  const int64_t rows = recipe.integer("rows");
  const int64_t cols = recipe.integer("cols");
  const int64_t linking = std::min(recipe.integer("linking"), rows - 1);
  const int64_t stages = std::min(recipe.integer("stages"), rows - linking);
  const int64_t stage_rows = (rows - linking) / stages;
  // Columns of a stage touch its own rows and the first ones of the next stage.
  const int64_t reach = std::max<int64_t>(stage_rows + stage_rows / 4, 1);
  const int64_t structural = std::max<int64_t>(cols - rows / 2, 1);
  const auto fill = [&](int64_t begin, int64_t end, EntryList& entries) {
    for (int64_t col = begin; col < end; ++col) {
      if (col >= structural) {
        entries.add((col - structural) % rows, col, 1);
        continue;
      }
      Random random(recipe.seed, static_cast<uint64_t>(col));
      const int64_t first = linking + col * stages / structural * stage_rows;
      const int64_t length = 1 + below(random, kLongestColumn);
      for (int64_t i = 0; i < length; ++i) {
        const int64_t row = first + below(random, reach);
        entries.add(std::min(row, rows - 1), col, random_value(random));
      }
      if (linking > 0 && random.chance(kLinked)) entries.add(below(random, linking), col, 1);
    }
  };
  return generate_blocks({rows, cols}, cols, block_of(4), fill);
}

SparseTensor make_kkt(const Recipe& recipe) {
  const int64_t variables = recipe.integer("variables");
  const int64_t constraints = recipe.integer("constraints");
  const int64_t band = recipe.integer("band");
  const double degree = recipe.number("degree");
  const int64_t n = variables + constraints;
  const auto fill = [&](int64_t begin, int64_t end, EntryList& entries) {
    for (int64_t row = begin; row < end; ++row) {
      Random random(recipe.seed, static_cast<uint64_t>(row));
      if (row < variables) {
        for (int64_t col = std::max<int64_t>(row - band, 0); col < row; ++col) {
          entries.add_symmetric(row, col, random_value(random));
        }
        entries.add(row, row, static_cast<double>(2 * band + 2));
        continue;
      }
      // A constraint couples variables that are mostly near each other.
      const int64_t centre = (row - variables) * variables / constraints;
      for (int64_t i = rounded(random, degree); i > 0; --i) {
        const int64_t away = skewed_below(random, variables, 4);
        const int64_t col = (random.chance(0.5) ? centre + away : centre + variables - away) % variables;
        entries.add_symmetric(row, col, random_value(random));
      }
    }
  };
  return generate_blocks({n, n}, n, block_of(2 * degree + static_cast<double>(2 * band)), fill);
}

SparseTensor make_circuit(const Recipe& recipe) {
  constexpr double kLocality = 5;
  const int64_t n = recipe.integer("n");
  const double degree = recipe.number("degree");
  const double touch = recipe.number("touch");
  // Supply rails, clocks and ground: nodes that many others touch, anywhere in the numbering.
  Random drawn(recipe.seed);
  std::vector<int64_t> rails;
  for (int64_t i = recipe.integer("rails"); i > 0; --i) rails.push_back(below(drawn, n));
  std::sort(rails.begin(), rails.end());
  rails.erase(std::unique(rails.begin(), rails.end()), rails.end());
  const auto fill = [&](int64_t begin, int64_t end, EntryList& entries) {
    for (int64_t row = begin; row < end; ++row) {
      Random random(recipe.seed, static_cast<uint64_t>(row));
      entries.add(row, row, 2 * degree + 1);
      for (int64_t i = rounded(random, degree / 2); i > 0; --i) {
        const int64_t other = row + 1 + skewed_below(random, n, kLocality);
        const double value = random_value(random);
        if (other < n) entries.add_symmetric(row, other, value);
      }
      for (const int64_t rail : rails) {
        if (random.chance(touch) && rail != row) entries.add_symmetric(row, rail, random_value(random));
      }
    }
  };
  const double row_entries = 1 + degree + 2 * touch * static_cast<double>(rails.size());
  return generate_blocks({n, n}, n, block_of(row_entries), fill);
}

}  // namespace waco::matrix
