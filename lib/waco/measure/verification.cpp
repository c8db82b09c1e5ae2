// Comparing a kernel's output with the reference: tolerance, worst error, first wrong place.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>

#include "waco/base/error.hpp"
#include "waco/measure/reference.hpp"

namespace waco::measure {
namespace {

constexpr double kFactor = 4;
constexpr double kExtraTerms = 8;
constexpr double kExactExcess = 1e100;  ///< and more where nothing is tolerated

/// How large the products of one result are (see Reference).
struct Products {
  double sum = 0;   ///< bound on the sum of their absolute values
  double norm = 0;  ///< bound on their 2-norm
  int64_t count = 0;
  bool exact = false;  ///< their sums do not round
};

/// Error of one element: `relative` to the sum of its products, and how many times the tolerance it is (> 1
/// is wrong).
struct ElementError {
  double relative = 0;
  double excess = 0;
};

/// `num_added` results of such products, added with random signs: their independent errors, as their values,
/// grow with the square root of their number.
template <class T>
ElementError element_error(double x, double expected, const Products& products, int64_t num_added = 1) {
  if (!std::isfinite(x)) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return {kInfinity, kInfinity};
  }
  const double error = std::abs(x - expected);
  const double relative = products.sum > 0 ? error / products.sum : error;
  if (products.exact) return {relative, error == 0 ? 0 : kExactExcess * (1 + error)};
  const auto count = static_cast<double>(products.count);
  const auto epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
  const auto smallest = static_cast<double>(std::numeric_limits<T>::min());
  const double widening = num_added > 1 ? 2 * std::sqrt(static_cast<double>(num_added)) : 1;
  const double reach = std::abs(expected) + widening * products.norm;
  // Adding them up in double precision, here and there in another order, rounds as well.
  const double adding = num_added > 1 ? static_cast<double>(num_added) * DBL_EPSILON * products.norm : 0;
  const double tolerance =
      kFactor * epsilon * (std::sqrt(count) + kExtraTerms) * reach + widening * count * smallest + adding;
  return {relative, error == 0 ? 0 : error / tolerance};
}

/// The worst element seen so far.
struct Worst {
  double relative = 0;
  double excess = 0;
  int64_t row = -1;
  int64_t column = -1;  ///< -1: the whole row
  double got = 0;
  double expected = 0;

  void add(const ElementError& error, int64_t r, int64_t c, double x, double reference) {
    relative = std::max(relative, error.relative);
    if (error.excess <= excess) return;
    *this = {relative, error.excess, r, c, x, reference};
  }
  void merge(const Worst& other) {
    const double largest = std::max(relative, other.relative);
    if (other.excess > excess) *this = other;
    relative = largest;
  }
};

std::string describe(const Worst& worst, const char* what) {
  const std::string place =
      worst.column >= 0 ? fmt::format("[{}, {}]", worst.row, worst.column) : fmt::format("[{}]", worst.row);
  if (std::isnan(worst.got)) {
    return fmt::format("{}{} is NaN (never written, or computed as such); expected {:.9g}", what, place,
                       worst.expected);
  }
  const std::string values =
      fmt::format("{}{} is {:.9g}, expected {:.9g}", what, place, worst.got, worst.expected);
  return worst.excess >= kExactExcess ? values
                                      : fmt::format("{}: {:.3g} times the tolerance", values, worst.excess);
}

Verification verdict(const Worst& worst, const char* what) {
  Verification result;
  result.ok = worst.excess <= 1;
  result.max_rel_error = worst.relative;
  if (!result.ok) result.message = describe(worst, what);
  return result;
}

}  // namespace

template <class T>
Verification Reference::compare(const T* out) const {
  const int64_t rhs = problem_.rhs;
  const auto num_columns = static_cast<int64_t>(columns_.size());
  Worst worst;
  Worst worst_row;
#pragma omp parallel num_threads(threads_)
  {
    Worst own;
    Worst own_row;
#pragma omp for schedule(static) nowait
    for (int64_t r = 0; r < num_rows_; ++r) {
      const T* row = out + r * rhs;
      const Products products{sum_[r], norm_[r], terms_[r], exact_};
      for (int64_t n = 0; n < num_columns; ++n) {
        const auto x = static_cast<double>(row[columns_[n]]);
        const double expected = expected_[r * num_columns + n];
        own.add(element_error<T>(x, expected, products), r, columns_[n], x, expected);
      }
      if (signs_.empty()) continue;
      double sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int64_t j = 0; j < rhs; ++j) sum += signs_[j] * static_cast<double>(row[j]);
      const ElementError error = element_error<T>(sum, row_sums_[r], products, rhs);
      own_row.add({0, error.excess}, r, -1, sum, row_sums_[r]);
    }
#pragma omp critical(waco_merge_worst)
    {
      worst.merge(own);
      worst_row.merge(own_row);
    }
  }
  if (worst.excess <= 1 && worst_row.excess > 1) {
    Verification result = verdict(worst_row, "the signed sum of row ");
    result.max_rel_error = worst.relative;
    return result;
  }
  return verdict(worst, "element ");
}

Verification Reference::verify(const void* out) const {
  WACO_ASSERT(!schedule::output_is_sparse(problem_.op));
  return problem_.type == schedule::ValueType::kF32 ? compare(static_cast<const float*>(out))
                                                    : compare(static_cast<const double*>(out));
}

Verification Reference::verify_values(const std::vector<double>& values) const {
  WACO_ASSERT(schedule::output_is_sparse(problem_.op));
  WACO_ASSERT(values.size() == expected_.size());
  const bool f32 = problem_.type == schedule::ValueType::kF32;
  const auto count = static_cast<int64_t>(values.size());
  Worst worst;
#pragma omp parallel num_threads(threads_)
  {
    Worst own;
#pragma omp for schedule(static) nowait
    for (int64_t p = 0; p < count; ++p) {
      const Products products{sum_[p], norm_[p], terms_[0], exact_};
      const ElementError error = f32 ? element_error<float>(values[p], expected_[p], products)
                                     : element_error<double>(values[p], expected_[p], products);
      own.add(error, p, -1, values[p], expected_[p]);
    }
#pragma omp critical(waco_merge_worst)
    worst.merge(own);
  }
  return verdict(worst, "the value of nonzero ");
}

}  // namespace waco::measure
