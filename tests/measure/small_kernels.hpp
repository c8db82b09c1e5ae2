// Kernels that compile at once, for tests of the cache.
#pragma once

#include <string>

#include "waco/measure/kernel_cache.hpp"

namespace waco::measure::testing {

/// The compiler of the system, asked once.
inline const Compiler& compiler() {
  static const Compiler found = Compiler::find();
  return found;
}

/// A library whose answer() is `number`.
inline CompileRequest answer(int number) {
  return {"extern \"C\" int answer() { return " + std::to_string(number) + "; }\n", "-O1"};
}

}  // namespace waco::measure::testing
