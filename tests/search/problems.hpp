// The problems that searches are tried on.
#pragma once

#include "waco/schedule/op.hpp"

namespace waco::search::testing {

inline const schedule::Problem kSpmv{schedule::Op::kSpmv, schedule::ValueType::kF32, 1};
inline const schedule::Problem kSpmm{schedule::Op::kSpmm, schedule::ValueType::kF32, 64};
inline const schedule::Problem kSddmm{schedule::Op::kSddmm, schedule::ValueType::kF32, 48};

}  // namespace waco::search::testing
