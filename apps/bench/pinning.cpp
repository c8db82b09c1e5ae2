// The environment of a pinned OpenMP pool.
#include "apps/bench/pinning.hpp"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "waco/base/program.hpp"
#include "waco/measure/worker_process.hpp"

namespace waco::bench {
namespace {

/// Asks glibc (2.35 or newer) to advise huge pages for what malloc maps; others ignore it.
constexpr const char* kHugePages = "glibc.malloc.hugetlb=1";

std::string value_of(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

void restart_with_pinned_threads(int threads, char** argv) {
  const std::map<std::string, std::string> environment = measure::openmp_environment(threads);
  const std::string num_threads = value_of("OMP_NUM_THREADS"), tunables = value_of("GLIBC_TUNABLES");
  const bool is_bound = !environment.contains("OMP_PROC_BIND");  // by the user, or here before
  if (is_bound && num_threads == std::to_string(threads) && tunables.find(kHugePages) != std::string::npos)
    return;
  // Only what is set here is no wish of the user's.
  if (!is_bound) ::setenv(kUsableThreadsVariable, std::to_string(usable_threads()).c_str(), 1);
  for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
  ::setenv("GLIBC_TUNABLES", tunables.empty() ? kHugePages : (tunables + ":" + kHugePages).c_str(), 1);
  ::execv(program_file().c_str(), argv);
  spdlog::warn("{} can't be started anew ({}): threads are not pinned, and there are no huge pages unasked",
               program_file().string(), std::strerror(errno));
}

}  // namespace waco::bench
