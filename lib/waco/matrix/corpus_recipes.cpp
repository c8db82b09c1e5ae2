// Sizes and turns of the kinds of a corpus, and the draws that kinds share.
#include "waco/matrix/corpus_recipes.hpp"

#include <algorithm>
#include <cmath>

#include "waco/matrix/corpus_kinds.hpp"
#include "waco/matrix/entry_list.hpp"

namespace waco::matrix {
namespace {

const std::vector<MakeRecipe>& kinds_of(int order) {
  return order == 2 ? matrix_kinds() : tensor_kinds();
}

std::vector<MakeRecipe> make_matrix_kinds() {
  std::vector<MakeRecipe> all = mesh_kinds();
  for (const auto* kinds : {&structured_kinds(), &graph_kinds()}) {
    all.insert(all.end(), kinds->begin(), kinds->end());
  }
  return all;
}

}  // namespace

const std::vector<MakeRecipe>& matrix_kinds() {
  static const std::vector<MakeRecipe> kinds = make_matrix_kinds();
  return kinds;
}

int num_recipe_kinds(int order) {
  return static_cast<int>(kinds_of(order).size());
}

std::vector<int> kind_order(int order, Random random) {
  const std::vector<int64_t> places = random_permutation(num_recipe_kinds(order), random);
  return {places.begin(), places.end()};
}

int64_t draw_num_nonzeros(Random& random) {
  const double range = random.uniform();
  if (range < 0.18) return log_uniform(random, kLeastNonzeros, 100'000);
  if (range < 0.86) return log_uniform(random, 100'000, 1'000'000);
  return log_uniform(random, 1'000'000, kMostNonzeros);
}

std::string recipe_of_size(int order, int kind, int64_t num_nonzeros, Random& random) {
  return kinds_of(order)[static_cast<size_t>(kind)](num_nonzeros, random);
}

int64_t rows_for(int64_t num_nonzeros, double row_entries) {
  return std::clamp<int64_t>(static_cast<int64_t>(static_cast<double>(num_nonzeros) / row_entries), 16,
                             kMostRows);
}

int64_t log_uniform(Random& random, int64_t least, int64_t most) {
  constexpr double kRatio = 1.02;
  if (most <= least) return least;
  int64_t steps = 0;
  for (double x = static_cast<double>(least); x < static_cast<double>(most); x *= kRatio) ++steps;
  auto x = static_cast<double>(least);
  for (auto step = static_cast<int64_t>(random.below(static_cast<uint64_t>(steps))); step > 0; --step)
    x *= kRatio;
  return std::min(static_cast<int64_t>(x * (1 + random.uniform() * (kRatio - 1))), most);
}

int64_t between(Random& random, int64_t least, int64_t most) {
  return least + static_cast<int64_t>(random.below(static_cast<uint64_t>(most - least + 1)));
}

double pick(Random& random, std::initializer_list<double> choices) {
  return choices.begin()[random.below(choices.size())];
}

int64_t draw_seed(Random& random) {
  return between(random, 1, 999'999);
}

int64_t square_root(double square) {
  return std::max<int64_t>(1, static_cast<int64_t>(std::sqrt(square)));
}

}  // namespace waco::matrix
