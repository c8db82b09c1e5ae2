// Synthetic meshes: stencils, bricks of finite elements, road networks.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>

#include "waco/base/error.hpp"
#include "waco/matrix/synthetic_families.hpp"

namespace waco::matrix {
namespace {

struct Grid {
  int64_t nx, ny, nz;
  int64_t node(int64_t x, int64_t y, int64_t z) const { return (z * ny + y) * nx + x; }
  int64_t num_nodes() const { return nx * ny * nz; }
};

/// Calls visit(node, neighbour, dx, dy, dz) for every node and each of its up to 27 neighbours, itself
/// included, in row-major order.
template <typename Visit>
void for_each_neighbour(const Grid& grid, const Visit& visit) {
  for (int64_t z = 0; z < grid.nz; ++z) {
    for (int64_t y = 0; y < grid.ny; ++y) {
      for (int64_t x = 0; x < grid.nx; ++x) {
        for (int64_t c = std::max<int64_t>(z - 1, 0); c <= std::min(z + 1, grid.nz - 1); ++c) {
          for (int64_t b = std::max<int64_t>(y - 1, 0); b <= std::min(y + 1, grid.ny - 1); ++b) {
            for (int64_t a = std::max<int64_t>(x - 1, 0); a <= std::min(x + 1, grid.nx - 1); ++a) {
              visit(grid.node(x, y, z), grid.node(a, b, c), a - x, b - y, c - z);
            }
          }
        }
      }
    }
  }
}

/// The discrete Laplacian: -1 for each neighbour. `star` couples along the axes only.
SparseTensor make_laplacian(const Grid& grid, bool star, double diagonal) {
  EntryList entries({grid.num_nodes(), grid.num_nodes()});
  for_each_neighbour(grid, [&](int64_t node, int64_t other, int64_t dx, int64_t dy, int64_t dz) {
    if (star && std::abs(dx) + std::abs(dy) + std::abs(dz) > 1) return;
    entries.add(node, other, node == other ? diagonal : -1);
  });
  return entries.finish();
}

void check_points(const SyntheticSpec& spec, int64_t few, int64_t many) {
  const int64_t points = spec.integer("points");
  if (points == few || points == many) return;
  throw UsageError(fmt::format("{}: points must be {} or {}, not {}", spec.family, few, many, points));
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

}  // namespace

SparseTensor make_stencil2d(const SyntheticSpec& spec) {
  check_points(spec, 5, 9);
  const int64_t n = spec.integer("n");
  const int64_t points = spec.integer("points");
  return make_laplacian({n, n, 1}, points == 5, static_cast<double>(points - 1));
}

SparseTensor make_stencil3d(const SyntheticSpec& spec) {
  check_points(spec, 7, 27);
  const int64_t n = spec.integer("n");
  const int64_t points = spec.integer("points");
  return make_laplacian({n, n, n}, points == 7, static_cast<double>(points - 1));
}

SparseTensor make_fem(const SyntheticSpec& spec) {
  const Grid grid = {spec.integer("nx"), spec.integer("ny"), spec.integer("nz")};
  const int64_t dof = spec.integer("dof");
  EntryList entries({grid.num_nodes() * dof, grid.num_nodes() * dof});
  for_each_neighbour(grid, [&](int64_t node, int64_t other, int64_t dx, int64_t dy, int64_t dz) {
    for (int64_t row = 0; row < dof; ++row) {
      for (int64_t col = 0; col < dof; ++col) {
        entries.add(node * dof + row, other * dof + col, stiffness(dx, dy, dz, row, col, spec.seed));
      }
    }
  });
  return entries.finish();
}

SparseTensor make_road(const SyntheticSpec& spec) {
  constexpr double kLongConnection = 0.005;
  constexpr int64_t kNumberingBlock = 64;
  const int64_t n = spec.integer("n");
  const int64_t num_nodes = n * n;
  Random random(spec.seed);
  // Vertices are numbered along the grid, but shuffled among near ones, as map data is.
  std::vector<int64_t> number(static_cast<size_t>(num_nodes));
  std::iota(number.begin(), number.end(), 0);
  for (int64_t begin = 0; begin < num_nodes; begin += kNumberingBlock) {
    const int64_t size = std::min(kNumberingBlock, num_nodes - begin);
    for (int64_t i = size - 1; i > 0; --i) {
      const auto j = static_cast<int64_t>(random.below(static_cast<uint64_t>(i) + 1));
      std::swap(number[static_cast<size_t>(begin + i)], number[static_cast<size_t>(begin + j)]);
    }
  }
  EntryList entries({num_nodes, num_nodes});
  const auto connect = [&](int64_t a, int64_t b) {
    if (a == b) return;
    entries.add_symmetric(number[static_cast<size_t>(a)], number[static_cast<size_t>(b)],
                          1 + random.uniform());
  };
  const double keep = spec.number("keep");
  for (int64_t node = 0; node < num_nodes; ++node) {
    if (node % n + 1 < n && random.chance(keep)) connect(node, node + 1);
    if (node + n < num_nodes && random.chance(keep)) connect(node, node + n);
    if (random.chance(kLongConnection)) {
      const auto reach = static_cast<int64_t>(random.below(static_cast<uint64_t>(8 * n)));
      connect(node, std::min(node + reach, num_nodes - 1));
    }
  }
  return entries.finish();
}

}  // namespace waco::matrix
