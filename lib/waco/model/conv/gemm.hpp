// The inner loops of sparse convolutions for the instruction set of this machine.
#pragma once

#include <cstdint>
#include <vector>

namespace waco::model {

/// Documented, with shapes, in gemm_kernels.inc.
struct ConvKernels {
  int lanes;  ///< floats a vector; columns are padded to a multiple
  void (*multiply)(const float* x, int cin, const int32_t* in, const uint8_t* out, int count, const float* w,
                   int padded, float* y);
  void (*outer)(const float* x, int cin, const int32_t* in, const float* g, const uint8_t* out, int count,
                float* gw, int padded);
  void (*sum_rows)(const uint8_t* rows, int count, const float* w, int padded, float* y);
  void (*add_to_rows)(const uint8_t* rows, int count, const float* g, int padded, float* gw);

  int padded(int columns) const { return (columns + lanes - 1) / lanes * lanes; }
};

/// For every instruction set this processor has, the widest first.
std::vector<ConvKernels> all_conv_kernels();

/// The widest.
const ConvKernels& conv_kernels();

}  // namespace waco::model
