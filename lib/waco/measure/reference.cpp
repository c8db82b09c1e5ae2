// The four ops in double precision, written to be obviously right rather than fast.
#include "waco/measure/reference.hpp"

#include <algorithm>
#include <cmath>

#include "waco/base/error.hpp"
#include "waco/base/random.hpp"

namespace waco::measure {
namespace {

constexpr int64_t kMinSampledColumns = 4;

/// Sum over j of signs[j] * B[k, j] for every row k: B as one extra column.
template <class T>
std::vector<double> signed_row_sums(const T* dense, int64_t num_rows, const std::vector<double>& signs,
                                    int threads) {
  const auto width = static_cast<int64_t>(signs.size());
  std::vector<double> sums(static_cast<size_t>(num_rows));
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t k = 0; k < num_rows; ++k) {
    double sum = 0;
    for (int64_t j = 0; j < width; ++j) sum += signs[j] * static_cast<double>(dense[k * width + j]);
    sums[k] = sum;
  }
  return sums;
}

template <class T>
std::vector<double> row_norms(const T* dense, int64_t num_rows, int64_t width, int threads) {
  std::vector<double> norms(static_cast<size_t>(num_rows));
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t r = 0; r < num_rows; ++r) {
    double sum = 0;
    for (int64_t n = 0; n < width; ++n) {
      const auto value = static_cast<double>(dense[r * width + n]);
      sum += value * value;
    }
    norms[r] = std::sqrt(sum);
  }
  return norms;
}

/// 2-norm of values as they are in T; nothing overflows or vanishes on the way.
template <class T>
double norm_of(const double* values, int64_t count) {
  const auto in_type = [&](int64_t p) { return std::abs(static_cast<double>(static_cast<T>(values[p]))); };
  double largest = 0;
  for (int64_t p = 0; p < count; ++p) largest = std::max(largest, in_type(p));
  if (largest == 0) return 0;
  double sum = 0;
  for (int64_t p = 0; p < count; ++p) {
    const double share = in_type(p) / largest;
    sum += share * share;
  }
  return largest * std::sqrt(sum);
}

}  // namespace

Reference::Reference(const matrix::SparseTensor& tensor, const schedule::Problem& problem,
                     const DenseOperands& operands, uint64_t seed, int threads, int64_t max_stored,
                     bool exact)
    : problem_(problem), threads_(threads), exact_(exact), num_rows_(tensor.dims[0]) {
  WACO_ASSERT(tensor.order() == schedule::sparse_order(problem.op));
  const bool f32 = problem.type == schedule::ValueType::kF32;
  if (schedule::output_is_sparse(problem.op)) {
    f32 ? compute_dots<float>(tensor, operands) : compute_dots<double>(tensor, operands);
  } else {
    choose_columns(seed, max_stored);
    f32 ? compute_rows<float>(tensor, operands) : compute_rows<double>(tensor, operands);
  }
}

void Reference::choose_columns(uint64_t seed, int64_t max_stored) {
  const int64_t rhs = problem_.rhs;
  const int64_t fitting = max_stored / std::max<int64_t>(num_rows_, 1);
  const int64_t count = std::min(rhs, std::max(fitting, kMinSampledColumns));
  Random random(seed);
  for (int64_t n = 0; n < count; ++n) {
    // One column out of each of `count` equal stretches; the first and the last column always.
    const int64_t begin = n * rhs / count;
    const int64_t end = (n + 1) * rhs / count;
    const int64_t drawn = begin + static_cast<int64_t>(random.below(static_cast<uint64_t>(end - begin)));
    columns_.push_back(n == 0 ? 0 : n == count - 1 ? rhs - 1 : drawn);
  }
  if (count == rhs) return;
  signs_.resize(static_cast<size_t>(rhs));
  for (double& sign : signs_) sign = random.chance(0.5) ? 1 : -1;
}

