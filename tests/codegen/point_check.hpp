// Builds the kernel of one point over one small tensor, runs it in this process and compares with the
// reference.
#pragma once

#include <string>

#include "waco/base/random.hpp"
#include "waco/matrix/sparse_tensor.hpp"
#include "waco/measure/kernel_cache.hpp"
#include "waco/schedule/super_schedule.hpp"

namespace waco::codegen {

/// A small tensor of a random shape: empty, 1 x n, n x 1, dense rows, blocks, hypersparse, ...
matrix::SparseTensor random_small_tensor(int order, Random& random);

struct Case {
  schedule::SuperSchedule point;
  matrix::SparseTensor tensor;
};

/// Case number `n` of a seed: op (or `only_op`, if not empty), type, size, matrix and point all follow from
/// these.
Case random_case(uint64_t seed, int64_t n, const std::string& only_op);

/// Kernels of this process, which are removed when it ends.
const measure::KernelCache& test_cache();

/// Packs, compiles, runs twice and compares; also compares predicted with packed storage. Empty when all is
/// right, otherwise what is wrong. Where A is stored without fill, rows of dense operands that no nonzero
/// meets are NaN. The kernel is written for vectors of `vector_bytes`; 0: of the compiler's target.
std::string check_point(const schedule::SuperSchedule& point, const matrix::SparseTensor& tensor,
                        const measure::KernelCache& cache, int vector_bytes = 0);

}  // namespace waco::codegen
