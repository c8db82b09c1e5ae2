// One function a library, each defined in the file of its name; only those that CMake found are built.
#pragma once

#include "apps/bench/peers/peer.hpp"

namespace waco::bench {

Library mkl_library();
Library eigen_library();
Library librsb_library();
Library graphblas_library();
Library aocl_sparse_library();
Library libxsmm_library();
Library openblas_library();

}  // namespace waco::bench
