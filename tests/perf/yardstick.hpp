// What times are given in runs of: fixed_csr, measured as the programs measure it.
#pragma once

#include "waco/measure/session.hpp"

namespace waco::perf {

/// Seconds of one run of fixed_csr, verified and timed by a worker on pinned threads.
inline double fixed_csr_seconds(const matrix::SparseTensor& tensor, const schedule::Problem& problem,
                                int threads) {
  measure::MeasureOptions options;
  options.threads = threads;
  return measure::Session(tensor, problem, options).baseline().median_ns() * 1e-9;
}

}  // namespace waco::perf
