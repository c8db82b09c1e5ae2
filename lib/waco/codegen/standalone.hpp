// The self-contained C++ file of a tuned kernel: what `--emit` and waco-codegen write.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "waco/codegen/kernel.hpp"
#include "waco/schedule/super_schedule.hpp"

namespace waco::codegen {

/// Where a kernel comes from, for its header comment. Empty texts are left out.
struct Provenance {
  std::string tool;         ///< "waco-tune 0.1.0 (commit ..., ...)"
  std::string matrix;       ///< name
  std::string matrix_hash;  ///< matrix::pattern_hash
  int64_t num_nonzeros = 0;
  std::string machine;           ///< that it was found or checked on: CPU model, ISA and compiler
  std::string compiler = "g++";  ///< command that compiles it like there
  std::string measured;          ///< there, one sentence: time and speedup
};

/// What the operand must look like. Without a matrix at hand `any_shape` accepts operands of every size.
struct OperandShape {
  std::array<int64_t, 3> dims{0, 0, 1};
  int64_t num_positions_bound = 0;  ///< upper bound of positions in any level
  double fill = 0;                  ///< values stored per nonzero of one that was packed; 0: none was
};

/// Dimensions no split divides and 32-bit coordinates: the kernel serves any matrix below 2^31 rows and
/// columns, of skewed points below 2^31 diagonals.
OperandShape any_shape(bool skewed = false);

/// Which kernel the file holds.
enum class KernelKind : uint8_t {
  kGenerated,  ///< kernel_source of the point
  kFixedCsr,   ///< fixed_csr_source; the point must be csr_point of the problem
};

/// One C++ translation unit with a C interface (kernels-templates/interface.hpp): packing, kernel, value
/// updates and, with -DWACO_SELF_TEST, a main that checks it. Needs a C++17 compiler with OpenMP and nothing
/// of this project.
std::string emit_standalone(const schedule::SuperSchedule& point, const OperandShape& shape, int vector_bytes,
                            const Provenance& provenance, KernelKind kind = KernelKind::kGenerated);

}  // namespace waco::codegen
