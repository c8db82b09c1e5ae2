// Distinct diagonals in sampled groups of rows.
#include "waco/pattern/diagonals.hpp"

#include <algorithm>
#include <vector>

#include "waco/base/error.hpp"
#include "waco/base/random.hpp"

namespace waco::pattern {

double fill_of_diagonals(const matrix::SparseTensor& matrix, int64_t rows) {
  WACO_ASSERT(matrix.order() == 2 && rows >= 1);
  constexpr int64_t kMostGroups = 1024, kLeastGroups = 64, kMostNonzeros = 32768;
  const std::vector<int64_t>& row = matrix.coords[0];
  const int64_t num_groups = (matrix.dims[0] + rows - 1) / rows;
  const int64_t wanted = std::max(num_groups / kMostGroups, matrix.num_nonzeros() / kMostNonzeros);
  const int64_t step = std::clamp<int64_t>(wanted, 1, std::max<int64_t>(1, num_groups / kLeastGroups));
  int64_t num_nonzeros = 0, num_diagonals = 0;
  std::vector<int64_t> diagonals;
  Random random(1);  // a grid's lines come at equal distances, too
  for (int64_t begin = 0; begin < num_groups; begin += step) {
    const int64_t group = begin + static_cast<int64_t>(random.below(static_cast<uint64_t>(step)));
    diagonals.clear();
    const auto first = std::lower_bound(row.begin(), row.end(), group * rows);
    for (auto at = first; at != row.end() && *at < (group + 1) * rows; ++at)
      diagonals.push_back(matrix.coords[1][static_cast<size_t>(at - row.begin())] - *at);
    num_nonzeros += std::ssize(diagonals);
    std::sort(diagonals.begin(), diagonals.end());
    num_diagonals += std::unique(diagonals.begin(), diagonals.end()) - diagonals.begin();
  }
  if (num_nonzeros == 0) return static_cast<double>(rows);
  return static_cast<double>(num_diagonals * rows) / static_cast<double>(num_nonzeros);
}

}  // namespace waco::pattern
