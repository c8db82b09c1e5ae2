// From a SuperSchedule and the shape of one packed operand to the C++ source of a kernel.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "waco/codegen/storage.hpp"
#include "waco/schedule/super_schedule.hpp"

namespace waco::codegen {

/// What the source depends on besides the point: widths and divisibility, never sizes. Points and matrices
/// with equal structure share one compiled kernel.
struct Binding {
  std::array<int32_t, WACO_MAX_LEVELS> crd_bytes{};
  int32_t pos_bytes = 4;
  std::array<bool, 3> exact{};  ///< per mode: the split divides the dimension
  int32_t vector_bytes = 32;    ///< 16, 32 or 64: the target's vector registers
};

/// C type of coordinates or positions of so many bytes; int32_t for none (0).
const char* integer_type(int bytes);

/// The binding of a format over these dimensions; equal to what packing will produce when
/// `num_positions_bound` (an upper bound of positions in any level) is on the same side of 2^31.
Binding bind(const schedule::SuperSchedule& point, const std::array<int64_t, 3>& dims,
             int64_t num_positions_bound, int vector_bytes);

/// A translation unit that defines `extern "C" int waco_kernel(const waco_storage*, const waco_call*)`; it
/// includes only the ABI text and <stdint.h>/<omp.h>. Equal structure gives equal text, so the text is the
/// cache key.
std::string kernel_source(const schedule::SuperSchedule& point, const Binding& binding);

/// Bytes of waco_call.scratch (private outputs or boundary rows); 0 for most points.
int64_t scratch_bytes(const schedule::SuperSchedule& point, const std::array<int64_t, 3>& dims,
                      int64_t num_stored);

/// Whether the kernel expects waco_call.partition, and whether its ranges may cut a row.
bool needs_partition(const schedule::SuperSchedule& point);
bool partition_may_cut_rows(const schedule::SuperSchedule& point);

/// Flags of generated kernels, besides -fopenmp -fPIC -shared.
inline constexpr const char* kKernelFlags =
    "-O3 -march=native -fassociative-math -fno-signed-zeros -fno-trapping-math -Wno-psabi";

}  // namespace waco::codegen
