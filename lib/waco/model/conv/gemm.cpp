// Compiles the inner loops for each instruction set and chooses at run time.
#include "waco/model/conv/gemm.hpp"

#include "waco/model/probe.hpp"
#include "waco/model/target.hpp"

namespace waco::model {

namespace conv_baseline {
constexpr int kVectorBytes = 16, kTileRows = 6, kOuterRows = 4;
#include "waco/model/conv/gemm_kernels.inc"
}  // namespace conv_baseline

#if defined(__x86_64__)
WACO_TARGET_AVX2
namespace conv_avx2 {
constexpr int kVectorBytes = 32, kTileRows = 6, kOuterRows = 4;
#include "waco/model/conv/gemm_kernels.inc"
}  // namespace conv_avx2
WACO_TARGET_END
WACO_TARGET_AVX512
namespace conv_avx512 {
constexpr int kVectorBytes = 64, kTileRows = 8, kOuterRows = 8;
#include "waco/model/conv/gemm_kernels.inc"
}  // namespace conv_avx512
WACO_TARGET_END
#endif

std::vector<ConvKernels> all_conv_kernels() {
  std::vector<ConvKernels> all;
#if defined(__x86_64__)
  if (usable_vector_bytes() >= 64)
    all.push_back({conv_avx512::kLanes, conv_avx512::multiply, conv_avx512::outer, conv_avx512::sum_rows,
                   conv_avx512::add_to_rows});
  if (usable_vector_bytes() >= 32)
    all.push_back({conv_avx2::kLanes, conv_avx2::multiply, conv_avx2::outer, conv_avx2::sum_rows,
                   conv_avx2::add_to_rows});
#endif
  all.push_back({conv_baseline::kLanes, conv_baseline::multiply, conv_baseline::outer,
                 conv_baseline::sum_rows, conv_baseline::add_to_rows});
  return all;
}

const ConvKernels& conv_kernels() {
  static const ConvKernels kernels = all_conv_kernels().front();
  return kernels;
}

}  // namespace waco::model
