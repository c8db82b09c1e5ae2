// Choosing results that differ in what matters, so that measuring ten points tells more than measuring one.
#pragma once

#include <string>
#include <vector>

#include "waco/search/pool.hpp"

namespace waco::search {

/// What makes a storage format different in kind. A cost model that errs on one kind errs on all of its
/// points, so every kind that is worth it gets a share of what is looked at, whatever the model thinks of the
/// others.
enum class Kind { kRows, kBlocks, kSlices, kOther };
inline constexpr int kNumKinds = 4;
Kind kind_of(const schedule::SuperSchedule& point);

/// What a point is called at three grains; equal names mean alike points.
struct Kinship {
  std::string family;     ///< levels and loop order without numbers: "CSR", "row blocks", ...
  std::string format;     ///< the levels with their numbers, without splits that change nothing
  std::string structure;  ///< format, loops and tile: all but threads, unroll and prefetch
};
Kinship kinship(const schedule::SuperSchedule& point);

/// At most `num_results` feasible points of the pool, cheapest first. Each kind of format (rows, blocks,
/// slices, others) first gets its share of them; then the cheapest follow, one point per structure, at most
/// two per format and two fifths of the results per family; what remains is filled with the cheapest that
/// differ in policy, then with the cheapest.
std::vector<Scored> select_diverse(Pool& pool, int num_results);

}  // namespace waco::search
