// Reference results: exact on tiny inputs, tolerant of rounding, intolerant of errors.
#include "waco/measure/reference.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <set>

#include "small_tensors.hpp"
#include "waco/base/error.hpp"

using namespace waco;
using namespace waco::measure;
using schedule::Op;
using schedule::Problem;
using schedule::ValueType;

namespace {

/// The op by definition, element by element, in T.
template <class T>
std::vector<T> by_definition(const matrix::SparseTensor& a, const Problem& problem,
                             const DenseOperands& dense) {
  const bool values = schedule::output_is_sparse(problem.op);
  std::vector<T> out(static_cast<size_t>(values ? a.num_nonzeros() : a.dims[0] * problem.rhs));
  const T* b = dense.as<T>(0);
  const T* c = dense.as<T>(1);
  const int64_t rhs = problem.rhs;
  for (int64_t p = 0; p < a.num_nonzeros(); ++p) {
    const auto value = static_cast<T>(a.values[p]);
    const int64_t i = a.coords[0][p];
    const int64_t k = a.coords[1][p];
    for (int64_t j = 0; j < rhs; ++j) {
      if (values) {
        out[p] += value * b[i * rhs + j] * c[k * rhs + j];
      } else {
        const T other = problem.op == Op::kMttkrp ? c[a.coords[2][p] * rhs + j] : T{1};
        out[i * rhs + j] += value * b[k * rhs + j] * other;
      }
    }
  }
  return out;
}

struct Case {
  Problem problem;
  matrix::SparseTensor tensor;
};

Case make_case(Op op, ValueType type) {
  const int64_t rhs = op == Op::kSpmv ? 1 : 24;
  std::vector<int64_t> dims = {40, 30};
  if (op == Op::kMttkrp) dims.push_back(20);
  return {{op, type, rhs}, testing::random_tensor(dims, 400)};
}

/// A full row of ones.
matrix::SparseTensor one_row(int64_t count) {
  matrix::SparseTensor a;
  a.dims = {1, count};
  a.coords.resize(2);
  a.coords[0].assign(static_cast<size_t>(count), 0);
  for (int64_t k = 0; k < count; ++k) a.coords[1].push_back(k);
  a.values.assign(static_cast<size_t>(count), 1);
  return a;
}

template <class T>
Verification check(const Reference& reference, const Problem& problem, const std::vector<T>& out) {
  if (!schedule::output_is_sparse(problem.op)) return reference.verify(out.data());
  return reference.verify_values(std::vector<double>(out.begin(), out.end()));
}

template <class T>
void accepts_right_and_refuses_wrong(const Case& c, int64_t max_stored) {
  const DenseOperands dense(c.problem, c.tensor.dims, 3, 2);
  const Reference reference(c.tensor, c.problem, dense, 3, 2, max_stored);
  std::vector<T> out = by_definition<T>(c.tensor, c.problem, dense);
  const Verification right = check(reference, c.problem, out);
  INFO(right.message);
  CHECK(right.ok);
  CHECK(right.max_rel_error < 100 * static_cast<double>(std::numeric_limits<T>::epsilon()));
  for (size_t n = 0; n < out.size(); n += 7) {  // every element counts, sampled or not
    const T kept = out[n];
    out[n] = kept + static_cast<T>(0.01);
    CHECK_FALSE(check(reference, c.problem, out).ok);
    out[n] = std::numeric_limits<T>::quiet_NaN();
    CHECK_FALSE(check(reference, c.problem, out).ok);
    out[n] = std::numeric_limits<T>::infinity();
    CHECK_FALSE(check(reference, c.problem, out).ok);
    out[n] = kept;
  }
}

}  // namespace

TEST_CASE("reference: accepts the definition's result and refuses any wrong element", "[measure]") {
  const Op op = GENERATE(Op::kSpmv, Op::kSpmm, Op::kSddmm, Op::kMttkrp);
  const ValueType type = GENERATE(ValueType::kF32, ValueType::kF64);
  const int64_t max_stored = GENERATE(Reference::kMaxStored, int64_t{1});  // whole, sampled columns
  INFO(schedule::name(op) << ' ' << schedule::name(type) << ' ' << max_stored);
  const Case c = make_case(op, type);
  if (type == ValueType::kF32) {
    accepts_right_and_refuses_wrong<float>(c, max_stored);
  } else {
    accepts_right_and_refuses_wrong<double>(c, max_stored);
  }
}

TEST_CASE("reference: a product of integers is exact", "[measure]") {
  matrix::SparseTensor a;
  a.dims = {2, 2};
  a.coords = {{0, 0, 1}, {0, 1, 1}};
  a.values = {2, 4, -8};
  const Problem problem{Op::kSpmv, ValueType::kF64, 1};
  const DenseOperands dense(problem, a.dims, 1, 1);
  const Reference reference(a, problem, dense, 1, 1);
  const double* b = dense.as<double>(0);
  const std::vector<double> out = {2 * b[0] + 4 * b[1], -8 * b[1]};
  const Verification verification = reference.verify(out.data());
  CHECK(verification.ok);
  CHECK(verification.max_rel_error < 1e-15);
}

