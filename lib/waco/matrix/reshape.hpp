// Steps that make another tensor from one: reordered, of another size or shape.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "waco/matrix/recipe.hpp"
#include "waco/matrix/sparse_tensor.hpp"

namespace waco::matrix {

struct ReshapeStep : RecipeTerm {
  SparseTensor (*apply)(SparseTensor tensor, const Recipe& recipe);
};

/// The last row and column that a window of the step "crop" can begin at.
inline constexpr int64_t kLastCropped = 1'000'000'000;

/// All steps.
const std::vector<ReshapeStep>& reshape_steps();

/// Whether the first word of `text` is a step.
bool names_step(std::string_view text);

/// Parses the text form, see parse_recipe(). Throws UsageError for an unknown step too.
Recipe parse_step(std::string_view text);

/// `tensor` after a step that parse_step returned; its name is kept. Deterministic on every machine and for
/// any number of threads. Throws UsageError for a step that does not fit the tensor.
SparseTensor reshape(SparseTensor tensor, const Recipe& step);

}  // namespace waco::matrix
