// Counting bytes and flops, and dividing them by the ceilings.
#include "apps/bench/bound.hpp"

#include <algorithm>
#include <vector>

#include "waco/measure/operands.hpp"
#include "waco/pattern/cell_count.hpp"

namespace waco::bench {
namespace {

/// Distinct coordinates of one mode.
int64_t num_used(const matrix::SparseTensor& tensor, int mode) {
  std::vector<bool> used(static_cast<size_t>(tensor.dims[mode]), false);
  for (const int64_t coordinate : tensor.coords[mode]) used[coordinate] = true;
  return std::count(used.begin(), used.end(), true);
}

/// Pairs of coordinates that hold a nonzero, of the two modes of a 3-D tensor that have the fewest.
double fewest_pairs(const matrix::SparseTensor& tensor) {
  return static_cast<double>(
      std::min({pattern::count_cells(tensor, {1, 1, 0}), pattern::count_cells(tensor, {1, 0, 1}),
                pattern::count_cells(tensor, {0, 1, 1})}));
}

}  // namespace

Work work_of(const matrix::SparseTensor& tensor, const schedule::Problem& problem) {
  const int64_t value_bytes = schedule::value_bytes(problem.type);
  const auto nonzeros = static_cast<double>(tensor.num_nonzeros());
  const auto width = static_cast<double>(problem.rhs);
  const bool mttkrp = problem.op == schedule::Op::kMttkrp;
  Work work;
  int64_t dense_rows = num_used(tensor, 1);
  if (problem.op == schedule::Op::kSddmm) dense_rows += num_used(tensor, 0);
  if (mttkrp) dense_rows += num_used(tensor, 2);
  work.dense_bytes = dense_rows * problem.rhs * value_bytes;
  work.output_bytes = measure::output_elements(problem, tensor.dims, tensor.num_nonzeros()) * value_bytes;
  work.flops = schedule::num_flops(problem, tensor.num_nonzeros());
  work.least_flops = 2 * (nonzeros + (mttkrp ? fewest_pairs(tensor) : 0)) * width;
  return work;
}

std::string Bound::binding() const {
  return memory_ns >= compute_ns ? std::string(model::kMemoryLevelNames[level]) + " bandwidth" : "arithmetic";
}

Bound bound_of(const Work& work, int64_t sparse_bytes, const model::Ceilings& ceilings, int64_t l3_bytes,
               int threads, int cores, bool f64) {
  Bound bound;
  bound.bytes = sparse_bytes + work.dense_bytes + work.output_bytes;
  bound.level = ceilings.level_of(static_cast<double>(bound.bytes), cores);
  // Where neighbours leave it to us, more of L3 than ceilings count on keeps the operands.
  if (bound.level == 3 && bound.bytes <= l3_bytes) bound.level = 2;
  bound.memory_ns = static_cast<double>(bound.bytes) / ceilings.read(bound.level, threads);
  bound.compute_ns = work.least_flops / ceilings.fma(f64, threads);
  return bound;
}

}  // namespace waco::bench