TEST_CASE("reference: the message names the wrong element", "[measure]") {
  const Case c = make_case(Op::kSpmm, ValueType::kF64);
  const DenseOperands dense(c.problem, c.tensor.dims, 3, 1);
  const Reference reference(c.tensor, c.problem, dense, 3, 1);
  std::vector<double> out = by_definition<double>(c.tensor, c.problem, dense);
  out[5 * 24 + 11] += 1;
  CHECK_THAT(reference.verify(out.data()).message, Catch::Contains("[5, 11]"));
  out[5 * 24 + 11] = std::nan("");
  CHECK_THAT(reference.verify(out.data()).message, Catch::Contains("NaN") && Catch::Contains("[5, 11]"));
}

TEST_CASE("reference: an empty row must be exactly zero", "[measure]") {
  matrix::SparseTensor a;
  a.dims = {2, 3};
  a.coords = {{1}, {0}};
  a.values = {1};
  const Problem problem{Op::kSpmv, ValueType::kF32, 1};
  const DenseOperands dense(problem, a.dims, 1, 1);
  const Reference reference(a, problem, dense, 1, 1);
  std::vector<float> out = {-0.0f, dense.as<float>(0)[0]};
  CHECK(reference.verify(out.data()).ok);
  out[0] = 1e-30f;
  CHECK_FALSE(reference.verify(out.data()).ok);
}

TEST_CASE("reference: rounding of a long row of one sign is accepted in single precision", "[measure]") {
  matrix::SparseTensor a = one_row(200000);
  const Problem problem{Op::kSpmv, ValueType::kF32, 1};
  const DenseOperands dense(problem, a.dims, 1, 1);
  const float* b = dense.as<float>(0);
  std::copy_n(b, a.values.size(), a.values.begin());  // all products positive
  const Reference reference(a, problem, dense, 1, 1);
  const int lanes = GENERATE(1, 8, 32);
  std::vector<float> sums(static_cast<size_t>(lanes));
  for (size_t k = 0; k < a.values.size(); ++k)
    sums[k % sums.size()] += static_cast<float>(a.values[k]) * b[k];
  const float out = std::accumulate(sums.begin(), sums.end(), 0.0f);
  const Verification verification = reference.verify(&out);
  INFO(lanes << " lanes: " << verification.message);
  CHECK(verification.ok);
}

TEST_CASE("reference: sums of very long rows of doubles are accepted", "[measure]") {
  // Rounding of the check's own sums grows with the length of rows, that of results with its square root.
  matrix::SparseTensor a;
  a.dims = {8, 8};
  a.coords.assign(2, {0, 1, 2, 3, 4, 5, 6, 7});
  a.values.assign(8, 1);
  const Problem problem{Op::kSpmm, ValueType::kF64, int64_t{1} << 20};
  const DenseOperands dense(problem, a.dims, 5, 2);
  const Reference reference(a, problem, dense, 7, 2, 1024);
  const double* b = dense.as<double>(0);
  std::vector<double> out(b, b + 8 * problem.rhs);
  const Verification right = reference.verify(out.data());
  INFO(right.message);
  CHECK(right.ok);
  out[3 * problem.rhs + 4711] += 0.01;
  CHECK_FALSE(reference.verify(out.data()).ok);
}

TEST_CASE("reference: one product less in a long row is refused", "[measure]") {
  const int64_t rhs = GENERATE(1, 8);
  const matrix::SparseTensor a = one_row(20000);
  const Problem problem{rhs == 1 ? Op::kSpmv : Op::kSpmm, ValueType::kF32, rhs};
  const DenseOperands dense(problem, a.dims, 1, 1);
  const Reference reference(a, problem, dense, 1, 1);
  std::vector<float> out = by_definition<float>(a, problem, dense);
  CHECK(reference.verify(out.data()).ok);
  const float* b = dense.as<float>(0);
  while (std::abs(*b) < 0.25f) b += rhs;
  for (int64_t j = 0; j < rhs; ++j) out[j] -= b[j];
  CHECK_FALSE(reference.verify(out.data()).ok);
}

