// `fixed_csr`, the baseline: CSR (CSF for tensors) with 32-bit coordinates and TACO's default loop.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "waco/codegen/kernel.hpp"
#include "waco/codegen/storage.hpp"
#include "waco/schedule/super_schedule.hpp"

namespace waco::codegen {

/// Flags of the baseline, those of the paper's artifact, besides -fopenmp -fPIC -shared.
inline constexpr const char* kBaselineFlags = "-O3 -march=native -ffast-math -Wno-psabi";
/// The same to the compiler proper, but that infinities and NaN among the values stay what they are. Given to
/// the linker, too, -ffast-math makes a program or a shared library that turns denormals off for all of the
/// process: nothing for the kernel of somebody's application.
inline constexpr const char* kBaselineFlagsForUsers =
    "-O3 -march=native -fno-math-errno -fassociative-math -freciprocal-math -fno-signed-zeros "
    "-fno-trapping-math -Wno-psabi";

/// Bytes of every coordinate of the baseline's operand: 4, and 8 where a dimension is above 2^31.
int baseline_crd_bytes(const std::vector<int64_t>& dims);

/// The operand of the baseline: csr_point(problem).format with coordinates of baseline_crd_bytes(), as every
/// CSR library holds them.
Storage pack_fixed_csr(const matrix::SparseTensor& tensor, const schedule::Problem& problem, int threads);

/// Source of the baseline, with the entry point of every kernel: rows in dynamic chunks of waco_call.chunk
/// (128 for spmv, else 32), the result accumulated in memory, zeroed inside the call. Of the binding, the
/// widths of coordinates and positions count.
std::string fixed_csr_source(const schedule::Problem& problem, const Binding& binding);

}  // namespace waco::codegen
