// What of the machine this process may use: affinity, cgroup limits, OMP_NUM_THREADS and OMP_THREAD_LIMIT,
// limit of its address space.
#include <fmt/format.h>
#include <omp.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <new>
#include <set>

#include "waco/base/error.hpp"
#include "waco/base/machine.hpp"
#include "waco/base/topology.hpp"

namespace waco {
namespace fs = std::filesystem;
namespace {

constexpr int kMaxThreads = 1024;
constexpr int kMaxCpus = 8192;

/// CPUs of the affinity mask, ascending.
std::vector<int> affinity() {
  std::vector<int> cpus;
  cpu_set_t* set = CPU_ALLOC(kMaxCpus);
  const size_t bytes = CPU_ALLOC_SIZE(kMaxCpus);
  if (set != nullptr && ::sched_getaffinity(0, bytes, set) == 0) {
    for (int cpu = 0; cpu < kMaxCpus; ++cpu) {
      if (CPU_ISSET_S(cpu, bytes, set)) cpus.push_back(cpu);
    }
  }
  CPU_FREE(set);
  return cpus;
}

std::string first_line(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end == text.data()) return std::nullopt;
  return value;
}

/// One line of /proc/self/cgroup: "0::/group" (version 2) or "1:cpu,cpuacct:/group".
struct Group {
  std::string_view controllers;  ///< "" in version 2
  std::string_view path;
  bool controls(std::string_view name) const {
    return fmt::format(",{},", controllers).find(fmt::format(",{},", name)) != std::string::npos;
  }
};

std::vector<Group> parse_groups(std::string_view text) {
  std::vector<Group> groups;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const size_t first = line.find(':');
    const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    groups.push_back({line.substr(first + 1, second - first - 1), line.substr(second + 1)});
  }
  return groups;
}

/// Calls visit(folder) for the group's folder and every one above it, up to `root`. Inside a container the
/// path in /proc may not exist below the mount; the mount itself is then the container's group.
template <class Visit>
void for_each_ancestor(const fs::path& root, std::string_view group, const Visit& visit) {
  fs::path relative = fs::path(group).relative_path().lexically_normal();
  while (!relative.empty() && relative != ".") {
    visit(root / relative);
    relative = relative.parent_path();
  }
  visit(root);
}

std::optional<double> quota_v2(const fs::path& folder) {
  const std::string line = first_line(folder / "cpu.max");  // "max 100000" or "150000 100000"
  const size_t space = line.find(' ');
  if (space == std::string::npos) return std::nullopt;
  const std::optional<double> quota = number(std::string_view(line).substr(0, space));
  const std::optional<double> period = number(std::string_view(line).substr(space + 1));
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return *quota / *period;
}

std::optional<double> quota_v1(const fs::path& folder) {
  const std::optional<double> quota = number(first_line(folder / "cpu.cfs_quota_us"));  // -1: none
  const std::optional<double> period = number(first_line(folder / "cpu.cfs_period_us"));
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return *quota / *period;
}

