// Seeded matrices and tensors of known families, for tests, samples and training data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "waco/matrix/sparse_tensor.hpp"

namespace waco::matrix {

/// A family and its parameters. Text form: "rmat scale=14 degree=16 seed=1".
struct SyntheticSpec {
  std::string family;
  /// Every parameter of the family, in its order; see synthetic_families().
  std::vector<std::pair<std::string, double>> parameters;
  uint64_t seed = 1;

  /// Value of a parameter of the family.
  double number(std::string_view name) const;
  int64_t integer(std::string_view name) const { return static_cast<int64_t>(number(name)); }
};

/// One parameter of a family. Values are whole numbers unless `fraction`, which allows those between.
struct SyntheticParameter {
  std::string name;
  double standard;  ///< used when the text leaves it out
  double least;
  double most;
  bool fraction = false;
};

struct SyntheticFamily {
  std::string name;
  std::string description;  ///< one line
  std::vector<SyntheticParameter> parameters;
  SparseTensor (*generate)(const SyntheticSpec& spec);
};

/// All families, matrices first.
const std::vector<SyntheticFamily>& synthetic_families();

/// Parses the text form; parameters may stand in any order and be left out. Throws UsageError for an unknown
/// family or parameter (naming those there are) and for a value out of its range.
SyntheticSpec parse_synthetic(std::string_view text);

/// The text form with every parameter and the seed; parse_synthetic of it gives the same spec.
std::string to_text(const SyntheticSpec& spec);

/// The same spec gives the same tensor on every machine. Its name is the text form with '_' and '-' for
/// blanks and '='. `spec` is one that parse_synthetic returned.
SparseTensor generate(const SyntheticSpec& spec);
SparseTensor generate(std::string_view text);  ///< of parse_synthetic(text)

}  // namespace waco::matrix
