// The registry of steps, and what they do.
#include "waco/matrix/reshape.hpp"

#include <algorithm>
#include <utility>

#include "waco/base/error.hpp"
#include "waco/base/machine.hpp"
#include "waco/matrix/entry_list.hpp"
#include "waco/matrix/line.hpp"

namespace waco::matrix {
namespace {

int64_t& coord(SparseTensor& tensor, size_t mode, int64_t i) {
  return tensor.coords[mode][static_cast<size_t>(i)];
}

void need_matrix(const SparseTensor& tensor, const Recipe& recipe) {
  if (tensor.order() != 2) throw UsageError(fmt::format("{}: '{}' takes a matrix", tensor.name, recipe.name));
}

/// The place of each index of [0, dim) after units of `block` indices were permuted inside windows of
/// `window` units (0: all are one window). Indices behind the last whole unit stay.
std::vector<int64_t> shuffled_places(int64_t dim, int64_t block, int64_t window, uint64_t seed,
                                     uint64_t mode) {
  const int64_t units = dim / block;
  if (window == 0) window = std::max<int64_t>(units, 1);
  require_memory(dim * static_cast<int64_t>(sizeof(int64_t)));
  std::vector<int64_t> place(static_cast<size_t>(dim));
  for (int64_t i = units * block; i < dim; ++i) place[static_cast<size_t>(i)] = i;
  for (int64_t begin = 0; begin < units; begin += window) {
    const Random random(seed + mode, static_cast<uint64_t>(begin));
    const auto order = random_permutation(std::min(window, units - begin), random);
    for (size_t unit = 0; unit < order.size(); ++unit) {
      const int64_t from = (begin + static_cast<int64_t>(unit)) * block;
      const int64_t to = (begin + order[unit]) * block;
      for (int64_t i = 0; i < block; ++i) place[static_cast<size_t>(from + i)] = to + i;
    }
  }
  return place;
}

SparseTensor shuffle(SparseTensor tensor, const Recipe& recipe) {
  const bool square = tensor.order() == 2 && tensor.dims[0] == tensor.dims[1];
  const bool together = square && recipe.integer("apart") == 0;
  const int64_t count = tensor.num_nonzeros();
  std::vector<int64_t> place;
  for (size_t mode = 0; mode < tensor.dims.size(); ++mode) {
    if (mode == 0 || !together) {
      place = shuffled_places(tensor.dims[mode], recipe.integer("block"), recipe.integer("window"),
                              recipe.seed, mode);
    }
    int64_t* const column = tensor.coords[mode].data();
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < count; ++i) column[i] = place[static_cast<size_t>(column[i])];
  }
  sort_and_merge(tensor);
  return tensor;
}

/// Where index `at` of `from` goes in `to` indices; where several are its share, `u` in [0, 1) chooses.
int64_t scaled(int64_t at, int64_t from, int64_t to, double u) {
  const auto begin = [&](int64_t i) { return static_cast<int64_t>(static_cast<__int128>(i) * to / from); };
  const int64_t first = begin(at);
  const int64_t share = begin(at + 1) - first;
  return first + static_cast<int64_t>(u * static_cast<double>(std::max<int64_t>(share, 1)));
}

SparseTensor resize(SparseTensor tensor, const Recipe& recipe) {
  const std::vector<int64_t> from = tensor.dims;
  static constexpr const char* kNames[] = {"rows", "cols", "depth"};
  for (size_t mode = 0; mode < from.size(); ++mode) {
    const int64_t to = recipe.integer(kNames[mode]);
    if (to > 0) tensor.dims[mode] = to;
  }
  const int64_t count = tensor.num_nonzeros();
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < count; ++i) {
    int64_t& row = coord(tensor, 0, i);
    int64_t& col = coord(tensor, 1, i);
    // The same draws for an entry and its mirror image, so that symmetric matrices stay symmetric.
    const bool above = row <= col;
    Random random(recipe.seed + static_cast<uint64_t>(above ? col : row),
                  static_cast<uint64_t>(above ? row : col));
    const double u = random.uniform();
    const double v = row == col ? u : random.uniform();
    row = scaled(row, from[0], tensor.dims[0], above ? u : v);
    col = scaled(col, from[1], tensor.dims[1], above ? v : u);
    if (from.size() == 3)
      coord(tensor, 2, i) = scaled(coord(tensor, 2, i), from[2], tensor.dims[2], random.uniform());
  }
  sort_and_merge(tensor);
  return tensor;
}

SparseTensor crop(SparseTensor tensor, const Recipe& recipe) {
  const int64_t row = std::min(recipe.integer("row"), tensor.dims[0] - 1);
  const int64_t col = std::min(recipe.integer("col"), tensor.dims[1] - 1);
  const auto length = [](int64_t wanted, int64_t left) {
    return wanted == 0 ? left : std::min(wanted, left);
  };
  const int64_t rows = length(recipe.integer("rows"), tensor.dims[0] - row);
  const int64_t cols = length(recipe.integer("cols"), tensor.dims[1] - col);
  tensor.dims[0] = rows;
  tensor.dims[1] = cols;
  size_t kept = 0;
  for (size_t i = 0; i < tensor.values.size(); ++i) {
    const int64_t r = tensor.coords[0][i] - row;
    const int64_t c = tensor.coords[1][i] - col;
    if (r < 0 || r >= rows || c < 0 || c >= cols) continue;
    tensor.coords[0][kept] = r;
    tensor.coords[1][kept] = c;
    if (tensor.order() == 3) tensor.coords[2][kept] = tensor.coords[2][i];
    tensor.values[kept++] = tensor.values[i];
  }
  for (auto& column : tensor.coords) column.resize(kept);
  tensor.values.resize(kept);
  return tensor;
}

