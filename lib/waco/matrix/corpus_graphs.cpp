// Kinds of graphs, random matrices and programs of a corpus.
#include <fmt/format.h>

#include <algorithm>

#include "waco/matrix/corpus_kinds.hpp"

namespace waco::matrix {
namespace {

std::string rmat(int64_t nnz, Random& random) {
  const double degree = pick(random, {4, 8, 16, 32});
  const int64_t rows = rows_for(nnz, degree);
  int64_t scale = 8;
  while (scale < 18 && (int64_t{2} << scale) <= rows) ++scale;
  const int64_t edges = nnz * 11 / 10;  // some meet
  return fmt::format("rmat scale={} degree={} seed={}", scale, std::max<int64_t>(1, edges >> scale),
                     draw_seed(random));
}

std::string chung_lu(int64_t nnz, Random& random) {
  const int64_t degree = log_uniform(random, 4, 60);
  const int64_t n = rows_for(nnz, static_cast<double>(degree));
  const double skew = pick(random, {1.25, 1.5, 1.75, 2, 2.25, 2.5});
  const double local = pick(random, {0, 0, 0.3, 0.6});
  return fmt::format("chung-lu n={} degree={} skew={} local={} seed={}", n, degree, skew, local,
                     draw_seed(random));
}

std::string web(int64_t nnz, Random& random) {
  const int64_t degree = log_uniform(random, 6, 40);
  const int64_t n = rows_for(nnz, static_cast<double>(degree));
  const double copy = pick(random, {0.3, 0.5, 0.7, 0.85});
  const int64_t host = log_uniform(random, 4 * degree, 1024);
  return fmt::format("web n={} degree={} copy={} host={} seed={}", n, degree, copy, host, draw_seed(random));
}

std::string uniform_square(int64_t nnz, Random& random) {
  const int64_t degree = log_uniform(random, 2, 60);
  const int64_t n = rows_for(nnz, static_cast<double>(degree));
  return fmt::format("uniform rows={0} cols={0} degree={1} seed={2}", n, degree, draw_seed(random));
}

std::string uniform_rectangle(int64_t nnz, Random& random) {
  const int64_t degree = log_uniform(random, 2, 200);
  const int64_t rows = rows_for(nnz, static_cast<double>(degree));
  const int64_t cols =
      std::max(4 * degree, log_uniform(random, rows / 16 + 1, std::min(16 * rows, kMostRows)));
  return fmt::format("uniform rows={} cols={} degree={} seed={}", rows, cols, degree, draw_seed(random));
}

std::string circuit(int64_t nnz, Random& random) {
  const int64_t degree = between(random, 2, 6);
  const int64_t rails = between(random, 1, 10);
  const double touch = pick(random, {0.02, 0.05, 0.1, 0.3, 0.6});
  const double row_entries = 1 + 0.9 * static_cast<double>(degree) + 2 * touch * static_cast<double>(rails);
  return fmt::format("circuit n={} degree={} rails={} touch={} seed={}", rows_for(nnz, row_entries), degree,
                     rails, touch, draw_seed(random));
}

std::string dense_rows(int64_t nnz, Random& random) {
  const int64_t degree = between(random, 2, 12);
  const int64_t dense = between(random, 1, 12);
  const double row_entries = static_cast<double>(degree) + static_cast<double>(dense) / 2;
  const std::string recipe = fmt::format("dense-rows n={} degree={} dense={} seed={}",
                                         rows_for(nnz, row_entries), degree, dense, draw_seed(random));
  return random.chance(0.5) ? recipe : recipe + " | transpose";
}

std::string bipartite(int64_t nnz, Random& random) {
  const int64_t degree = log_uniform(random, 4, 100);
  const int64_t rows = rows_for(nnz, static_cast<double>(degree));
  const int64_t cols = std::max(30 * degree, log_uniform(random, rows / 20 + 1, rows));
  const double row_skew = pick(random, {1.25, 1.5, 1.75});
  const double col_skew = pick(random, {1.25, 1.5, 2});
  const std::string recipe =
      fmt::format("bipartite rows={} cols={} degree={} row_skew={} col_skew={} seed={}", rows, cols, degree,
                  row_skew, col_skew, draw_seed(random));
  return random.chance(0.6) ? recipe : recipe + " | transpose";
}

std::string lp(int64_t nnz, Random& random) {
  const int64_t aspect = between(random, 1, 6);
  const double row_entries = 3.7 * (static_cast<double>(aspect) - 0.5) + 0.5;
  const int64_t rows = rows_for(nnz, row_entries);
  const std::string recipe =
      fmt::format("lp rows={} cols={} stages={} linking={} seed={}", rows, aspect * rows,
                  log_uniform(random, 1, rows / 8), between(random, 0, 30), draw_seed(random));
  return random.chance(0.7) ? recipe : recipe + " | transpose";
}

std::string kkt(int64_t nnz, Random& random) {
  const int64_t degree = between(random, 2, 8);
  const int64_t band = between(random, 0, 4);
  const double ratio = pick(random, {0.25, 0.5, 1, 3});
  const double row_entries = static_cast<double>(2 * band + 1) + 1.9 * ratio * static_cast<double>(degree);
  const int64_t variables = rows_for(nnz, row_entries);
  const auto constraints = static_cast<int64_t>(ratio * static_cast<double>(variables));
  return fmt::format("kkt variables={} constraints={} band={} degree={} seed={}", variables, constraints,
                     band, degree, draw_seed(random));
}

}  // namespace

const std::vector<MakeRecipe>& graph_kinds() {
  static const std::vector<MakeRecipe> kinds = {
      rmat, chung_lu, web, uniform_square, uniform_rectangle, circuit, dense_rows, bipartite, lp, kkt};
  return kinds;
}

}  // namespace waco::matrix
