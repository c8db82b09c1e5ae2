// What results are made of, and what follows from them.
#include "waco/tune/result.hpp"

namespace waco::tune {

MatrixSummary summarize(const matrix::SparseTensor& tensor) {
  return {tensor.name, tensor.dims, tensor.num_nonzeros(), matrix::pattern_hash(tensor)};
}

std::optional<int64_t> TuneResult::break_even_calls(double extra_ns) const {
  if (!best) return std::nullopt;
  // The ratio is measured in common rounds, which two separate medians are not.
  const double saved_ns = best->time_ns.median * (best->speedup.median - 1);
  return calls_that_repay(static_cast<double>(best->pack_ns) + extra_ns, saved_ns);
}

double TuneResult::gflops(double time_ns) const {
  return schedule::num_flops(problem, matrix.num_nonzeros) / time_ns;
}

}  // namespace waco::tune