template <class T>
void Reference::compute_rows(const matrix::SparseTensor& tensor, const DenseOperands& operands) {
  const bool third_order = problem_.op == schedule::Op::kMttkrp;
  const int64_t rhs = problem_.rhs;
  const auto num_columns = static_cast<int64_t>(columns_.size());
  const bool sampled = !signs_.empty();
  const T* b = operands.as<T>(0);
  const T* c = operands.as<T>(1);
  const std::vector<int64_t> rows = matrix::row_pointers(tensor);
  const std::vector<double> signed_b =
      sampled && !third_order ? signed_row_sums(b, tensor.dims[1], signs_, threads_) : std::vector<double>();
  expected_.assign(static_cast<size_t>(num_rows_ * num_columns), 0.0);
  sum_.assign(static_cast<size_t>(num_rows_), 0.0);
  norm_.assign(static_cast<size_t>(num_rows_), 0.0);
  terms_.assign(static_cast<size_t>(num_rows_), 0);
  if (sampled) row_sums_.assign(static_cast<size_t>(num_rows_), 0.0);

  // Few rows are spread over all threads.
  const int64_t chunk = std::clamp<int64_t>(num_rows_ / (int64_t{8} * threads_), 1, 64);
#pragma omp parallel for schedule(dynamic, chunk) num_threads(threads_)
  for (int64_t r = 0; r < num_rows_; ++r) {
    double* expected = expected_.data() + r * num_columns;
    double row_sum = 0;
    for (int64_t p = rows[r]; p < rows[r + 1]; ++p) {
      const auto a = static_cast<double>(static_cast<T>(tensor.values[p]));
      const T* b_row = b + tensor.coords[1][p] * rhs;
      const T* c_row = third_order ? c + tensor.coords[2][p] * rhs : nullptr;
      const auto dense = [&](int64_t j) {
        return third_order ? static_cast<double>(b_row[j]) * static_cast<double>(c_row[j])
                           : static_cast<double>(b_row[j]);
      };
      if (sampled) {
        for (int64_t n = 0; n < num_columns; ++n) expected[n] += a * dense(columns_[n]);
        double product = third_order ? 0.0 : signed_b[tensor.coords[1][p]];
        for (int64_t j = 0; third_order && j < rhs; ++j) product += signs_[j] * dense(j);
        row_sum += a * product;
      } else {
        for (int64_t j = 0; j < rhs; ++j) expected[j] += a * dense(j);
      }
      sum_[r] += std::abs(a);  // dense values are at most 1
    }
    terms_[r] = rows[r + 1] - rows[r];
    norm_[r] = norm_of<T>(tensor.values.data() + rows[r], terms_[r]);
    if (sampled) row_sums_[r] = row_sum;
  }
}

template <class T>
void Reference::compute_dots(const matrix::SparseTensor& tensor, const DenseOperands& operands) {
  const int64_t width = problem_.rhs;
  const T* b = operands.as<T>(0);
  const T* c = operands.as<T>(1);
  const std::vector<double> b_norms = row_norms(b, tensor.dims[0], width, threads_);
  const std::vector<double> c_norms = row_norms(c, tensor.dims[1], width, threads_);
  const int64_t count = tensor.num_nonzeros();
  expected_.resize(static_cast<size_t>(count));
  sum_.resize(static_cast<size_t>(count));
  norm_.resize(static_cast<size_t>(count));
  terms_.assign(1, width);
#pragma omp parallel for schedule(static) num_threads(threads_)
  for (int64_t p = 0; p < count; ++p) {
    const int64_t i = tensor.coords[0][p];
    const int64_t j = tensor.coords[1][p];
    const T* b_row = b + i * width;
    const T* c_row = c + j * width;
    double dot = 0;
#pragma omp simd reduction(+ : dot)
    for (int64_t k = 0; k < width; ++k) dot += static_cast<double>(b_row[k]) * static_cast<double>(c_row[k]);
    const auto a = static_cast<double>(static_cast<T>(tensor.values[p]));
    expected_[p] = a * dot;
    sum_[p] = std::abs(a) * b_norms[i] * c_norms[j];            // Cauchy-Schwarz
    norm_[p] = std::abs(a) * std::min(b_norms[i], c_norms[j]);  // dense values are at most 1
  }
}

}  // namespace waco::measure
