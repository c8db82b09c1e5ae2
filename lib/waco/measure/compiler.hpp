// The system's C++ compiler: found once, described, and run on one source text at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "waco/base/machine.hpp"
#include "waco/base/signals.hpp"

namespace waco::measure {

/// How one compilation ended.
struct CompiledKernel {
  std::filesystem::path library;  ///< empty when it could not be compiled
  std::string diagnostic;         ///< then: why, in at most a few lines
  bool stopped = false;         ///< not compiled because a stop was requested; says nothing about the source
  bool machine_failed = false;  ///< killed, or short of memory or disk space; says nothing either
  bool disk_full = false;       ///< that was the machine's fault
  bool from_cache = false;      ///< it was compiled before
  int64_t compile_ns = 0;       ///< wall clock of the compiler; 0 from the cache
  bool ok() const { return !library.empty(); }
};

/// The target of `command`, or of the compiler that is found without one (see Compiler::find), as it was told
/// within the last day if the program, the processor and the environment are the same, else as it is told
/// now. Throws as compiler_target does.
CompilerTarget remembered_target(const std::string& command, const StopToken& stop = {});

/// Throws EnvironmentError with exit code kCompiler when there is no program of that name, or no compiler is
/// found without one. Runs nothing.
void require_compiler_program(const std::string& command);

class Compiler {
 public:
  /// `command` (may hold several words), or $CXX, or the first of c++, g++, clang++ that is installed. Throws
  /// EnvironmentError with exit code kCompiler when it can't be run, and Stopped.
  static Compiler find(const std::string& command = {}, const StopToken& stop = {});
  /// One that was found earlier, perhaps on another machine (see noted_compilers.hpp).
  static Compiler noted(CompilerTarget target, std::string identity);

  const CompilerTarget& target() const { return target_; }
  /// Changes whenever the same source could compile to different code: path, size and date of the program,
  /// version, and every macro of the native target.
  const std::string& identity() const { return identity_; }

  /// Compiles `source` to a shared object with OpenMP. All files stay in `folder`: kernel.cpp and kernel.so.
  CompiledKernel compile(const std::string& source, const std::string& flags,
                         const std::filesystem::path& folder, double timeout_s, const StopToken& stop) const;

 private:
  CompilerTarget target_;
  std::string identity_;
};

}  // namespace waco::measure