SparseTensor repeat(SparseTensor tensor, const Recipe& recipe) {
  need_matrix(tensor, recipe);
  const int64_t copies = recipe.integer("copies");
  const auto count = static_cast<size_t>(tensor.num_nonzeros());
  for (const int64_t dim : tensor.dims)
    if (dim > INT64_MAX / copies)
      throw UsageError(
          fmt::format("{}: {} copies of {} indices do not fit in 64 bits", tensor.name, copies, dim));
  constexpr int64_t kNonzeroBytes = 3 * sizeof(int64_t);
  require_memory(kNonzeroBytes * tensor.num_nonzeros() * copies);
  for (size_t mode = 0; mode < 2; ++mode) {
    std::vector<int64_t>& column = tensor.coords[mode];
    column.resize(count * static_cast<size_t>(copies));
    for (size_t i = count; i < column.size(); ++i) column[i] = column[i - count] + tensor.dims[mode];
    tensor.dims[mode] *= copies;
  }
  tensor.values.resize(count * static_cast<size_t>(copies));
  for (size_t i = count; i < tensor.values.size(); ++i) tensor.values[i] = tensor.values[i - count];
  return tensor;
}

SparseTensor transpose(SparseTensor tensor, const Recipe& recipe) {
  need_matrix(tensor, recipe);
  std::swap(tensor.dims[0], tensor.dims[1]);
  std::swap(tensor.coords[0], tensor.coords[1]);
  sort_and_merge(tensor);
  return tensor;
}

SparseTensor deepen(SparseTensor tensor, const Recipe& recipe) {
  need_matrix(tensor, recipe);
  const int64_t l = recipe.integer("l");
  const double depth = recipe.number("depth");
  const auto fill = [&](int64_t begin, int64_t end, EntryList& entries) {
    Random random(recipe.seed, static_cast<uint64_t>(begin));
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t n = rounded(random, depth); n > 0; --n) {
        const int64_t at = below(random, l);
        entries.add(coord(tensor, 0, i), coord(tensor, 1, i), at, random_value(random));
      }
    }
  };
  SparseTensor result =
      generate_blocks({tensor.dims[0], tensor.dims[1], l}, tensor.num_nonzeros(), block_of(depth), fill);
  result.name = tensor.name;
  return result;
}

std::vector<ReshapeStep> make_steps() {
  constexpr double kMany = 1 << 24;
  return {
      {{"shuffle",
        "rows and columns in random order: units of `block`, inside windows of `window` units (0: all); "
        "those "
        "of a square matrix alike unless `apart`",
        {{"block", 1, 1, 1024}, {"window", 0, 0, kMany}, {"apart", 0, 0, 1}}},
       shuffle},
      {{"resize",
        "coordinates scaled to rows x cols (x depth), 0: as it is; where they meet they are one nonzero, "
        "where "
        "there is room they scatter",
        {{"rows", 0, 0, kMany}, {"cols", 0, 0, kMany}, {"depth", 0, 0, kMany}}},
       resize},
      {{"crop",
        "the window of rows x cols (0: to the end) at (row, col); a third mode stays whole",
        {{"row", 0, 0, kLastCropped}, {"col", 0, 0, kLastCropped}, {"rows", 0, 0, 1e9}, {"cols", 0, 0, 1e9}}},
       crop},
      {{"repeat", "`copies` of a matrix along the diagonal", {{"copies", 2, 1, 1e4}}}, repeat},
      {{"transpose", "rows and columns of a matrix swapped", {}}, transpose},
      {{"deepen",
        "a tensor: every nonzero (i, k) of a matrix at `depth` random places of a third mode of `l`",
        {{"l", 100, 1, 1e9}, {"depth", 2, 0, 1e5, true}}},
       deepen},
  };
}

const ReshapeStep* find_step(std::string_view text) {
  const std::vector<std::string_view> words = words_of(text, 1);
  for (const ReshapeStep& step : reshape_steps()) {
    if (!words.empty() && step.name == words[0]) return &step;
  }
  return nullptr;
}

}  // namespace

const std::vector<ReshapeStep>& reshape_steps() {
  static const std::vector<ReshapeStep> steps = make_steps();
  return steps;
}

bool names_step(std::string_view text) {
  return find_step(text) != nullptr;
}

Recipe parse_step(std::string_view text) {
  if (const ReshapeStep* step = find_step(text)) return parse_recipe(*step, text);
  std::string known;
  for (const ReshapeStep& step : reshape_steps()) known += (known.empty() ? "" : ", ") + step.name;
  throw UsageError(fmt::format("unknown step '{}'; there are {}", text, known));
}

SparseTensor reshape(SparseTensor tensor, const Recipe& step) {
  const ReshapeStep* known = find_step(step.name);
  WACO_ASSERT(known != nullptr);
  return known->apply(std::move(tensor), step);
}

}  // namespace waco::matrix
