// The OpenMP runtimes of one process. Idle threads of a runtime go on spinning for a while: contestants of
// different ones would take each other's cores.
#pragma once

#include <filesystem>
#include <set>
#include <string>

namespace waco::bench {

/// Files of the runtimes that are loaded while `library`, a shared object, is.
std::set<std::string> openmp_runtimes_with(const std::filesystem::path& library);

/// Throws EnvironmentError with exit code kCompiler, naming what to do, when there are several.
void require_one_runtime(const std::set<std::string>& runtimes);

}  // namespace waco::bench
