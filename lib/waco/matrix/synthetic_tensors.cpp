// Synthetic 3-D tensors: random ones, uniform and skewed, and ones with structure.
#include <algorithm>
#include <array>

#include "waco/matrix/entry_list.hpp"
#include "waco/matrix/synthetic_families.hpp"

namespace waco::matrix {
namespace {

std::vector<int64_t> dims_of(const Recipe& recipe) {
  return {recipe.integer("i"), recipe.integer("k"), recipe.integer("l")};
}

/// `nnz` entries, each with a skew per mode; takes four draws an entry from one sequence.
SparseTensor make_skewed(const Recipe& recipe, const std::array<double, 3>& skew) {
  const std::vector<int64_t> dims = dims_of(recipe);
  const auto fill = [&](int64_t begin, int64_t end, EntryList& entries) {
    Random random(recipe.seed);
    random.skip(static_cast<uint64_t>(4 * begin));
    for (int64_t n = begin; n < end; ++n) {
      const int64_t i = skewed_below(random, dims[0], skew[0]);
      const int64_t k = skewed_below(random, dims[1], skew[1]);
      const int64_t l = skewed_below(random, dims[2], skew[2]);
      entries.add(i, k, l, random_value(random));
    }
  };
  return generate_blocks(dims, recipe.integer("nnz"), block_of(1), fill);
}

}  // namespace

SparseTensor make_tensor_uniform(const Recipe& recipe) {
  return make_skewed(recipe, {1, 1, 1});
}

SparseTensor make_tensor_power(const Recipe& recipe) {
  const double skew = recipe.number("skew");
  return make_skewed(recipe, {skew, skew, skew});
}

SparseTensor make_tensor_modes(const Recipe& recipe) {
  SparseTensor tensor =
      make_skewed(recipe, {recipe.number("skew_i"), recipe.number("skew_k"), recipe.number("skew_l")});
  for (size_t mode = 0; mode < tensor.coords.size(); ++mode) {
    const auto order = random_permutation(tensor.dims[mode], Random(recipe.seed, mode));
    for (int64_t& coord : tensor.coords[mode]) coord = order[static_cast<size_t>(coord)];
  }
  sort_and_merge(tensor);
  return tensor;
}

SparseTensor make_tensor_fibers(const Recipe& recipe) {
  const std::vector<int64_t> dims = dims_of(recipe);
  const double skew = recipe.number("skew");
  const int64_t length = std::min(recipe.integer("length"), dims[2]);
  const auto order = random_permutation(dims[0], Random(recipe.seed, 0));
  const int64_t num_fibers = (recipe.integer("nnz") + length - 1) / length;
  const auto fill = [&](int64_t begin, int64_t end, EntryList& entries) {
    Random random(recipe.seed, static_cast<uint64_t>(begin) + 1);
    for (int64_t fiber = begin; fiber < end; ++fiber) {
      const int64_t i = order[static_cast<size_t>(skewed_below(random, dims[0], skew))];
      const int64_t k = below(random, dims[1]);
      // Two thirds of a run are nonzeros, and runs of three halves of the length make up for it.
      const int64_t run = std::min((3 * length + 1) / 2, dims[2]);
      const double keep = static_cast<double>(length) / static_cast<double>(run);
      const int64_t first = below(random, dims[2] - run + 1);
      for (int64_t l = first; l < first + run; ++l) {
        if (random.chance(keep)) entries.add(i, k, l, random_value(random));
      }
    }
  };
  return generate_blocks(dims, num_fibers, block_of(static_cast<double>(length)), fill);
}

SparseTensor make_tensor_blocks(const Recipe& recipe) {
  const std::vector<int64_t> dims = dims_of(recipe);
  const int64_t side = recipe.integer("side");
  const double filled = recipe.number("fill");
  const double block_entries = std::max(static_cast<double>(side * side * side) * filled, 1.0);
  const auto num_blocks = static_cast<int64_t>(recipe.number("nnz") / block_entries) + 1;
  const auto fill = [&](int64_t begin, int64_t end, EntryList& entries) {
    Random random(recipe.seed, static_cast<uint64_t>(begin));
    for (int64_t block = begin; block < end; ++block) {
      std::array<int64_t, 3> first{};
      for (size_t mode = 0; mode < 3; ++mode)
        first[mode] = below(random, (dims[mode] + side - 1) / side) * side;
      for (int64_t i = first[0]; i < std::min(first[0] + side, dims[0]); ++i) {
        for (int64_t k = first[1]; k < std::min(first[1] + side, dims[1]); ++k) {
          for (int64_t l = first[2]; l < std::min(first[2] + side, dims[2]); ++l) {
            if (random.chance(filled)) entries.add(i, k, l, random_value(random));
          }
        }
      }
    }
  };
  return generate_blocks(dims, num_blocks, block_of(block_entries), fill);
}

SparseTensor make_tensor_band(const Recipe& recipe) {
  const std::vector<int64_t> dims = dims_of(recipe);
  const int64_t reach = recipe.integer("reach");
  const auto fill = [&](int64_t begin, int64_t end, EntryList& entries) {
    Random random(recipe.seed, static_cast<uint64_t>(begin));
    for (int64_t n = begin; n < end; ++n) {
      std::array<int64_t, 3> at{};
      at[0] = below(random, dims[0]);
      for (size_t mode = 1; mode < 3; ++mode) {
        const auto place = static_cast<int64_t>(static_cast<double>(at[0]) * static_cast<double>(dims[mode]) /
                                                static_cast<double>(dims[0]));
        at[mode] = std::clamp<int64_t>(place - reach + below(random, 2 * reach + 1), 0, dims[mode] - 1);
      }
      entries.add(at[0], at[1], at[2], random_value(random));
    }
  };
  return generate_blocks(dims, recipe.integer("nnz"), block_of(1), fill);
}

}  // namespace waco::matrix
