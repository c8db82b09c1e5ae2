// Draws and kinds behind corpus_recipes.hpp.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "waco/base/random.hpp"

namespace waco::matrix {

/// A recipe of one kind for about that many nonzeros, see recipe_of_size().
using MakeRecipe = std::string (*)(int64_t num_nonzeros, Random& random);

const std::vector<MakeRecipe>& mesh_kinds();
const std::vector<MakeRecipe>& structured_kinds();
const std::vector<MakeRecipe>& graph_kinds();  ///< and random ones, and programs
/// The three above.
const std::vector<MakeRecipe>& matrix_kinds();
const std::vector<MakeRecipe>& tensor_kinds();

/// Rows of the largest matrix that kinds with short rows make.
constexpr int64_t kMostRows = 400'000;
/// Rows that hold `num_nonzeros` at `row_entries` each, from 16 to kMostRows.
int64_t rows_for(int64_t num_nonzeros, double row_entries);

/// Log-uniform in [least, most], the same on every machine.
int64_t log_uniform(Random& random, int64_t least, int64_t most);
/// Uniform in [least, most].
int64_t between(Random& random, int64_t least, int64_t most);
/// One of `choices`.
double pick(Random& random, std::initializer_list<double> choices);
/// For the text of a recipe.
int64_t draw_seed(Random& random);
/// Its whole part, at least 1.
int64_t square_root(double square);

}  // namespace waco::matrix
