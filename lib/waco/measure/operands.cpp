// Shapes and seeded contents of the dense operands.
#include "waco/measure/operands.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "waco/base/error.hpp"
#include "waco/base/random.hpp"

namespace waco::measure {
namespace {

constexpr int64_t kBlock = 4096;  // elements drawn from one generator

/// Elements `draw`n by `seed`, the same with any number of threads.
template <class T, class Draw>
void fill(T* data, int64_t count, uint64_t seed, int threads, const Draw& draw) {
  const int64_t num_blocks = (count + kBlock - 1) / kBlock;
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t block = 0; block < num_blocks; ++block) {
    Random random(seed + static_cast<uint64_t>(block) * 0xd1342543de82ef95ull);
    const int64_t end = std::min(count, (block + 1) * kBlock);
    for (int64_t n = block * kBlock; n < end; ++n) data[n] = static_cast<T>(draw(random));
  }
}

/// Of either sign, in [`least`, 1]; with `bits`, positive multiples of 2^-bits.
auto drawing(double least, const std::optional<int>& bits) {
  return [least, bits](Random& random) {
    const double drawn = 2 * random.uniform() - 1, size = std::abs(drawn);
    if (!bits) return std::copysign(least + (1 - least) * size, drawn);
    const double steps = std::ldexp(1, *bits), first = std::max(1.0, least * steps);
    return std::copysign(std::min(steps, first + std::floor((steps - first + 1) * size)) / steps, drawn);
  };
}

/// The longest row, or slice of the first mode.
int64_t longest_slice(const matrix::SparseTensor& tensor) {
  const std::vector<int64_t> rows = matrix::row_pointers(tensor);
  int64_t longest = 0;
  for (size_t r = 1; r < rows.size(); ++r) longest = std::max(longest, rows[r] - rows[r - 1]);
  return longest;
}

int log2_above(int64_t count) {
  return std::bit_width(static_cast<uint64_t>(std::max<int64_t>(count, 1) - 1));
}

/// Of a dense operand or result, so that their bytes can be counted.
int64_t num_elements(int64_t num_rows, const schedule::Problem& problem) {
  constexpr int64_t kMost = INT64_MAX / 16;
  if (num_rows > kMost / problem.rhs)
    throw TooLargeError(fmt::format(
        "a dense operand or result of {} x {} does not fit in memory; remove empty rows and columns",
        num_rows, problem.rhs));
  return num_rows * problem.rhs;
}

}  // namespace

std::array<int64_t, 2> dense_elements(const schedule::Problem& problem, const std::vector<int64_t>& dims) {
  switch (problem.op) {
    case schedule::Op::kSpmv:
    case schedule::Op::kSpmm:
      return {num_elements(dims[1], problem), 0};
    case schedule::Op::kSddmm:
      return {num_elements(dims[0], problem), num_elements(dims[1], problem)};
    case schedule::Op::kMttkrp:
      return {num_elements(dims[1], problem), num_elements(dims[2], problem)};
  }
  return {0, 0};
}

int64_t output_elements(const schedule::Problem& problem, const std::vector<int64_t>& dims,
                        int64_t num_stored) {
  return schedule::output_is_sparse(problem.op) ? num_stored : num_elements(dims[0], problem);
}

std::optional<ExactBits> exact_bits(const schedule::Problem& problem, const matrix::SparseTensor& tensor) {
  const int64_t num_products = problem.op == schedule::Op::kSddmm ? problem.rhs : longest_slice(tensor);
  // Rows of results are added up in double precision, too, where they are compared as a whole.
  const int type_bits = problem.type == schedule::ValueType::kF32 ? 24 : 53 - log2_above(problem.rhs);
  const int bits = type_bits - log2_above(num_products);
  if (bits < 0) return std::nullopt;
  const bool three_factors = problem.op == schedule::Op::kSddmm || problem.op == schedule::Op::kMttkrp;
  const int sparse = bits / (three_factors ? 3 : 2);
  return ExactBits{sparse, (bits - sparse) / (three_factors ? 2 : 1)};
}

DenseOperands::DenseOperands(const schedule::Problem& problem, const std::vector<int64_t>& dims,
                             uint64_t seed, int threads, const std::optional<ExactBits>& exact) {
  const std::array<int64_t, 2> counts = dense_elements(problem, dims);
  for (int n = 0; n < 2; ++n) {
    buffers_[n] = Buffer(static_cast<size_t>(counts[n] * schedule::value_bytes(problem.type)), n + 1);
    const uint64_t own_seed = Random(seed + static_cast<uint64_t>(n)).next();
    const auto draw = drawing(0, exact ? std::optional(exact->dense) : std::nullopt);
    buffers_[n].poison_surroundings();
    if (problem.type == schedule::ValueType::kF32) {
      fill(buffers_[n].as<float>(), counts[n], own_seed, threads, draw);
    } else {
      fill(buffers_[n].as<double>(), counts[n], own_seed, threads, draw);
    }
  }
}

void draw_values(matrix::SparseTensor& tensor, uint64_t seed, int threads,
                 const std::optional<ExactBits>& exact) {
  const auto draw = drawing(0.5, exact ? std::optional(exact->sparse) : std::nullopt);
  fill(tensor.values.data(), tensor.num_nonzeros(), Random(seed + 2).next(), threads, draw);
}

}  // namespace waco::measure
