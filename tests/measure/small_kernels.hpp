// Kernels that compile at once, for tests of the cache.
#pragma once

#include <string>

#include "../compiler_script.hpp"
#include "../scoped_variable.hpp"
#include "waco/base/files.hpp"
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

/// What write_compiler() writes, which a compiler command may name for as long as this lives. It is found in
/// PATH: the path of a folder may have blanks, at which commands are split.
class CompilerScript {
 public:
  explicit CompilerScript(const std::string& name, const std::string& before_exec = "")
      : path_("PATH", folder_.path().string() + ":" + std::getenv("PATH")) {
    write_compiler(folder_.path(), name, before_exec);
  }

 private:
  TemporaryFolder folder_;
  ScopedVariable path_;
};

}  // namespace waco::measure::testing
