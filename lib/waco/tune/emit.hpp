// The kernel of a result as one self-contained file.
#pragma once

#include <string>

#include "waco/base/machine.hpp"
#include "waco/codegen/standalone.hpp"
#include "waco/matrix/sparse_tensor.hpp"
#include "waco/tune/result.hpp"

namespace waco::tune {

/// The shape that makes the kernel read exactly what packing `tensor` in the format of `point` produces,
/// which was seen to store `num_stored` values (0: it was not packed).
codegen::OperandShape operand_shape(const matrix::SparseTensor& tensor, const schedule::SuperSchedule& point,
                                    int64_t num_stored);

/// Matrix, machine and compiler, for a kernel's header comment.
codegen::Provenance provenance(const MatrixSummary& matrix, const Machine& machine, const std::string& tool);

/// The best plan's kernel; `result.best` must be there.
std::string emit_best(const matrix::SparseTensor& tensor, const TuneResult& result, const std::string& tool);

}  // namespace waco::tune
