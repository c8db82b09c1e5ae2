// What is known of a problem before its nonzeros are looked at: how long fixed_csr and ranking take.
#pragma once

#include <cstdint>
#include <vector>

#include "waco/model/ceilings.hpp"
#include "waco/schedule/op.hpp"

namespace waco::tune {

/// Nanoseconds of a call of fixed_csr on all threads of `machine`, good to a factor of two: a time for each
/// row and each nonzero, and more for nonzeros where the rows of B that they read don't fit in L2; at least
/// what a parallel region takes, or moving all operands once. `dims` are those of the sparse operand.
double csr_forecast_ns(const schedule::Problem& problem, const std::vector<int64_t>& dims,
                       int64_t num_nonzeros, const model::Ceilings& machine);

/// Nanoseconds that ranking takes with effort none, from the matrix in memory to a first candidate, where the
/// costs of `evaluations` points are predicted; good to a factor of two.
double ranking_forecast_ns(schedule::Op op, int64_t num_nonzeros, int64_t evaluations);

}  // namespace waco::tune