TEST_CASE("reference: one product less in a long dot is refused", "[measure]") {
  matrix::SparseTensor a;
  a.dims = {1, 1};
  a.coords = {{0}, {0}};
  a.values = {3};
  const Problem problem{Op::kSddmm, ValueType::kF32, 20000};
  const DenseOperands dense(problem, a.dims, 1, 1);
  const Reference reference(a, problem, dense, 1, 1);
  std::vector<float> out = by_definition<float>(a, problem, dense);
  CHECK(check(reference, problem, out).ok);
  const auto product = [&](int64_t k) { return dense.as<float>(0)[k] * dense.as<float>(1)[k]; };
  int64_t some = 0;
  while (std::abs(product(some)) < 0.25f) ++some;
  out[0] -= 3 * product(some);
  CHECK_FALSE(check(reference, problem, out).ok);
}

TEST_CASE("reference: of exact operands nothing but the sum itself is accepted", "[measure]") {
  const Op op = GENERATE(Op::kSpmv, Op::kSpmm, Op::kSddmm, Op::kMttkrp);
  const ValueType type = GENERATE(ValueType::kF32, ValueType::kF64);
  const int64_t max_stored = GENERATE(Reference::kMaxStored, int64_t{1});
  Case c = make_case(op, type);
  const std::optional<ExactBits> bits = exact_bits(c.problem, c.tensor);
  REQUIRE(bits.has_value());
  draw_values(c.tensor, 5, 2, bits);
  const DenseOperands dense(c.problem, c.tensor.dims, 3, 2, bits);
  const Reference reference(c.tensor, c.problem, dense, 3, 2, max_stored, true);
  // The least by which sums of such products differ.
  const int num_dense = op == Op::kSddmm || op == Op::kMttkrp ? 2 : 1;
  const double step = std::ldexp(1, -bits->sparse - num_dense * bits->dense);
  const auto judge = [&](auto zero) {
    auto out = by_definition<decltype(zero)>(c.tensor, c.problem, dense);
    const Verification right = check(reference, c.problem, out);
    INFO(schedule::name(op) << ' ' << right.message);
    CHECK(right.ok);
    CHECK(right.max_rel_error == 0);
    for (size_t n = 0; n < out.size(); n += 7) {
      const auto kept = out[n];
      out[n] = kept + static_cast<decltype(zero)>(step);
      CHECK_FALSE(check(reference, c.problem, out).ok);
      out[n] = kept;
    }
  };
  type == ValueType::kF32 ? judge(0.0F) : judge(0.0);
}

TEST_CASE("reference: one product less in a row of a million is refused, in any order of sums", "[measure]") {
  matrix::SparseTensor a = one_row(1000000);
  const Problem problem{Op::kSpmv, ValueType::kF32, 1};
  const std::optional<ExactBits> bits = exact_bits(problem, a);
  REQUIRE(bits.has_value());
  draw_values(a, 5, 2, bits);
  const DenseOperands dense(problem, a.dims, 1, 2, bits);
  const Reference reference(a, problem, dense, 1, 2, Reference::kMaxStored, true);
  const float* b = dense.as<float>(0);
  const auto sum = [&](size_t lanes, size_t without) {
    std::vector<float> sums(lanes);
    for (size_t k = 0; k < a.values.size(); ++k)
      if (k != without) sums[k % lanes] += static_cast<float>(a.values[k]) * b[k];
    return std::accumulate(sums.begin(), sums.end(), 0.0F);
  };
  for (const size_t lanes : {1, 8, 48}) {
    const float right = sum(lanes, SIZE_MAX), wrong = sum(lanes, 123456);
    CHECK(reference.verify(&right).ok);
    const Verification refused = reference.verify(&wrong);
    CHECK_FALSE(refused.ok);
    CHECK_THAT(refused.message, Catch::Contains("expected") && !Catch::Contains("tolerance"));
  }
}

TEST_CASE("operands: bits are few enough for exact sums, and none where there is no such number",
          "[measure]") {
  const auto bits_of = [](int64_t row, const Problem& problem) { return exact_bits(problem, one_row(row)); };
  const Problem spmv{Op::kSpmv, ValueType::kF32, 1};
  CHECK(bits_of(1, spmv)->sparse + bits_of(1, spmv)->dense == 24);
  CHECK(bits_of(1000, spmv)->sparse + bits_of(1000, spmv)->dense == 14);
  CHECK(bits_of(int64_t{1} << 22, spmv)->sparse + bits_of(int64_t{1} << 22, spmv)->dense == 2);
  CHECK_FALSE(bits_of((int64_t{1} << 24) + 1, spmv).has_value());
  const std::optional<ExactBits> sddmm = bits_of(3, {Op::kSddmm, ValueType::kF32, 256});
  CHECK(sddmm->sparse + 2 * sddmm->dense <= 16);
  CHECK(sddmm->dense >= 5);
  matrix::SparseTensor a = one_row(5000);
  draw_values(a, 1, 1, ExactBits{0, 0});
  CHECK(std::set<double>(a.values.begin(), a.values.end()) == std::set<double>{-1, 1});
  draw_values(a, 1, 1, ExactBits{2, 0});
  CHECK(std::set<double>(a.values.begin(), a.values.end()) == std::set<double>{-1, -.75, -.5, .5, .75, 1});
}

