// Kinds of structured matrices of a corpus.
#include <fmt/format.h>

#include <algorithm>

#include "waco/matrix/corpus_kinds.hpp"

namespace waco::matrix {
namespace {

std::string banded(int64_t nnz, Random& random) {
  const int64_t band = std::max(log_uniform(random, 1, 100), nnz / (2 * kMostRows) + 1);
  const double fill = band < 10 ? 1 : pick(random, {1, 0.5, 0.2});
  const int64_t n = rows_for(nnz, static_cast<double>(2 * band) * fill + 1);
  return fmt::format("banded n={} band={} fill={} seed={}", n, band, fill, draw_seed(random));
}

std::string diagonals(int64_t nnz, Random& random) {
  const int64_t count = between(random, 4, 30);
  const double fill = pick(random, {1, 1, 0.6});
  const int64_t n = rows_for(nnz, static_cast<double>(count) * fill + 1);
  const int64_t reach = log_uniform(random, std::min(4 * count, n / 2), std::max<int64_t>(n / 2, 1));
  return fmt::format("diagonals n={} count={} reach={} fill={} seed={}", n, count, reach, fill,
                     draw_seed(random));
}

std::string blockdiag(int64_t nnz, Random& random) {
  const int64_t size = std::max(log_uniform(random, 2, 80), nnz / kMostRows + 1);
  const double vary = pick(random, {0, 0, 0.6});
  const double mean = static_cast<double>(size) * (1 - vary / 2);
  const auto blocks = std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(nnz) / (mean * mean)));
  return fmt::format("blockdiag blocks={} size={} vary={} seed={}", blocks, size, vary, draw_seed(random));
}

std::string arrow(int64_t nnz, Random& random) {
  const int64_t width = between(random, 1, 20);
  const int64_t n = rows_for(nnz, static_cast<double>(3 + 2 * width));
  return fmt::format("arrow n={} width={} seed={}", n, width, draw_seed(random));
}

std::string pruned(int64_t nnz, Random& random) {
  const double density = pick(random, {0.02, 0.05, 0.1, 0.2, 0.3, 0.5});
  const double aspect = pick(random, {0.25, 1, 1, 4});
  const double area = static_cast<double>(nnz) / density;
  const int64_t cols = std::max<int64_t>(1, (square_root(area * aspect) + 32) / 64) * 64;
  const int64_t rows =
      std::max<int64_t>(1, (static_cast<int64_t>(area / static_cast<double>(cols)) + 8) / 16) * 16;
  const int64_t high = random.chance(0.5) ? 1 : static_cast<int64_t>(pick(random, {1, 4, 8, 16}));
  const int64_t wide =
      high == 1 && random.chance(0.7) ? 1 : static_cast<int64_t>(pick(random, {1, 4, 8, 16}));
  return fmt::format("pruned rows={} cols={} density={} block_rows={} block_cols={} vary={} seed={}", rows,
                     cols, density, high, wide, pick(random, {0, 0.3, 0.8}), draw_seed(random));
}

std::string blocks(int64_t nnz, Random& random) {
  const auto high = static_cast<int64_t>(pick(random, {2, 3, 4, 5, 6, 8, 16}));
  const auto wide = random.chance(0.6) ? high : static_cast<int64_t>(pick(random, {1, 2, 3, 4, 6, 8, 16}));
  const int64_t degree = between(random, 2, 12);
  const double fill = pick(random, {1, 1, 0.8, 0.5});
  const double row_entries = static_cast<double>(high * wide * degree) * fill;
  const int64_t rows = std::max<int64_t>(8, static_cast<int64_t>(static_cast<double>(nnz) / row_entries));
  const auto cols = std::max<int64_t>(4 * degree, rows * high / wide);
  return fmt::format("blocks rows={} cols={} block_rows={} block_cols={} degree={} fill={} seed={}", rows,
                     cols, high, wide, degree, fill, draw_seed(random));
}

std::string kronecker(int64_t nnz, Random& random) {
  for (;;) {
    const int64_t size = between(random, 2, 8);
    const int64_t ones = between(random, size, size * size * 3 / 4);
    int64_t entries = 1;
    int64_t rows = 1;
    int64_t power = 0;
    while (entries < nnz * 3 / 5 && rows <= kMostRows) {
      entries *= ones;
      rows *= size;
      ++power;
    }
    if (rows > kMostRows || entries > 2 * nnz) continue;
    return fmt::format("kronecker size={} ones={} power={} seed={}", size, ones, power, draw_seed(random));
  }
}

std::string spins(int64_t nnz, Random& random) {
  const int64_t field = between(random, 0, 1);
  int64_t sites = 8;
  const auto entries = [&](int64_t n) { return (int64_t{1} << n) * (1 + n / 2 + field * n); };
  while (sites < 18 && entries(sites + 1) <= nnz * 5 / 4) ++sites;
  return fmt::format("spins sites={} field={}", sites, field);
}

}  // namespace

const std::vector<MakeRecipe>& structured_kinds() {
  static const std::vector<MakeRecipe> kinds = {banded, diagonals, blockdiag, arrow,
                                                pruned, blocks,    kronecker, spins};
  return kinds;
}

}  // namespace waco::matrix
