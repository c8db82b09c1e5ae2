// Distinct diagonals in sampled groups of rows.
#include "waco/pattern/diagonals.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "waco/base/error.hpp"
#include "waco/base/random.hpp"

namespace waco::pattern {

namespace {

constexpr int64_t kMostGroups = 1024, kLeastGroups = 64, kMostNonzeros = 32768, kMostOfGroup = 2048;

/// The end of the row that the nonzero at `begin` is of, where all lie before `last`.
int64_t end_of_row(const std::vector<int64_t>& row, int64_t begin, int64_t last) {
  return std::upper_bound(row.begin() + begin, row.begin() + last, row[static_cast<size_t>(begin)]) -
         row.begin();
}

/// Adjacent diagonals, that of column minus row `least` to `most`.
struct Stripe {
  int64_t least = std::numeric_limits<int64_t>::max();
  int64_t most = std::numeric_limits<int64_t>::min();
};

/// Those with the nonzeros [first, last) of some rows; of many nonzeros as many, at random, as hold about
/// kMostOfGroup.
Stripe choose_stripe(const matrix::SparseTensor& matrix, int64_t first, int64_t last, Random& random) {
  const std::vector<int64_t>&row = matrix.coords[0], &col = matrix.coords[1];
  Stripe all;
  for (int64_t begin = first, end; begin < last; begin = end) {
    end = end_of_row(row, begin, last);
    const int64_t i = row[static_cast<size_t>(begin)];
    all.least = std::min(all.least, col[static_cast<size_t>(begin)] - i);
    all.most = std::max(all.most, col[static_cast<size_t>(end - 1)] - i);
  }
  if (last - first <= kMostOfGroup) return all;
  const auto share = static_cast<double>(kMostOfGroup) / static_cast<double>(last - first);
  const int64_t size = all.most - all.least + 1, kept = std::max<int64_t>(1, std::llround(share * size));
  const int64_t least =
      all.least + static_cast<int64_t>(random.below(static_cast<uint64_t>(size - kept + 1)));
  return {least, least + kept - 1};
}

/// Columns minus rows of the nonzeros [first, last) of some rows, as far as they are in the stripe.
void take_diagonals(const matrix::SparseTensor& matrix, int64_t first, int64_t last, Stripe stripe,
                    std::vector<int64_t>& diagonals) {
  diagonals.clear();
  for (int64_t begin = first, end; begin < last; begin = end) {
    end = end_of_row(matrix.coords[0], begin, last);
    const int64_t i = matrix.coords[0][static_cast<size_t>(begin)];
    const auto row_end = matrix.coords[1].begin() + end;
    for (auto at = std::lower_bound(matrix.coords[1].begin() + begin, row_end, stripe.least + i);
         at != row_end && *at - i <= stripe.most; ++at)
      diagonals.push_back(*at - i);
  }
}

}  // namespace

double fill_of_diagonals(const matrix::SparseTensor& matrix, int64_t rows) {
  WACO_ASSERT(matrix.order() == 2 && rows >= 1);
  const std::vector<int64_t>& row = matrix.coords[0];
  const int64_t num_groups = matrix.dims[0] / rows + (matrix.dims[0] % rows != 0);
  const int64_t wanted = std::max(num_groups / kMostGroups, matrix.num_nonzeros() / kMostNonzeros);
  const int64_t step = std::clamp<int64_t>(wanted, 1, std::max<int64_t>(1, num_groups / kLeastGroups));
  int64_t num_nonzeros = 0, num_diagonals = 0;
  std::vector<int64_t> diagonals;
  Random random(1);  // a grid's lines come at equal distances, too
  const int64_t num_samples = num_groups / step + (num_groups % step != 0);
  for (int64_t sample = 0; sample < num_samples; ++sample) {
    const int64_t begin = sample * step;
    const int64_t group =
        begin + static_cast<int64_t>(random.below(static_cast<uint64_t>(std::min(step, num_groups - begin))));
    const int64_t first_row = group * rows;
    const auto first = std::lower_bound(row.begin(), row.end(), first_row);
    const auto last = std::partition_point(first, row.end(), [&](int64_t i) { return i - first_row < rows; });
    const int64_t from = first - row.begin(), to = last - row.begin();
    if (from == to) continue;
    take_diagonals(matrix, from, to, choose_stripe(matrix, from, to, random), diagonals);
    num_nonzeros += std::ssize(diagonals);
    std::sort(diagonals.begin(), diagonals.end());
    num_diagonals += std::unique(diagonals.begin(), diagonals.end()) - diagonals.begin();
  }
  if (num_nonzeros == 0) return static_cast<double>(rows);
  return static_cast<double>(num_diagonals * rows) / static_cast<double>(num_nonzeros);
}

}  // namespace waco::pattern
