// From where the points of a dataset are drawn, and how many from each.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "waco/schedule/space.hpp"

namespace waco::collect {

/// In the order in which a matrix is measured. All but kNeighbours are the same whatever the times are.
enum class Stratum : uint8_t {
  kFixedCsr,      ///< the baseline itself, always one
  kAsked,         ///< named by the user
  kModel,         ///< what a search by the closed-form model would measure
  kLearned,       ///< what a search by a learned model would measure
  kBlocked,       ///< dense inner blocks
  kSliced,        ///< ELL and SELL-C-sigma
  kSparseBlocks,  ///< large outer blocks, compressed inside
  kCsrLike,       ///< whole indices in U and C levels
  kCoo,           ///< tuples
  kUniform,       ///< any legal point
  kNeighbours,    ///< one change away from the best so far on the matrix
};
inline constexpr int kNumStrata = 11;

std::string_view name(Stratum stratum);  ///< "fixed_csr", "model", ... as records have it

/// The family of formats a stratum draws from; none for fixed_csr, asked, model, learned and neighbours.
std::optional<schedule::Stratum> family_of(Stratum stratum);

/// Records of each stratum, in the order of Stratum, that make up `per_matrix` >= 1: fixed_csr one, asked
/// none, the others by fixed shares. `by_learned`: both cost models choose, and all others are neighbours.
std::array<int, kNumStrata> strata_sizes(int per_matrix, bool by_learned = false);

}  // namespace waco::collect
