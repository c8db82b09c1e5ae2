// The environment of a pinned OpenMP pool.
#include "apps/bench/pinning.hpp"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
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
  std::map<std::string, std::string> wanted = environment;
  // Only what is set here is no wish of the user's.
  if (!is_bound) wanted[kUsableThreadsVariable] = std::to_string(usable_threads());
  wanted["GLIBC_TUNABLES"] = tunables.empty() ? kHugePages : tunables + ":" + kHugePages;
  std::map<std::string, std::optional<std::string>> before;
  for (const auto& [name, value] : wanted) {
    const char* old = std::getenv(name.c_str());
    before[name] = old != nullptr ? std::optional<std::string>(old) : std::nullopt;
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  ::execv(program_file().c_str(), argv);
  const int cause = errno;
  // What was too long for this program would be so for those that it starts.
  for (const auto& [name, value] : before) {
    if (value)
      ::setenv(name.c_str(), value->c_str(), 1);
    else
      ::unsetenv(name.c_str());
  }
  spdlog::warn("{} can't be started anew ({}): threads are not pinned, and there are no huge pages unasked",
               program_file().string(), std::strerror(cause));
}

}  // namespace waco::bench
