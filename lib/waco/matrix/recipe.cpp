// Reading and writing the text of recipes.
#include "waco/matrix/recipe.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "waco/base/error.hpp"
#include "waco/matrix/line.hpp"

namespace waco::matrix {
namespace {

double parse_number(const RecipeTerm& term, std::string_view word, std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    throw UsageError(fmt::format("{}: '{}' needs a number behind '='", term.name, word));
  }
  return value;
}

uint64_t parse_seed(const RecipeTerm& term, std::string_view text) {
  uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw UsageError(fmt::format("{}: seed '{}' is not a whole number of 64 bits", term.name, text));
  }
  return seed;
}

double checked(const RecipeTerm& term, const RecipeParameter& parameter, double value) {
  const bool whole = parameter.fraction || value == std::floor(value);
  if (value >= parameter.least && value <= parameter.most && whole) return value;
  throw UsageError(fmt::format("{}: {} must be a {} from {} to {}, not {}", term.name, parameter.name,
                               parameter.fraction ? "number" : "whole number", parameter.least,
                               parameter.most, value));
}

void set(const RecipeTerm& term, Recipe& recipe, std::string_view word) {
  const size_t equals = std::min(word.find('='), word.size());
  const std::string_view name = word.substr(0, equals);
  const std::string_view text = word.substr(std::min(equals + 1, word.size()));
  if (name == "seed") {
    recipe.seed = parse_seed(term, text);
    return;
  }
  std::string known = "seed";
  for (size_t i = 0; i < term.parameters.size(); ++i) {
    const RecipeParameter& parameter = term.parameters[i];
    known += ", " + parameter.name;
    if (parameter.name != name) continue;
    recipe.parameters[i].second = checked(term, parameter, parse_number(term, word, text));
    return;
  }
  throw UsageError(fmt::format("{}: no parameter '{}'; there are {}", term.name, name, known));
}

}  // namespace

double Recipe::number(std::string_view parameter) const {
  for (const auto& [known, value] : parameters) {
    if (known == parameter) return value;
  }
  WACO_ASSERT(!"a parameter of the term");
  return 0;
}

Recipe parse_recipe(const RecipeTerm& term, std::string_view text) {
  const std::vector<std::string_view> words = words_of(text);
  WACO_ASSERT(!words.empty() && words[0] == term.name);
  Recipe recipe;
  recipe.name = term.name;
  for (const RecipeParameter& parameter : term.parameters) {
    recipe.parameters.emplace_back(parameter.name, parameter.standard);
  }
  for (size_t i = 1; i < words.size(); ++i) set(term, recipe, words[i]);
  return recipe;
}

std::string to_text(const Recipe& recipe) {
  std::string text = recipe.name;
  for (const auto& [name, value] : recipe.parameters) {
    text += value == std::floor(value) ? fmt::format(" {}={:.0f}", name, value)
                                       : fmt::format(" {}={}", name, value);
  }
  return text + fmt::format(" seed={}", recipe.seed);
}

std::string name_of_recipe(std::string text) {
  std::replace(text.begin(), text.end(), ' ', '_');
  std::replace(text.begin(), text.end(), '=', '-');
  return text;
}

}  // namespace waco::matrix
