// Choosing results that differ in what matters, so that measuring ten points tells more than measuring one.
#pragma once

#include <vector>

#include "waco/search/pool.hpp"

namespace waco::search {

/// At most `num_results` feasible points of the pool, cheapest first. Each kind of format (rows, blocks,
/// slices, others) first gets its share of them; then the cheapest follow, one point per structure, at most
/// two per format and two fifths of the results per family; what remains is filled with the cheapest that
/// differ in policy, then with the cheapest.
std::vector<Scored> select_diverse(Pool& pool, int num_results);

}  // namespace waco::search
