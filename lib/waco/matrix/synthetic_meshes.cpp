// Synthetic meshes: stencils, bricks of finite elements, scattered nodes, road networks.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "waco/base/error.hpp"
#include "waco/matrix/entry_list.hpp"
#include "waco/matrix/synthetic_families.hpp"

namespace waco::matrix {
namespace {

struct Place {
  int64_t x, y, z;
};

struct Grid {
  int64_t nx, ny, nz;
  int64_t node(int64_t x, int64_t y, int64_t z) const { return (z * ny + y) * nx + x; }
  int64_t num_nodes() const { return nx * ny * nz; }
  Place place(int64_t node) const { return {node % nx, node / nx % ny, node / nx / ny}; }
};

/// Calls visit(neighbour, dx, dy, dz) for each node at most `reach` away in every direction, the node itself
/// included, in increasing order.
template <typename Visit>
void for_each_neighbour(const Grid& grid, int64_t node, int64_t reach, const Visit& visit) {
  const auto [x, y, z] = grid.place(node);
  for (int64_t c = std::max<int64_t>(z - reach, 0); c <= std::min(z + reach, grid.nz - 1); ++c) {
    for (int64_t b = std::max<int64_t>(y - reach, 0); b <= std::min(y + reach, grid.ny - 1); ++b) {
      for (int64_t a = std::max<int64_t>(x - reach, 0); a <= std::min(x + reach, grid.nx - 1); ++a) {
        visit(grid.node(a, b, c), a - x, b - y, c - z);
      }
    }
  }
}

/// The discrete Laplacian: -1 for each neighbour. `star` couples along the axes only.
SparseTensor make_laplacian(const Grid& grid, bool star, int64_t points) {
  const auto diagonal = static_cast<double>(points - 1);
  const auto fill = [&](int64_t begin, int64_t end, EntryList& entries) {
    for (int64_t node = begin; node < end; ++node) {
      for_each_neighbour(grid, node, 1, [&](int64_t other, int64_t dx, int64_t dy, int64_t dz) {
        if (star && std::abs(dx) + std::abs(dy) + std::abs(dz) > 1) return;
        entries.add(node, other, node == other ? diagonal : -1);
      });
    }
  };
  const int64_t n = grid.num_nodes();
  return generate_blocks({n, n}, n, block_of(static_cast<double>(points)), fill);
}

void check_points(const Recipe& recipe, int64_t few, int64_t many) {
  const int64_t points = recipe.integer("points");
  if (points == few || points == many) return;
  throw UsageError(fmt::format("{}: points must be {} or {}, not {}", recipe.name, few, many, points));
}

/// Element of the block that couples a node with the one at (dx, dy, dz): the same for every node, as on a
/// regular mesh of one material, and such that the whole matrix is symmetric.
double stiffness(int64_t dx, int64_t dy, int64_t dz, int64_t row, int64_t col, uint64_t seed) {
  if (dx == 0 && dy == 0 && dz == 0 && row == col) return 64;
  int64_t offset = (dz * 3 + dy) * 3 + dx;
  if (offset < 0 || (offset == 0 && row > col)) {
    offset = -offset;
    std::swap(row, col);
  }
  Random random(seed * 0x10001 + static_cast<uint64_t>((offset * 64 + row) * 64 + col));
  const double value = (static_cast<double>(random.below(4000)) - 2000) / 1000;
  return value == 0 ? 1 : value;
}

/// Where in its cell a scattered node lies, in units of 1/kCell of the cell.
constexpr int64_t kCell = 1024;
Place scatter(uint64_t seed, int64_t node) {
  const uint64_t draw = Random(seed, static_cast<uint64_t>(node)).next();
  constexpr uint64_t kMask = kCell - 1;
  return {static_cast<int64_t>(draw & kMask), static_cast<int64_t>(draw >> 10 & kMask),
          static_cast<int64_t>(draw >> 20 & kMask)};
}

}  // namespace

SparseTensor make_stencil2d(const Recipe& recipe) {
  check_points(recipe, 5, 9);
  const int64_t n = recipe.integer("n");
  const int64_t points = recipe.integer("points");
  return make_laplacian({n, n, 1}, points == 5, points);
}

SparseTensor make_stencil3d(const Recipe& recipe) {
  check_points(recipe, 7, 27);
  const int64_t n = recipe.integer("n");
  const int64_t points = recipe.integer("points");
  return make_laplacian({n, n, n}, points == 7, points);
}

SparseTensor make_fem(const Recipe& recipe) {
  const Grid grid = {recipe.integer("nx"), recipe.integer("ny"), recipe.integer("nz")};
  const int64_t dof = recipe.integer("dof");
  const auto fill = [&](int64_t begin, int64_t end, EntryList& entries) {
    for (int64_t node = begin; node < end; ++node) {
      for (int64_t row = 0; row < dof; ++row) {
        for_each_neighbour(grid, node, 1, [&](int64_t other, int64_t dx, int64_t dy, int64_t dz) {
          for (int64_t col = 0; col < dof; ++col) {
            entries.add(node * dof + row, other * dof + col, stiffness(dx, dy, dz, row, col, recipe.seed));
          }
        });
      }
    }
  };
  const int64_t n = grid.num_nodes() * dof;
  return generate_blocks({n, n}, grid.num_nodes(), block_of(27.0 * static_cast<double>(dof * dof)), fill);
}

SparseTensor make_scattered(const Recipe& recipe) {
  const Grid grid = {recipe.integer("nx"), recipe.integer("ny"), recipe.integer("nz")};
  const int64_t dof = recipe.integer("dof");
  const bool flat = grid.nz == 1;
  const auto reach = static_cast<int64_t>(recipe.number("reach") * kCell);
  const auto fill = [&](int64_t begin, int64_t end, EntryList& entries) {
    std::vector<std::array<int64_t, 2>> near;  // node, squared distance
    for (int64_t node = begin; node < end; ++node) {
      near.clear();
      const Place here = scatter(recipe.seed, node);
      for_each_neighbour(grid, node, reach / kCell + 1,
                         [&](int64_t other, int64_t dx, int64_t dy, int64_t dz) {
                           const Place there = scatter(recipe.seed, other);
                           const int64_t x = dx * kCell + there.x - here.x;
                           const int64_t y = dy * kCell + there.y - here.y;
                           const int64_t z = flat ? 0 : dz * kCell + there.z - here.z;
                           const int64_t squared = x * x + y * y + z * z;
                           if (squared <= reach * reach) near.push_back({other, squared});
                         });
      for (int64_t row = 0; row < dof; ++row) {
        for (const auto& [other, squared] : near) {
          // Alike for (row, col) and (col, row), and the weaker the farther.
          for (int64_t col = 0; col < dof; ++col) {
            const double weight = node == other && row == col ? 32 : row == col ? -1 : 0.25;
            entries.add(node * dof + row, other * dof + col,
                        weight / (1 + static_cast<double>(squared) / (kCell * kCell)));
          }
        }
      }
    }
  };
  const int64_t n = grid.num_nodes() * dof;
  return generate_blocks({n, n}, grid.num_nodes(), block_of(static_cast<double>(dof * dof) * 16), fill);
}

SparseTensor make_road(const Recipe& recipe) {
  constexpr double kLongConnection = 0.005;
  constexpr int64_t kNumberingBlock = 64;
  const int64_t n = recipe.integer("n");
  const int64_t num_nodes = n * n;
  const double keep = recipe.number("keep");
  // Vertices are numbered along the grid, but shuffled among near ones, as map data is.
  std::vector<int64_t> number(static_cast<size_t>(num_nodes));
  for (int64_t begin = 0; begin < num_nodes; begin += kNumberingBlock) {
    const int64_t size = std::min(kNumberingBlock, num_nodes - begin);
    const auto order = random_permutation(size, Random(recipe.seed, static_cast<uint64_t>(begin)));
    for (int64_t i = 0; i < size; ++i) {
      number[static_cast<size_t>(begin + i)] = begin + order[static_cast<size_t>(i)];
    }
  }
  const auto fill = [&](int64_t begin, int64_t end, EntryList& entries) {
    Random random(recipe.seed, static_cast<uint64_t>(num_nodes + begin));
    const auto connect = [&](int64_t a, int64_t b) {
      if (a == b) return;
      entries.add_symmetric(number[static_cast<size_t>(a)], number[static_cast<size_t>(b)],
                            1 + random.uniform());
    };
    for (int64_t node = begin; node < end; ++node) {
      if (node % n + 1 < n && random.chance(keep)) connect(node, node + 1);
      if (node + n < num_nodes && random.chance(keep)) connect(node, node + n);
      if (random.chance(kLongConnection)) {
        connect(node, std::min(node + below(random, 8 * n), num_nodes - 1));
      }
    }
  };
  return generate_blocks({num_nodes, num_nodes}, num_nodes, block_of(2.5), fill);
}

}  // namespace waco::matrix
