// Synthetic graphs: R-MAT, Chung-Lu, the web, users and items.
#include <algorithm>

#include "waco/matrix/entry_list.hpp"
#include "waco/matrix/synthetic_families.hpp"

namespace waco::matrix {
namespace {

/// One edge of an R-MAT graph (Chakrabarti, Zhan, Faloutsos 2004) with the Graph500 probabilities.
void add_rmat_edge(EntryList& entries, int64_t scale, Random& random) {
  constexpr double kA = 0.57;
  constexpr double kB = 0.19;
  constexpr double kC = 0.19;
  int64_t row = 0;
  int64_t col = 0;
  for (int64_t bit = 0; bit < scale; ++bit) {
    const double draw = random.uniform();
    row = 2 * row + (draw >= kA + kB ? 1 : 0);
    col = 2 * col + ((((draw >= kA) & (draw < kA + kB)) | (draw >= kA + kB + kC)) ? 1 : 0);
  }
  entries.add(row, col, random_value(random));
}

int64_t times(double degree, int64_t rows) {
  return static_cast<int64_t>(degree * static_cast<double>(rows));
}

}  // namespace

SparseTensor make_rmat(const Recipe& recipe) {
  const int64_t scale = recipe.integer("scale");
  const int64_t n = int64_t{1} << scale;
  const auto fill = [&](int64_t begin, int64_t end, EntryList& entries) {
    Random random(recipe.seed);
    random.skip(static_cast<uint64_t>(begin * (scale + 1)));
    for (int64_t edge = begin; edge < end; ++edge) add_rmat_edge(entries, scale, random);
  };
  return generate_blocks({n, n}, times(recipe.number("degree"), n), block_of(1), fill);
}

SparseTensor make_chung_lu(const Recipe& recipe) {
  constexpr double kNear = 4;  // skew of the distances of local edges
  const int64_t n = recipe.integer("n");
  const double skew = recipe.number("skew");
  const double local = recipe.number("local");
  const std::vector<int64_t> vertex = random_permutation(n, Random(recipe.seed));
  const auto fill = [&](int64_t begin, int64_t end, EntryList& entries) {
    Random random(recipe.seed, static_cast<uint64_t>(begin));
    for (int64_t edge = begin; edge < end; ++edge) {
      const int64_t from = vertex[static_cast<size_t>(skewed_below(random, n, skew))];
      const int64_t to = random.chance(local) ? (from + 1 + skewed_below(random, n, kNear)) % n
                                              : vertex[static_cast<size_t>(skewed_below(random, n, skew))];
      entries.add_symmetric(from, to, random_value(random));
    }
  };
  return generate_blocks({n, n}, times(recipe.number("degree") / 2, n), block_of(2), fill);
}

SparseTensor make_web(const Recipe& recipe) {
  constexpr double kOutside = 0.25;  // new links that leave the host
  constexpr double kPopular = 3;     // skew of the pages that those lead to
  const int64_t n = recipe.integer("n");
  const double degree = recipe.number("degree");
  const double copy = recipe.number("copy");
  const int64_t host = recipe.integer("host");
  const std::vector<int64_t> page = random_permutation(n, Random(recipe.seed));
  const auto fill = [&](int64_t begin, int64_t end, EntryList& entries) {
    Random random(recipe.seed, static_cast<uint64_t>(begin));
    std::vector<int64_t> links;
    for (int64_t row = begin; row < end; ++row) {
      std::vector<int64_t> next;
      for (const int64_t link : links) {
        if (random.chance(copy)) next.push_back(link);
      }
      // Lengths vary: from none to twice the mean.
      const int64_t wanted = rounded(random, 2 * degree * random.uniform());
      while (static_cast<int64_t>(next.size()) < wanted) {
        next.push_back(random.chance(kOutside) ? page[static_cast<size_t>(skewed_below(random, n, kPopular))]
                                               : begin + below(random, end - begin));
      }
      for (const int64_t link : next) entries.add(row, link, 1);
      std::swap(links, next);
    }
  };
  // A host is a block of its own, so that threads need not agree on what to copy.
  return generate_blocks({n, n}, n, host, fill);
}

SparseTensor make_bipartite(const Recipe& recipe) {
  const int64_t rows = recipe.integer("rows");
  const int64_t cols = recipe.integer("cols");
  const double row_skew = recipe.number("row_skew");
  const double col_skew = recipe.number("col_skew");
  const std::vector<int64_t> row = random_permutation(rows, Random(recipe.seed, 0));
  const std::vector<int64_t> col = random_permutation(cols, Random(recipe.seed, 1));
  const auto fill = [&](int64_t begin, int64_t end, EntryList& entries) {
    Random random(recipe.seed, static_cast<uint64_t>(begin) + 2);
    for (int64_t edge = begin; edge < end; ++edge) {
      const int64_t user = row[static_cast<size_t>(skewed_below(random, rows, row_skew))];
      const int64_t item = col[static_cast<size_t>(skewed_below(random, cols, col_skew))];
      entries.add(user, item, 1 + static_cast<double>(below(random, 5)));
    }
  };
  return generate_blocks({rows, cols}, times(recipe.number("degree"), rows), block_of(1), fill);
}

}  // namespace waco::matrix
