// What is handed to the compiler for one tensor: the sources of points and of the baseline.
#pragma once

#include <cstdint>
#include <vector>

#include "waco/matrix/sparse_tensor.hpp"
#include "waco/measure/kernel_cache.hpp"
#include "waco/schedule/super_schedule.hpp"

namespace waco::measure {

/// Width of positions that most formats of this tensor need: 4 or 8. Packing tells when one needs the other
/// (Preparation::needed_pos_bytes).
int usual_pos_bytes(const matrix::SparseTensor& tensor);

/// The kernel of `point` over operands of these dimensions, for vectors of `vector_bytes`.
CompileRequest kernel_request(const schedule::SuperSchedule& point, const std::vector<int64_t>& dims,
                              int pos_bytes, int vector_bytes);

/// fixed_csr, with the flags of the paper's artifact.
CompileRequest baseline_request(const schedule::Problem& problem, const std::vector<int64_t>& dims,
                                int pos_bytes);

}  // namespace waco::measure