std::string own_groups() {
  std::ifstream stream("/proc/self/cgroup");
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Bytes of files in memory that a group's memory.stat counts, which give way when memory is needed.
double cached_files(const fs::path& stat, std::string_view prefix) {
  double sum = 0;
  std::ifstream stream(stat);
  for (std::string line; std::getline(stream, line);)
    for (const char* kind : {"inactive_file ", "active_file "}) {
      const std::string key = std::string(prefix) + kind;
      if (line.starts_with(key)) sum += number(std::string_view(line).substr(key.size())).value_or(0);
    }
  return sum;
}

/// Least free memory below a limit on the way to the root; max() without limits.
int64_t cgroup_free_memory(const fs::path& root, std::string_view groups) {
  double least = static_cast<double>(std::numeric_limits<int64_t>::max());
  const auto limit = [&](const fs::path& folder, const char* max_file, const char* used_file,
                         const char* prefix) {
    const std::optional<double> max = number(first_line(folder / max_file));
    const std::optional<double> used = number(first_line(folder / used_file));
    if (!max || !used || *max >= 1e18) return;
    const double needed = std::max(0.0, *used - cached_files(folder / "memory.stat", prefix));
    least = std::min(least, std::max(0.0, *max - needed));
  };
  for (const Group& group : parse_groups(groups)) {
    if (group.controllers.empty()) {
      for_each_ancestor(root, group.path,
                        [&](const fs::path& f) { limit(f, "memory.max", "memory.current", ""); });
    } else if (group.controls("memory")) {
      for_each_ancestor(root / "memory", group.path, [&](const fs::path& f) {
        limit(f, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_");
      });
    }
  }
  return least >= 9.2e18 ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(least);
}

/// What is left of this process's address space below its limit (ulimit -v); max() without one.
int64_t free_address_space() {
  constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur >= static_cast<rlim_t>(kAny)) return kAny;
  const double pages = number(first_line("/proc/self/statm")).value_or(0);  // the first number is of all
  const int64_t used = static_cast<int64_t>(pages) * ::sysconf(_SC_PAGESIZE);
  return std::max<int64_t>(0, static_cast<int64_t>(limit.rlim_cur) - used);
}

/// Owns a loaded topology.
class Topology {
 public:
  Topology() {
    if (hwloc_topology_init(&topology_) != 0) throw EnvironmentError("hwloc can't be initialised");
    hwloc_topology_set_flags(topology_, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    if (hwloc_topology_load(topology_) != 0) {
      hwloc_topology_destroy(topology_);
      throw EnvironmentError("hwloc can't read the machine's topology");
    }
  }
  ~Topology() { hwloc_topology_destroy(topology_); }
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;
  hwloc_topology_t get() const { return topology_; }

 private:
  hwloc_topology_t topology_ = nullptr;
};

/// What OpenMP would be held to.
int omp_threads() {
  int least = kMaxThreads;
  const bool is_own = std::getenv(kUsableThreadsVariable) != nullptr;
  for (const char* name : {is_own ? kUsableThreadsVariable : "OMP_NUM_THREADS", "OMP_THREAD_LIMIT"}) {
    const char* text = std::getenv(name);  // "4", or "4,2" for nested levels
    const int value = text != nullptr ? std::atoi(text) : 0;
    if (value > 0) least = std::min(least, value);
  }
  return least;
}

}  // namespace

hwloc_topology_t topology() {
  static const Topology loaded;
  return loaded.get();
}

std::optional<double> cgroup_cpu_quota(const fs::path& root, std::string_view groups) {
  std::optional<double> least;
  const auto take = [&](std::optional<double> quota) {
    if (quota && (!least || *quota < *least)) least = quota;
  };
  for (const Group& group : parse_groups(groups)) {
    if (group.controllers.empty()) {
      for_each_ancestor(root, group.path, [&](const fs::path& folder) { take(quota_v2(folder)); });
    } else if (group.controls("cpu")) {
      for_each_ancestor(root / "cpu", group.path, [&](const fs::path& folder) { take(quota_v1(folder)); });
    }
  }
  return least;
}

int usable_threads() {
  int threads = std::min(std::max<int>(static_cast<int>(affinity().size()), 1), omp_threads());
  if (const std::optional<double> quota = cgroup_cpu_quota("/sys/fs/cgroup", own_groups())) {
    threads = std::min(threads, static_cast<int>(std::ceil(*quota)));
  }
  return std::clamp(threads, 1, kMaxThreads);
}

int threads_or_all(int threads) {
  if (threads <= 0) return usable_threads();
  if (threads > omp_get_thread_limit())
    throw UsageError(fmt::format("{} threads are asked for, and OMP_THREAD_LIMIT allows {}", threads,
                                 omp_get_thread_limit()));
  return threads;
}

void limit_parallel_regions(int threads) {
  omp_set_num_threads(threads_or_all(threads));
  omp_set_max_active_levels(1);  // 0, as some set it for libraries, leaves every region one thread
}

namespace {

hwloc_obj_t ancestor_of(int cpu, hwloc_obj_type_t type) {
  hwloc_obj_t object = hwloc_get_pu_obj_by_os_index(topology(), static_cast<unsigned>(cpu));
  while (object != nullptr && object->type != type) object = object->parent;
  return object;
}

/// Objects of a type behind the first `threads` of allowed_cpus().
int num_behind(int threads, hwloc_obj_type_t type) {
  std::set<hwloc_obj_t> objects;
  for (const int cpu : allowed_cpus()) {
    if (threads-- <= 0) break;
    if (const hwloc_obj_t object = ancestor_of(cpu, type)) objects.insert(object);
  }
  return static_cast<int>(objects.size());
}

}  // namespace

std::vector<int> allowed_cpus() {
  const std::vector<int> cpus = affinity();
  std::vector<int> firsts;
  std::vector<int> others;
  std::set<unsigned> cores_seen;
  for (const int cpu : cpus) {
    const hwloc_obj_t object = ancestor_of(cpu, HWLOC_OBJ_CORE);
    const bool first = object == nullptr || cores_seen.insert(object->logical_index).second;
    (first ? firsts : others).push_back(cpu);
  }
  firsts.insert(firsts.end(), others.begin(), others.end());
  return firsts;
}

int num_l3_caches(int threads) {
  return num_behind(threads, HWLOC_OBJ_L3CACHE);
}

int num_cores(int threads) {
  const int cores = num_behind(threads, HWLOC_OBJ_CORE);
  return cores > 0 ? cores : threads;
}

int64_t free_memory_bytes() {
  int64_t available = static_cast<int64_t>(::sysconf(_SC_AVPHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  std::ifstream stream("/proc/meminfo");
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with("MemAvailable:")) continue;
    available = std::strtoll(line.c_str() + std::string_view("MemAvailable:").size(), nullptr, 10) * 1024;
  }
  return std::min(available, cgroup_free_memory("/sys/fs/cgroup", own_groups()));
}

int64_t available_memory_bytes() {
  return std::min(free_memory_bytes(), free_address_space());
}

void require_memory(int64_t bytes) {
  constexpr int64_t kAlwaysThere = int64_t{1} << 26;
  if (bytes > kAlwaysThere && bytes > available_memory_bytes()) throw std::bad_alloc();
}

}  // namespace waco
