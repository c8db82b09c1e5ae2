// Shapes and seeded contents of the dense operands.
#include "waco/measure/operands.hpp"

#include <algorithm>

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

DenseOperands::DenseOperands(const schedule::Problem& problem, const std::vector<int64_t>& dims,
                             uint64_t seed, int threads) {
  const std::array<int64_t, 2> counts = dense_elements(problem, dims);
  for (int n = 0; n < 2; ++n) {
    buffers_[n] = Buffer(static_cast<size_t>(counts[n] * schedule::value_bytes(problem.type)), n + 1);
    const uint64_t own_seed = Random(seed + static_cast<uint64_t>(n)).next();
    const auto draw = [](Random& random) { return 2 * random.uniform() - 1; };
    if (problem.type == schedule::ValueType::kF32) {
      fill(buffers_[n].as<float>(), counts[n], own_seed, threads, draw);
    } else {
      fill(buffers_[n].as<double>(), counts[n], own_seed, threads, draw);
    }
  }
}

void draw_values(matrix::SparseTensor& tensor, uint64_t seed, int threads) {
  const auto draw = [](Random& random) {
    const double x = random.uniform() - 0.5;
    return x < 0 ? x - 0.5 : x + 0.5;
  };
  fill(tensor.values.data(), tensor.num_nonzeros(), Random(seed + 2).next(), threads, draw);
}

}  // namespace waco::measure
