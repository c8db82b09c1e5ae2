// What this machine is, what the compiler makes code for, and what of the machine this process may use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "waco/base/signals.hpp"

namespace waco {

/// One kind of data (or unified) cache.
struct Cache {
  int level = 0;
  int64_t bytes = 0;  ///< of one instance
  int line_bytes = 0;
  int num_instances = 0;  ///< in the machine
  int cores_sharing = 0;  ///< physical cores behind one instance
  bool operator==(const Cache&) const = default;
};

/// What a compiler generates for `-march=native` on this machine.
struct CompilerTarget {
  std::string command;      ///< as given, such as "g++" or "ccache g++-13"
  std::string version;      ///< first line of --version
  std::string isa;          ///< such as "x86-64 avx2 fma bmi2 avx512f"
  std::string fingerprint;  ///< hash of all macros the target predefines: equal targets, equal code
  int vector_bytes = 16;    ///< 16, 32 or 64
  bool operator==(const CompilerTarget&) const = default;
};

/// The header of every artifact: times of two unequal machines are never compared.
struct Machine {
  std::string cpu_model;
  int num_packages = 0;
  int num_numa_nodes = 0;
  int num_cores = 0;  ///< physical
  int num_logical_cpus = 0;
  std::vector<Cache> caches;  ///< by level, smallest first
  int64_t memory_bytes = 0;
  int usable_threads = 1;   ///< see usable_threads()
  CompilerTarget compiler;  ///< empty when none was asked for
  bool operator==(const Machine&) const = default;
};

/// Whether times taken on both may be put side by side: the same processor, caches and cores. Memory and the
/// CPUs a process may use differ between like nodes and jobs.
bool same_hardware(const Machine& a, const Machine& b);

/// A virtual machine reports the L3 of the whole socket; more than this for each of its cores or threads is
/// never counted on.
inline constexpr int64_t kMaxL3PerThread = int64_t{32} << 20;

/// How much less is to be expected of times taken on the one for the other: 1 for every factor of two between
/// their caches, level by level and shared ones a core (L3 up to kMaxL3PerThread), a half for every factor of
/// two between the threads that a process may use, and 3 for another maker's processor.
double hardware_distance(const Machine& a, const Machine& b);

void to_json(nlohmann::json& json, const Machine& machine);
void from_json(const nlohmann::json& json, Machine& machine);
void to_json(nlohmann::json& json, const CompilerTarget& target);
void from_json(const nlohmann::json& json, CompilerTarget& target);

/// Words of a compiler command: "ccache g++" is two.
std::vector<std::string> command_words(std::string_view command);

/// Asks the compiler about its -march=native target. Throws EnvironmentError with exit code kCompiler when it
/// can't be run, fails or does not answer, and Stopped.
CompilerTarget compiler_target(const std::string& command, const StopToken& stop = {});

/// The widest vector registers of the target whose predefined macros (`#define NAME ...` lines) are given.
int vector_bytes_of(std::string_view macros);

/// Describes the machine, with what a compiler has said of it.
Machine describe_machine(const CompilerTarget& compiler = {});

/// Whether this is a virtual machine, whose processors the host may move to other cores at any time: x86's
/// flag of a hypervisor in /proc/cpuinfo.
bool is_virtual_machine();

/// Set where a program has started itself anew with OpenMP variables of its own: what usable_threads() was
/// before.
inline constexpr const char* kUsableThreadsVariable = "WACO_USABLE_THREADS";

/// Threads that can run at the same time: CPUs of the process's affinity, the cgroup's CPU quota (rounded
/// up), OMP_NUM_THREADS (its first number) and OMP_THREAD_LIMIT, whichever is least; 1..1024.
int usable_threads();

/// `threads` as asked for, and all usable ones where none were (0). Throws UsageError for more than OpenMP's
/// limit (OMP_THREAD_LIMIT), beyond which its parallel regions silently have fewer.
int threads_or_all(int threads);

/// From here on parallel regions that the calling thread begins, and that name no number of threads, run on
/// threads_or_all(threads): OpenMP's own number knows of no quota, and may be of any size.
void limit_parallel_regions(int threads);

/// CPUs that this process may run on, numbered as in /proc/cpuinfo; the first of every physical core before
/// the second ones, so that n threads on the first n CPUs share as little as possible.
std::vector<int> allowed_cpus();

/// L3 caches behind the first `threads` of allowed_cpus(); 0 where that is not known.
int num_l3_caches(int threads);

/// Physical cores behind the first `threads` of allowed_cpus(), fewer than these where a core runs several;
/// `threads` where that is not known.
int num_cores(int threads);

/// Bytes that processes, such as children of this one, can still fill: free memory and what is left below the
/// cgroup's limit, whichever is less.
int64_t free_memory_bytes();

/// Bytes that this process can still allocate: free_memory_bytes() and what is left of its address space
/// (ulimit -v), whichever is less.
int64_t available_memory_bytes();

/// Throws std::bad_alloc where so many bytes are not available: the system would end the process without a
/// word while they are filled.
void require_memory(int64_t bytes);

/// The least CPU quota on the way from this process's group to the root, in CPUs; nullopt without one. `root`
/// is where cgroups are mounted and `groups` the text of /proc/self/cgroup (versions 1 and 2).
std::optional<double> cgroup_cpu_quota(const std::filesystem::path& root, std::string_view groups);

}  // namespace waco
