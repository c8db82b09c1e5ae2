// A word with named numbers, "rmat scale=14 degree=16 seed=1": how generated tensors, and the steps that
// reshape them, are written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace waco::matrix {

/// One parameter of a recipe. Values are whole numbers unless `fraction`, which allows those between.
struct RecipeParameter {
  std::string name;
  double standard;  ///< used when the text leaves it out
  double least;
  double most;
  bool fraction = false;
};

/// What a word means and takes. Every recipe also takes a seed.
struct RecipeTerm {
  std::string name;
  std::string description;  ///< one line
  std::vector<RecipeParameter> parameters;
};

struct Recipe {
  std::string name;  ///< of its term
  /// Every parameter of the term, in its order.
  std::vector<std::pair<std::string, double>> parameters;
  uint64_t seed = 1;

  /// Value of a parameter of the term.
  double number(std::string_view parameter) const;
  int64_t integer(std::string_view parameter) const { return static_cast<int64_t>(number(parameter)); }
};

/// Reads the text of a recipe of `term`; parameters may stand in any order and be left out. Throws UsageError
/// for an unknown parameter (naming those there are) and for a value out of its range.
Recipe parse_recipe(const RecipeTerm& term, std::string_view text);

/// The text with every parameter and the seed; parse_recipe() of it gives the same recipe.
std::string to_text(const Recipe& recipe);

/// `text` with characters that names of files may have: "rmat_scale-14_degree-16_seed-1".
std::string name_of_recipe(std::string text);

}  // namespace waco::matrix
