// Seeded matrices and tensors of known families, for tests, samples and training data.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "waco/matrix/recipe.hpp"
#include "waco/matrix/sparse_tensor.hpp"

namespace waco::matrix {

struct SyntheticFamily : RecipeTerm {
  SparseTensor (*generate)(const Recipe& recipe);  ///< of a complete recipe; the tensor has no name
};

/// All families, matrices first.
const std::vector<SyntheticFamily>& synthetic_families();

/// Parses the text form, see parse_recipe(). Throws UsageError for an unknown family too.
Recipe parse_synthetic(std::string_view text);

/// The same recipe gives the same tensor on every machine and with any number of threads. Its name is the
/// text form with '_' and '-' for blanks and '='. `recipe` is one that parse_synthetic returned. Throws
/// UsageError for parameters that do not fit together.
SparseTensor generate(const Recipe& recipe);
SparseTensor generate(std::string_view text);  ///< of parse_synthetic(text)

}  // namespace waco::matrix
