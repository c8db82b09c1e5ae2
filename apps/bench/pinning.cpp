// The environment of a pinned OpenMP pool, and the affinity of the thread that starts it.
#include "apps/bench/pinning.hpp"

#include <omp.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "waco/base/program.hpp"
#include "waco/measure/worker_process.hpp"

namespace waco::bench {
namespace {

/// Asks glibc (2.35 or newer) to advise huge pages for what malloc maps; others ignore it.
constexpr const char* kHugePages = "glibc.malloc.hugetlb=1";

/// Adds the CPUs of one OpenMP place.
void add_place(int place, cpu_set_t& set) {
  std::vector<int> cpus(static_cast<size_t>(omp_get_place_num_procs(place)));
  if (cpus.empty()) return;
  omp_get_place_proc_ids(place, cpus.data());
  for (const int cpu : cpus)
    if (cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
}

void move_to(const cpu_set_t& set) {
  if (CPU_COUNT(&set) > 0) (void)::sched_setaffinity(0, sizeof set, &set);
}

std::string value_of(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

bool pool_is_pinned() {
  return omp_get_proc_bind() != omp_proc_bind_false && omp_get_num_places() > 0;
}

}  // namespace

void restart_with_pinned_threads(int threads, char** argv) {
  const std::map<std::string, std::string> environment = measure::openmp_environment(threads);
  const std::string num_threads = value_of("OMP_NUM_THREADS"), tunables = value_of("GLIBC_TUNABLES");
  const bool is_bound = !environment.contains("OMP_PROC_BIND");  // by the user, or here before
  if (is_bound && num_threads == std::to_string(threads) && tunables.find(kHugePages) != std::string::npos)
    return;
  for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
  ::setenv("GLIBC_TUNABLES", tunables.empty() ? kHugePages : (tunables + ":" + kHugePages).c_str(), 1);
  // Where that fails the run goes on, merely not pinned.
  ::execv(program_file().c_str(), argv);
}

void release_initial_thread() {
  if (!pool_is_pinned()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int place = 0; place < omp_get_num_places(); ++place) add_place(place, set);
  move_to(set);
}

InitialThreadPinned::InitialThreadPinned() {
  if (!pool_is_pinned()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  add_place(0, set);
  move_to(set);
}

InitialThreadPinned::~InitialThreadPinned() {
  release_initial_thread();
}

}  // namespace waco::bench
