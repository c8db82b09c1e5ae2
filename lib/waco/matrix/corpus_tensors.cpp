// Kinds of 3-D tensors of a corpus.
#include <fmt/format.h>

#include <algorithm>

#include "waco/matrix/corpus_kinds.hpp"

namespace waco::matrix {
namespace {

/// A matrix whose nonzeros are each at several random places of a third mode: how SpTFS (Sun et al., SC'20)
/// makes tensors of the matrices of a collection, which the paper follows. Twice the share of other kinds.
std::string deepened(int64_t nnz, Random& random) {
  const std::vector<MakeRecipe>& kinds = matrix_kinds();
  const int64_t l = log_uniform(random, 8, 100'000);
  const int64_t depth = log_uniform(random, 1, std::min<int64_t>(16, l / 2));
  const std::string matrix = kinds[random.below(kinds.size())](std::max<int64_t>(nnz / depth, 2000), random);
  return matrix + fmt::format(" | deepen l={} depth={} seed={}", l, depth, draw_seed(random));
}

/// "tensor... i= k= l= nnz=" with modes of very different sizes and at most a hundredth filled.
std::string sized(const std::string& family, int64_t nnz, Random& random) {
  int64_t dims[3];
  double volume = 0;
  while (volume < 100.0 * static_cast<double>(nnz)) {
    volume = 1;
    for (int64_t& dim : dims) {
      dim = log_uniform(random, 24, 200'000);
      volume *= static_cast<double>(dim);
    }
  }
  return fmt::format("{} i={} k={} l={} nnz={} seed={}", family, dims[0], dims[1], dims[2], nnz,
                     draw_seed(random));
}

std::string uniform_tensor(int64_t nnz, Random& random) {
  return sized("tensor", nnz, random);
}

std::string power_tensor(int64_t nnz, Random& random) {
  return sized("tensor-power", nnz, random) + fmt::format(" skew={}", pick(random, {2, 2, 3}));
}

std::string mode_skewed_tensor(int64_t nnz, Random& random) {
  std::string recipe = sized("tensor-modes", nnz, random);
  for (const char* mode : {"i", "k", "l"}) {
    recipe += fmt::format(" skew_{}={}", mode, pick(random, {1, 1.25, 1.5, 2, 2.5}));
  }
  return recipe;
}

std::string fiber_tensor(int64_t nnz, Random& random) {
  return sized("tensor-fibers", nnz, random) +
         fmt::format(" length={} skew={}", log_uniform(random, 3, 64), pick(random, {1, 1.5, 2}));
}

std::string block_tensor(int64_t nnz, Random& random) {
  return sized("tensor-blocks", nnz, random) +
         fmt::format(" side={} fill={}", between(random, 2, 8), pick(random, {1, 0.7, 0.3}));
}

std::string band_tensor(int64_t nnz, Random& random) {
  const int64_t reach = log_uniform(random, 8, 500);
  const int64_t i = std::max(log_uniform(random, 1000, 200'000), 10 * nnz / (4 * reach * reach) + 1);
  const int64_t least = 2 * reach + 1;
  return fmt::format("tensor-band i={} k={} l={} nnz={} reach={} seed={}", i,
                     std::max(least, log_uniform(random, 100, 100'000)),
                     std::max(least, log_uniform(random, 100, 100'000)), nnz, reach, draw_seed(random));
}

}  // namespace

const std::vector<MakeRecipe>& tensor_kinds() {
  static const std::vector<MakeRecipe> kinds = {
      deepened,           uniform_tensor, deepened,     power_tensor, deepened, mode_skewed_tensor,
      mode_skewed_tensor, deepened,       fiber_tensor, block_tensor, deepened, band_tensor};
  return kinds;
}

}  // namespace waco::matrix
