// Which recipes a corpus is made of: kinds of matrices, each with parameters drawn for a size.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "waco/base/random.hpp"

namespace waco::matrix {

/// Kinds of recipes of `order` 2 or 3.
int num_recipe_kinds(int order);

/// The kinds [0, num_recipe_kinds) in random order.
std::vector<int> kind_order(int order, Random random);

/// The sizes of a corpus.
constexpr int64_t kLeastNonzeros = 10'000;
constexpr int64_t kMostNonzeros = 4'000'000;

/// A number of nonzeros: log-uniform in three ranges, two thirds of the time from 1e5 to 1e6.
int64_t draw_num_nonzeros(Random& random);

/// A recipe of the kind for about `num_nonzeros`, within a factor of 2.5, except where a short-rowed kind
/// would need too many rows for that: then fewer.
std::string recipe_of_size(int order, int kind, int64_t num_nonzeros, Random& random);

/// Steps that change size or shape of a tensor within the limits of corpus.hpp. `copy` is their seed.
std::vector<std::string> draw_reshaping(const std::vector<int64_t>& dims, int64_t num_nonzeros, int copy,
                                        Random& random);

}  // namespace waco::matrix
