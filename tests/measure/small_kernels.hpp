// Kernels that compile at once, for tests of the cache.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

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

/// A script that a compiler command may name for as long as this lives. It is found in PATH: the path of a
/// folder may have blanks, at which commands are split.
class CompilerScript {
 public:
  /// `text` follows the line of the shell.
  CompilerScript(const std::string& name, const std::string& text)
      : path_("PATH", folder_.path().string() + ":" + std::getenv("PATH")) {
    const std::filesystem::path script = folder_.path() / name;
    std::ofstream(script) << "#!/bin/sh\n" << text;
    std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  }

 private:
  TemporaryFolder folder_;
  ScopedVariable path_;
};

}  // namespace waco::measure::testing
