// Synthetic matrices of regular structure: bands, blocks, arrows, linear programs.
#include <algorithm>

#include "waco/matrix/synthetic_families.hpp"

namespace waco::matrix {

SparseTensor make_banded(const SyntheticSpec& spec) {
  const int64_t n = spec.integer("n");
  const int64_t band = spec.integer("band");
  const double fill = spec.number("fill");
  Random random(spec.seed);
  EntryList entries({n, n});
  for (int64_t row = 0; row < n; ++row) {
    const int64_t last = std::min(row + band, n - 1);
    for (int64_t col = std::max<int64_t>(row - band, 0); col <= last; ++col) {
      if (row == col || random.chance(fill)) entries.add(row, col, random_value(random));
    }
  }
  return entries.finish();
}

SparseTensor make_blockdiag(const SyntheticSpec& spec) {
  const int64_t size = spec.integer("size");
  const int64_t n = spec.integer("blocks") * size;
  Random random(spec.seed);
  EntryList entries({n, n});
  for (int64_t row = 0; row < n; ++row) {
    const int64_t first = row / size * size;
    for (int64_t col = first; col < first + size; ++col) entries.add(row, col, random_value(random));
  }
  return entries.finish();
}

SparseTensor make_arrow(const SyntheticSpec& spec) {
  const int64_t n = spec.integer("n");
  const int64_t width = std::min(spec.integer("width"), n);
  Random random(spec.seed);
  EntryList entries({n, n});
  for (int64_t row = 0; row < n; ++row) {
    const int64_t last = std::min(row, width);  // the lower triangle, mirrored
    for (int64_t col = 0; col < last; ++col) entries.add_symmetric(row, col, random_value(random));
    if (row - 1 >= last) entries.add_symmetric(row, row - 1, random_value(random));
    entries.add(row, row, static_cast<double>(n));
  }
  return entries.finish();
}

SparseTensor make_lp(const SyntheticSpec& spec) {
  constexpr uint64_t kLongestColumn = 6;
  constexpr double kLinked = 0.3;
  const int64_t rows = spec.integer("rows");
  const int64_t cols = spec.integer("cols");
  const int64_t linking = std::min(spec.integer("linking"), rows - 1);
  const int64_t stages = std::min(spec.integer("stages"), rows - linking);
  const int64_t stage_rows = (rows - linking) / stages;
  Random random(spec.seed);
  EntryList entries({rows, cols});
  // Columns of a stage touch its own rows and the first ones of the next stage.
  const int64_t reach = std::max<int64_t>(stage_rows + stage_rows / 4, 1);
  const int64_t structural = std::max<int64_t>(cols - rows / 2, 1);
  for (int64_t col = 0; col < structural; ++col) {
    const int64_t first = linking + col * stages / structural * stage_rows;
    const uint64_t length = 1 + random.below(kLongestColumn);
    for (uint64_t i = 0; i < length; ++i) {
      const auto row = first + static_cast<int64_t>(random.below(static_cast<uint64_t>(reach)));
      entries.add(std::min(row, rows - 1), col, random_value(random));
    }
    if (linking > 0 && random.chance(kLinked)) {
      entries.add(static_cast<int64_t>(random.below(static_cast<uint64_t>(linking))), col, 1);
    }
  }
  for (int64_t col = structural; col < cols; ++col) entries.add((col - structural) % rows, col, 1);
  return entries.finish();
}

}  // namespace waco::matrix
