// Reference results: exact on tiny inputs, tolerant of rounding, intolerant of errors.
#include "waco/measure/reference.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "small_tensors.hpp"

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
  matrix::SparseTensor a;
  const int64_t count = 200000;
  a.dims = {1, count};
  a.coords.resize(2);
  a.coords[0].assign(count, 0);
  for (int64_t k = 0; k < count; ++k) a.coords[1].push_back(k);
  const Problem problem{Op::kSpmv, ValueType::kF32, 1};
  const DenseOperands dense(problem, a.dims, 1, 1);
  for (int64_t k = 0; k < count; ++k) a.values.push_back(dense.as<float>(0)[k]);  // all products positive
  const Reference reference(a, problem, dense, 1, 1);
  const std::vector<float> out = by_definition<float>(a, problem, dense);
  const Verification verification = reference.verify(out.data());
  INFO(verification.message);
  CHECK(verification.ok);
}

TEST_CASE("reference: a result is not held to a reference that is not finite", "[measure]") {
  matrix::SparseTensor a;
  a.dims = {2, 1};
  a.coords = {{0, 1}, {0, 0}};
  a.values = {1e300, 1};  // infinite in single precision
  const Problem problem{Op::kSpmv, ValueType::kF32, 1};
  const DenseOperands dense(problem, a.dims, 1, 1);
  const Reference reference(a, problem, dense, 1, 1);
  const float b = dense.as<float>(0)[0];
  const std::vector<float> out = {std::numeric_limits<float>::infinity(), b};
  CHECK(reference.verify(out.data()).ok);
  const std::vector<float> wrong = {std::numeric_limits<float>::infinity(), b + 1};
  CHECK_FALSE(reference.verify(wrong.data()).ok);
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