TEST_CASE("operands: NaN lies before and behind the dense operands", "[measure]") {
  const Problem problem{Op::kMttkrp, ValueType::kF64, 3};
  const DenseOperands dense(problem, {4, 5, 6}, 1, 1);
  for (const int operand : {0, 1}) {
    const double* data = dense.as<double>(operand);
    const int64_t count = dense_elements(problem, {4, 5, 6})[static_cast<size_t>(operand)];
    CHECK(std::isnan(data[-1]));
    CHECK(std::isnan(data[-3]));
    CHECK(std::isnan(data[count]));
    CHECK(std::isnan(data[count + 100]));
    CHECK_FALSE(std::isnan(data[0]));
    CHECK_FALSE(std::isnan(data[count - 1]));
  }
}

TEST_CASE("reference: tolerances of very large and very small values neither overflow nor vanish",
          "[measure]") {
  const double size = GENERATE(1e250, 1e-250);
  matrix::SparseTensor a = one_row(100);
  a.values.assign(100, size);
  const Problem problem{Op::kSpmv, ValueType::kF64, 1};
  const DenseOperands dense(problem, a.dims, 1, 1);
  const Reference reference(a, problem, dense, 1, 1);
  const double* b = dense.as<double>(0);
  double out = 0;
  for (int64_t k = 99; k >= 0; --k) out += size * b[k];
  CHECK(reference.verify(&out).ok);
  out += 1e-9 * size;
  CHECK_FALSE(reference.verify(&out).ok);
}

TEST_CASE("reference: no rows and no nonzeros are fine", "[measure]") {
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{0, 5}, {5, 0}, {3, 3}}) {
    matrix::SparseTensor a;
    a.dims = dims;
    a.coords.resize(2);
    for (const Op op : {Op::kSpmm, Op::kSddmm}) {
      const Problem problem{op, ValueType::kF32, 4};
      const DenseOperands dense(problem, dims, 1, 2);
      const Reference reference(a, problem, dense, 1, 2);
      const std::vector<float> out(static_cast<size_t>(op == Op::kSddmm ? 0 : dims[0] * 4));
      CHECK(check(reference, problem, out).ok);
    }
  }
}

TEST_CASE("operands: sizes that do not fit in 64 bits are told", "[measure]") {
  const std::vector<int64_t> wide = {3, INT64_MAX}, tall = {INT64_MAX, 3};
  for (const Problem& problem : {Problem{Op::kSpmv, ValueType::kF32, 1}, {Op::kSpmm, ValueType::kF64, 256}}) {
    CHECK_THROWS_AS(DenseOperands(problem, wide, 1, 1), TooLargeError);
    CHECK_THROWS_AS(output_elements(problem, tall, 1), TooLargeError);
    CHECK(dense_elements(problem, tall)[0] == 3 * problem.rhs);
  }
  CHECK_THROWS_AS(DenseOperands({Op::kSddmm, ValueType::kF32, 8}, tall, 1, 1), TooLargeError);
}

TEST_CASE("operands: the same seed gives the same values on any number of threads", "[measure]") {
  const Problem problem{Op::kSpmm, ValueType::kF32, 16};
  const std::vector<int64_t> dims = {10, 3000};
  const DenseOperands one(problem, dims, 9, 1);
  const DenseOperands four(problem, dims, 9, 4);
  const DenseOperands other(problem, dims, 10, 1);
  int equal = 0;
  for (int64_t n = 0; n < 3000 * 16; ++n) {
    REQUIRE(one.as<float>(0)[n] == four.as<float>(0)[n]);
    REQUIRE(std::abs(one.as<float>(0)[n]) <= 1.0f);
    equal += one.as<float>(0)[n] == other.as<float>(0)[n] ? 1 : 0;
  }
  CHECK(equal < 100);
}

TEST_CASE("operands: drawn values are of either sign, neither small nor alike", "[measure]") {
  matrix::SparseTensor a;
  a.dims = {1, 10000};
  a.coords.resize(2);
  a.values.assign(10000, std::numeric_limits<double>::quiet_NaN());
  matrix::SparseTensor b = a;
  draw_values(a, 5, 1);
  draw_values(b, 5, 2);
  CHECK(a.values == b.values);
  std::set<double> all;
  int64_t num_negative = 0;
  for (const double x : a.values) {
    CHECK(std::abs(x) >= 0.5);
    CHECK(std::abs(x) <= 1);
    num_negative += x < 0 ? 1 : 0;
    all.insert(x);
  }
  CHECK(all.size() == 10000);
  CHECK(num_negative > 4800);
  CHECK(num_negative < 5200);
}
