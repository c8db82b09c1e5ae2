// How copies of a tensor are reshaped.
#include <fmt/format.h>

#include <algorithm>

#include "waco/matrix/corpus.hpp"
#include "waco/matrix/corpus_kinds.hpp"
#include "waco/matrix/corpus_recipes.hpp"
#include "waco/matrix/reshape.hpp"

namespace waco::matrix {
namespace {

int64_t scaled_by(int64_t dim, double factor) {
  constexpr int64_t kLeast = 64;
  return std::clamp<int64_t>(static_cast<int64_t>(static_cast<double>(dim) * factor), kLeast,
                             kMostAugmentedRows - 1);
}

/// From a quarter to four times, or less for a dimension near the limit or over it.
double draw_factor(int64_t longest, Random& random) {
  constexpr int64_t kUnit = 1'000'000;
  const int64_t most = std::min(4 * kUnit, kMostAugmentedRows * kUnit / longest);
  const int64_t least = std::max<int64_t>(std::min(kUnit, most) / 4, 1);
  return static_cast<double>(log_uniform(random, least, most)) / kUnit;
}

double volume_of(const std::vector<int64_t>& dims) {
  double volume = 1;
  for (const int64_t dim : dims) volume *= static_cast<double>(dim);
  return volume;
}

/// The paper's way: other dimensions, together or each by itself.
std::string draw_resize(const std::vector<int64_t>& dims, int64_t nnz, int copy, Random& random) {
  constexpr double kMostFilled = 0.3;
  const bool together = random.chance(0.5);
  for (;;) {
    std::vector<int64_t> to;
    const double factor = draw_factor(*std::max_element(dims.begin(), dims.end()), random);
    for (const int64_t dim : dims) to.push_back(scaled_by(dim, together ? factor : draw_factor(dim, random)));
    // Not denser than sparse formats make sense for, unless the original is.
    const double volume = volume_of(to);
    const bool too_dense = static_cast<double>(nnz) > kMostFilled * volume && volume < volume_of(dims);
    if (too_dense && random.chance(0.95)) continue;
    std::string step = fmt::format("resize rows={} cols={}", to[0], to[1]);
    if (to.size() == 3) step += fmt::format(" depth={}", to[2]);
    return step + fmt::format(" seed={}", copy + 1);
  }
}

/// A part with its local structure: a window on the diagonal where there are as many columns as rows,
/// otherwise rows. Of a tensor the third mode stays whole.
std::string draw_crop(const std::vector<int64_t>& dims, double most, int copy, Random& random) {
  const double limit = static_cast<double>(kMostAugmentedRows) / static_cast<double>(dims[0]);
  const double share = std::min(most, limit) * (0.4 + 0.6 * random.uniform());
  const auto rows = std::clamp<int64_t>(static_cast<int64_t>(share * static_cast<double>(dims[0])), 1,
                                        std::min(dims[0], kMostAugmentedRows - 1));
  const int64_t row = between(random, 0, std::min(dims[0] - rows, kLastCropped));
  const bool square = dims[0] == dims[1];
  return fmt::format("crop row={} col={} rows={} cols={} seed={}", row, square ? row : 0, rows,
                     square ? rows : 0, copy + 1);
}

}  // namespace

std::vector<std::string> draw_reshaping(const std::vector<int64_t>& dims, int64_t num_nonzeros, int copy,
                                        Random& random) {
  const double way = random.uniform();
  // Too many nonzeros are cut off: resizing keeps most of them.
  const double most =
      std::min(0.8, 0.9 * static_cast<double>(kMostAugmentedNonzeros) / static_cast<double>(num_nonzeros));
  if (num_nonzeros > kMostAugmentedNonzeros) return {draw_crop(dims, most, copy, random)};
  if (dims.size() == 3) return {draw_resize(dims, num_nonzeros, copy, random)};
  const int64_t longest = std::max(dims[0], dims[1]);
  const int64_t most_copies =
      std::min(kMostAugmentedRows / longest, kMostAugmentedNonzeros / std::max<int64_t>(num_nonzeros, 1));
  if (way > 0.8 && most_copies >= 2) {
    return {fmt::format("repeat copies={} seed={}", between(random, 2, std::min<int64_t>(most_copies, 8)),
                        copy + 1)};
  }
  if (way > 0.6 && num_nonzeros > kLeastNonzeros) return {draw_crop(dims, most, copy, random)};
  return {draw_resize(dims, num_nonzeros, copy, random)};
}

}  // namespace waco::matrix
