// Constants of fixed_csr and of ranking.
#include "waco/tune/csr_forecast.hpp"

#include <algorithm>

#include "waco/base/machine.hpp"

namespace waco::tune {
namespace {

/// Nanoseconds of two threads, f32. Fitted to the baselines of data/datasets, of 251 to 536 originals an op:
/// off by a factor of 1.2 (SpMM), 1.3 (SpMV) and 1.4 (SDDMM, MTTKRP) in the mean, by 5 at most.
struct Constants {
  double row_value;      ///< for each number of a dense row, of each row
  double nonzero;        ///< for each nonzero
  double nonzero_value;  ///< for each number of a dense row, of each nonzero
  double missed_value;   ///< more of these for the share of B beyond L2
};

Constants constants_of(schedule::Op op) {
  switch (op) {
    case schedule::Op::kSpmv:
      return {2.04, 0.16, 0, 0.01};
    case schedule::Op::kSpmm:
      return {0.119, 0.144, 0.0385, 0.0246};
    case schedule::Op::kSddmm:
      return {0.0573, 0, 0.0294, 0.0355};
    case schedule::Op::kMttkrp:
      break;
  }
  return {0.487, 0, 0.145, 0.194};
}

constexpr double kThreads = 2;             // of the constants
constexpr double kL2_bytes = 2 * 1 << 20;  // of the machine they were fitted on

/// What more threads don't shorten: starting them all, and moving every byte once.
double least_ns(const schedule::Problem& problem, const std::vector<int64_t>& dims, int64_t num_nonzeros,
                const model::Ceilings& machine) {
  const auto value_bytes = static_cast<double>(schedule::value_bytes(problem.type));
  const auto nonzeros = static_cast<double>(num_nonzeros);
  double bytes = nonzeros * (value_bytes + sizeof(int32_t));
  if (problem.op == schedule::Op::kSddmm) bytes += nonzeros * value_bytes;
  // The result is dense otherwise. Rows of dense operands that no nonzero needs are not read.
  for (const int64_t dim : dims)
    bytes += static_cast<double>(std::min(dim, num_nonzeros) * problem.rhs) * value_bytes;
  const double moving_ns =
      bytes / machine.read(machine.level_of(bytes, num_cores(machine.threads)), machine.threads);
  return std::max(machine.region_ns, moving_ns);
}

}  // namespace

double csr_forecast_ns(const schedule::Problem& problem, const std::vector<int64_t>& dims,
                       int64_t num_nonzeros, const model::Ceilings& machine) {
  const Constants constants = constants_of(problem.op);
  const auto width = static_cast<double>(problem.rhs);
  const auto bytes = static_cast<double>(schedule::value_bytes(problem.type));
  const double b_bytes = static_cast<double>(dims.at(1)) * width * bytes;
  const double missed = b_bytes > kL2_bytes ? 1 - kL2_bytes / b_bytes : 0;
  // Where dense rows are short the loops take most of the time, and no less than SpMV's.
  const Constants least = constants_of(schedule::Op::kSpmv);
  const double of_row = std::max(least.row_value, constants.row_value * width);
  const double of_nonzero = std::max(
      least.nonzero, constants.nonzero + width * (constants.nonzero_value + missed * constants.missed_value));
  const double ns = static_cast<double>(dims[0]) * of_row + static_cast<double>(num_nonzeros) * of_nonzero;
  return std::max(ns * (bytes / 4) * kThreads / machine.threads,
                  least_ns(problem, dims, num_nonzeros, machine));
}

double ranking_forecast_ns(schedule::Op op, int64_t num_nonzeros, int64_t evaluations) {
  // Fitted to 10 to 200 ms of 12 matrices and 4 tensors of 5 thousand to 2 million nonzeros. Larger patterns
  // are sampled. Dense rows often make clustered rows worth a look, which are ranked besides.
  constexpr double kStart_ns = 4e6, kFeatures_ns = 12;
  constexpr double kPoint_ns = 30e3, kPointNonzero_ns = 1.2;
  constexpr int64_t kMostInFeatures = 1000000, kMostOfPoint = 100000;
  constexpr double kTensor = 2.3, kDense = 1.5;
  const double start_ns =
      kStart_ns + kFeatures_ns * static_cast<double>(std::min(num_nonzeros, kMostInFeatures));
  const double point_ns =
      kPoint_ns + kPointNonzero_ns * static_cast<double>(std::min(num_nonzeros, kMostOfPoint));
  const double ns = start_ns + static_cast<double>(evaluations) * point_ns;
  if (schedule::sparse_order(op) == 3) return kTensor * ns;
  return schedule::has_dense_index(op) ? kDense * ns : ns;
}

}  // namespace waco::tune
