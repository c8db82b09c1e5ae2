// Names and shares of the strata.
#include "waco/collect/strata.hpp"

#include <algorithm>

#include "waco/base/error.hpp"

namespace waco::collect {
namespace {

/// In the order of Stratum; fixed_csr is counted apart. Few uniform points: nearly all of them are far slower
/// than the best, and a model learns little from telling apart what nobody would choose.
constexpr std::array<double, kNumStrata> kShares = {0, 0, 0.17, 0, 0.13, 0.11, 0.08, 0.12, 0.04, 0.07, 0.28};
/// What a learned model ranks first never shows it what it underrates; the closed-form model's choices do.
constexpr std::array<double, kNumStrata> kSharesByLearned = {0, 0, 0.25, 0.45, 0, 0, 0, 0, 0, 0, 0.3};

constexpr std::array<std::string_view, kNumStrata> kNames = {
    "fixed_csr",     "asked",    "model", "learned", "blocked",   "sliced",
    "sparse_blocks", "csr_like", "coo",   "uniform", "neighbours"};

}  // namespace

std::string_view name(Stratum stratum) {
  return kNames[static_cast<size_t>(stratum)];
}

std::optional<schedule::Stratum> family_of(Stratum stratum) {
  switch (stratum) {
    case Stratum::kBlocked:
      return schedule::Stratum::kBlocked;
    case Stratum::kSliced:
      return schedule::Stratum::kSliced;
    case Stratum::kSparseBlocks:
      return schedule::Stratum::kSparseBlocks;
    case Stratum::kCsrLike:
      return schedule::Stratum::kCsrLike;
    case Stratum::kCoo:
      return schedule::Stratum::kCoo;
    case Stratum::kUniform:
      return schedule::Stratum::kUniform;
    default:
      return std::nullopt;
  }
}

std::array<int, kNumStrata> strata_sizes(int per_matrix, bool by_learned) {
  WACO_ASSERT(per_matrix >= 1);
  const std::array<double, kNumStrata>& shares = by_learned ? kSharesByLearned : kShares;
  std::array<int, kNumStrata> sizes{};
  sizes[0] = 1;
  const int rest = per_matrix - 1;
  std::array<double, kNumStrata> missing{};
  int given = 0;
  for (size_t n = 1; n < kNumStrata; ++n) {
    const double wanted = shares[n] * rest;
    sizes[n] = static_cast<int>(wanted);
    missing[n] = wanted - sizes[n];
    given += sizes[n];
  }
  for (; given < rest; ++given) {  // largest remainders first
    const auto at = std::max_element(missing.begin() + 1, missing.end());
    ++sizes[static_cast<size_t>(at - missing.begin())];
    *at = -1;
  }
  return sizes;
}

}  // namespace waco::collect
