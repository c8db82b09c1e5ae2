// Hand-written kernels, good and bad, for the tests of this folder.
#pragma once

#include <string>

#include "waco/codegen/template_text.hpp"

namespace waco::measure::testing {

/// A CSR spmv kernel (f32, columns of 8 bits, or 32 as in fixed_csr) with `before` at its start and `row` as
/// what a row does with its sum.
inline std::string spmv_source(const std::string& before, const std::string& row = "y[i] = sum;") {
  return std::string(codegen::template_text("abi.hpp")) + R"(
#include <omp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
extern "C" int waco_kernel(const waco_storage* a, const waco_call* call) {
  const int32_t* pos = (const int32_t*)a->level[1].pos;
  const void* crd = a->level[1].crd;
  const int wide = a->level[1].crd_bytes == 4;
  const float* values = (const float*)a->values;
  const float* x = (const float*)call->dense[0];
  float* y = (float*)call->out;
)" + before +
         R"(
  for (int64_t i = 0; i < a->dim[0]; ++i) {
    float sum = 0;
    for (int32_t p = pos[i]; p < pos[i + 1]; ++p)
      sum += values[p] * x[wide ? ((const int32_t*)crd)[p] : ((const uint8_t*)crd)[p]];
    )" + row +
         R"(
  }
  return 0;
}
)";
}

}  // namespace waco::measure::testing
