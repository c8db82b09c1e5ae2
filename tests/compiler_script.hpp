// Scripts that stand in for programs, compilers above all.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

namespace waco {

/// A program in `folder`, which need not be there yet, of these lines of shell.
inline std::filesystem::path write_script(const std::filesystem::path& folder, const std::string& name,
                                          const std::string& lines) {
  std::filesystem::create_directories(folder);
  const std::filesystem::path script = folder / name;
  std::ofstream(script) << "#!/bin/sh\n" << lines;
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  return script;
}

/// The compiler of the system behind lines of shell, which may end the script. In them `is_kernel` tells that
/// a kernel or the check for OpenMP is compiled, `is_openmp_check` that it is the check; `$source` is the
/// file.
inline std::filesystem::path write_compiler(const std::filesystem::path& folder, const std::string& name,
                                            const std::string& before_exec = "") {
  return write_script(folder, name, R"(for source; do :; done
is_kernel() { [ "${source##*/}" = kernel.cpp ]; }
is_openmp_check() { is_kernel && grep -q waco_openmp_check "$source"; }
)" + before_exec + "\nexec c++ \"$@\"\n");
}

}  // namespace waco
