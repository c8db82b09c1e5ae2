// Kinds of meshes of a corpus.
#include <fmt/format.h>

#include <iterator>

#include "waco/matrix/corpus_kinds.hpp"

namespace waco::matrix {
namespace {

/// Real meshes are often numbered otherwise than row by row: locally mixed, or without any order.
std::string renumbered(const std::string& recipe, int64_t block, Random& random) {
  const double kind = random.uniform();
  if (kind < 0.6) return recipe;
  const int64_t window = kind < 0.8 ? log_uniform(random, 16, 4096) : 0;
  return recipe + fmt::format(" | shuffle block={} window={} seed={}", block, window, draw_seed(random));
}

std::string stencil2d(int64_t nnz, Random& random) {
  const int64_t points = nnz < 5 * kMostRows / 2 ? static_cast<int64_t>(pick(random, {5, 9})) : 9;
  const int64_t n = square_root(static_cast<double>(rows_for(nnz, static_cast<double>(points))));
  return renumbered(fmt::format("stencil2d n={} points={}", n, points), 1, random);
}

std::string stencil3d(int64_t nnz, Random& random) {
  const auto points = static_cast<int64_t>(pick(random, {7, 27}));
  const int64_t rows = rows_for(nnz, points == 7 ? 6.8 : 25);
  int64_t n = 3;
  while ((n + 1) * (n + 1) * (n + 1) <= rows) ++n;
  return renumbered(fmt::format("stencil3d n={} points={}", n, points), 1, random);
}

/// A cube, a plate or a beam of elements.
std::string fem(int64_t nnz, int64_t dof, Random& random) {
  const auto shape = static_cast<int64_t>(pick(random, {0, 0, 1, 2}));
  int64_t nx = 2;
  int64_t ny = 2;
  int64_t nz = 2;
  for (int64_t side = 2;; ++side) {
    const int64_t x = shape == 2 ? 12 * side : side;
    const int64_t z = shape == 1 ? 1 : side;
    if ((3 * x - 2) * (3 * side - 2) * (3 * z - 2) * dof * dof > nnz && side > 2) break;
    nx = x;
    ny = side;
    nz = z;
  }
  return renumbered(fmt::format("fem nx={} ny={} nz={} dof={} seed={}", nx, ny, nz, dof, draw_seed(random)),
                    dof, random);
}

std::string fem2(int64_t nnz, Random& random) {
  return fem(nnz, 2, random);
}

std::string fem3(int64_t nnz, Random& random) {
  return fem(nnz, 3, random);
}

std::string fem4(int64_t nnz, Random& random) {
  return fem(nnz, 4, random);
}

std::string fem6(int64_t nnz, Random& random) {
  return fem(nnz, 6, random);
}

std::string scattered2d(int64_t nnz, Random& random) {
  const double reach = pick(random, {1.25, 1.5, 2, 2.5});
  const int64_t dof = between(random, 1, 3);
  const double row_entries = 3 * reach * reach * static_cast<double>(dof);
  const int64_t side =
      square_root(static_cast<double>(rows_for(nnz, row_entries)) / static_cast<double>(dof));
  return renumbered(fmt::format("scattered nx={0} ny={0} nz=1 reach={1} dof={2} seed={3}", side, reach, dof,
                                draw_seed(random)),
                    dof, random);
}

std::string scattered3d(int64_t nnz, Random& random) {
  const double reach = pick(random, {1.25, 1.5, 1.75});
  const auto dof = static_cast<int64_t>(pick(random, {1, 1, 3}));
  const double row_entries = 3.7 * reach * reach * reach * static_cast<double>(dof);
  const int64_t nodes = rows_for(nnz, row_entries) / dof;
  int64_t side = 3;
  while ((side + 1) * (side + 1) * (side + 1) <= nodes) ++side;
  return renumbered(fmt::format("scattered nx={0} ny={0} nz={0} reach={1} dof={2} seed={3}", side, reach, dof,
                                draw_seed(random)),
                    dof, random);
}

std::string road(int64_t nnz, Random& random) {
  const double keep = pick(random, {0.55, 0.62, 0.7, 0.8});
  const int64_t n = square_root(static_cast<double>(rows_for(nnz, 4 * keep)));
  return renumbered(fmt::format("road n={} keep={} seed={}", n, keep, draw_seed(random)), 1, random);
}

/// A mesh in an order that tells nothing of it.
std::string unordered_mesh(int64_t nnz, Random& random) {
  static constexpr MakeRecipe kMeshes[] = {stencil2d, stencil3d, fem3, scattered2d, road};
  std::string recipe = kMeshes[random.below(std::size(kMeshes))](nnz, random);
  recipe = recipe.substr(0, recipe.find(" | "));
  return recipe + fmt::format(" | shuffle block=1 seed={}", draw_seed(random));
}

}  // namespace

const std::vector<MakeRecipe>& mesh_kinds() {
  static const std::vector<MakeRecipe> kinds = {stencil2d, stencil3d,   fem2,        fem3, fem4,
                                                fem6,      scattered2d, scattered3d, road, unordered_mesh};
  return kinds;
}

}  // namespace waco::matrix
