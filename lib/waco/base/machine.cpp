// The machine's description from hwloc, /proc and the compiler's own macros.
#include "waco/base/machine.hpp"

#include <hwloc.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "waco/base/content_hash.hpp"
#include "waco/base/error.hpp"
#include "waco/base/process.hpp"
#include "waco/base/topology.hpp"

namespace waco {
namespace {

std::string cpu_model() {
  const hwloc_obj_t package = hwloc_get_obj_by_type(topology(), HWLOC_OBJ_PACKAGE, 0);
  const char* model = package != nullptr ? hwloc_obj_get_info_by_name(package, "CPUModel") : nullptr;
  return model != nullptr ? model : "unknown";
}

int cores_below(hwloc_obj_t object) {
  const int cores = hwloc_get_nbobjs_inside_cpuset_by_type(topology(), object->cpuset, HWLOC_OBJ_CORE);
  return std::max(cores, 1);
}

std::vector<Cache> caches() {
  std::vector<Cache> found;
  for (const hwloc_obj_type_t type :
       {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L4CACHE}) {
    const int count = hwloc_get_nbobjs_by_type(topology(), type);
    if (count <= 0) continue;
    const hwloc_obj_t object = hwloc_get_obj_by_type(topology(), type, 0);
    const hwloc_obj_attr_u::hwloc_cache_attr_s& attributes = object->attr->cache;
    found.push_back({static_cast<int>(attributes.depth), static_cast<int64_t>(attributes.size),
                     static_cast<int>(attributes.linesize), count, cores_below(object)});
  }
  return found;
}

Machine look_at_hardware() {
  Machine machine;
  machine.cpu_model = cpu_model();
  machine.num_packages = hwloc_get_nbobjs_by_type(topology(), HWLOC_OBJ_PACKAGE);
  machine.num_numa_nodes = hwloc_get_nbobjs_by_type(topology(), HWLOC_OBJ_NUMANODE);
  machine.num_cores = hwloc_get_nbobjs_by_type(topology(), HWLOC_OBJ_CORE);
  machine.num_logical_cpus = hwloc_get_nbobjs_by_type(topology(), HWLOC_OBJ_PU);
  machine.caches = caches();
  machine.memory_bytes = static_cast<int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  return machine;
}

/// What does not change while the process runs. Looking takes milliseconds.
const Machine& hardware() {
  static const Machine machine = look_at_hardware();
  return machine;
}

bool defines(std::string_view macros, std::string_view name) {
  return macros.find(fmt::format("#define {} ", name)) != std::string_view::npos;
}

std::string isa_of(std::string_view macros) {
  struct Feature {
    const char* macro;
    const char* name;
  };
  static constexpr Feature kFeatures[] = {
      {"__x86_64__", "x86-64"},     {"__aarch64__", "aarch64"},   {"__riscv", "riscv"},
      {"__powerpc64__", "ppc64"},   {"__SSE4_2__", "sse4.2"},     {"__AVX__", "avx"},
      {"__AVX2__", "avx2"},         {"__FMA__", "fma"},           {"__F16C__", "f16c"},
      {"__BMI2__", "bmi2"},         {"__AVX512F__", "avx512f"},   {"__AVX512VL__", "avx512vl"},
      {"__AVX512DQ__", "avx512dq"}, {"__AVX512BW__", "avx512bw"}, {"__ARM_NEON", "neon"},
      {"__ARM_FEATURE_SVE", "sve"},
  };
  std::string isa;
  for (const Feature& feature : kFeatures) {
    if (!defines(macros, feature.macro)) continue;
    if (!isa.empty()) isa += ' ';
    isa += feature.name;
  }
  return isa;
}

EnvironmentError compiler_error(const std::string& command, const std::string& cause) {
  return EnvironmentError(
      fmt::format("compiler '{}': {}; name a working C++ compiler with --compiler or CXX", command, cause),
      ExitCode::kCompiler);
}

constexpr double kAnswerLimit_s = 30;

std::string compiler_output(const std::string& command, const std::vector<std::string>& arguments,
                            const StopToken& stop) {
  std::vector<std::string> words = command_words(command);
  if (words.empty()) throw compiler_error(command, "no command");
  words.insert(words.end(), arguments.begin(), arguments.end());
  RunResult result;
  try {
    result = run_process(words, {.timeout_s = kAnswerLimit_s, .stop = stop});
  } catch (const EnvironmentError& error) {
    throw compiler_error(command, error.what());
  }
  if (result.stopped) throw Stopped(fmt::format("stopped while compiler '{}' was asked", command));
  if (result.timed_out)
    throw compiler_error(command, fmt::format("{} has no answer within {} s", arguments[0], kAnswerLimit_s));
  if (!result.ok()) {
    const std::string first_line = result.err.substr(0, result.err.find('\n'));
    throw compiler_error(command, fmt::format("{} fails: {}", arguments[0],
                                              first_line.empty() ? result.end.describe() : first_line));
  }
  return result.out;
}

}  // namespace

std::vector<std::string> command_words(std::string_view command) {
  std::vector<std::string> words;
  for (size_t begin = 0; (begin = command.find_first_not_of(" \t", begin)) != std::string_view::npos;) {
    const size_t end = std::min(command.find_first_of(" \t", begin), command.size());
    words.emplace_back(command.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

int vector_bytes_of(std::string_view macros) {
  if (defines(macros, "__AVX512F__")) return 64;
  return defines(macros, "__AVX__") ? 32 : 16;
}

CompilerTarget compiler_target(const std::string& command, const StopToken& stop) {
  CompilerTarget target;
  target.command = command;
  const std::string version = compiler_output(command, {"--version"}, stop);
  target.version = version.substr(0, version.find('\n'));
  const std::string macros =
      compiler_output(command, {"-march=native", "-dM", "-E", "-x", "c++", "/dev/null"}, stop);
  target.isa = isa_of(macros);
  target.vector_bytes = vector_bytes_of(macros);
  target.fingerprint = content_hash(macros);
  return target;
}

Machine describe_machine(const CompilerTarget& compiler) {
  Machine machine = hardware();
  machine.usable_threads = usable_threads();
  machine.compiler = compiler;
  return machine;
}

void to_json(nlohmann::json& json, const CompilerTarget& target) {
  json = {{"isa", target.isa},
          {"vector_bytes", target.vector_bytes},
          {"compiler", target.version},
          {"compiler_command", target.command},
          {"target_fingerprint", target.fingerprint}};
}

void from_json(const nlohmann::json& json, CompilerTarget& target) {
  target.isa = json.value("isa", "");
  target.vector_bytes = json.value("vector_bytes", 16);
  target.version = json.value("compiler", "");
  target.command = json.value("compiler_command", "");
  target.fingerprint = json.value("target_fingerprint", "");
}

bool is_virtual_machine() {
  static const bool found = [] {
    std::ifstream stream("/proc/cpuinfo");
    for (std::string line; std::getline(stream, line);)
      if (line.starts_with("flags")) return line.find(" hypervisor") != std::string::npos;
    return false;
  }();
  return found;
}

bool same_hardware(const Machine& a, const Machine& b) {
  return a.cpu_model == b.cpu_model && a.caches == b.caches && a.num_cores == b.num_cores;
}

namespace {

/// Intel's name stands behind the generation in some processors' ("12th Gen Intel(R) Core(TM) i7-12700"), and
/// in capitals in others; the rest begin with their maker's.
std::string maker_of(std::string cpu_model) {
  for (char& c : cpu_model) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const char* maker : {"intel", "amd"})
    if (cpu_model.find(maker) != std::string::npos) return maker;
  return cpu_model.substr(0, cpu_model.find_first_of(" ("));
}

}  // namespace

double hardware_distance(const Machine& a, const Machine& b) {
  const auto threads = [](const Machine& machine) { return std::max(1.0, double(machine.usable_threads)); };
  constexpr double kDoubledThreads = 0.5;
  double distance = kDoubledThreads * std::abs(std::log2(threads(a) / threads(b)));
  if (same_hardware(a, b)) return distance;
  constexpr double kAbsent = 1024;  // bytes of a cache that is not there
  // More than lies between the caches of two makers' servers (2.6 between a Sapphire Rapids and a Zen 4): how
  // cores gather and reach their L3 outlasts sizes.
  constexpr double kOtherMaker = 3;
  const auto bytes_a_core = [](const Machine& machine, int level) {
    for (const Cache& cache : machine.caches)
      if (cache.level == level)
        return static_cast<double>(std::min(cache.bytes / std::max(1, cache.cores_sharing), kMaxL3PerThread));
    return kAbsent;
  };
  if (maker_of(a.cpu_model) != maker_of(b.cpu_model)) distance += kOtherMaker;
  for (int level = 1; level <= 3; ++level)
    distance += std::abs(std::log2(bytes_a_core(a, level) / bytes_a_core(b, level)));
  return distance;
}

void to_json(nlohmann::json& json, const Machine& machine) {
  json = {{"cpu", machine.cpu_model},
          {"packages", machine.num_packages},
          {"numa_nodes", machine.num_numa_nodes},
          {"cores", machine.num_cores},
          {"logical_cpus", machine.num_logical_cpus},
          {"memory_bytes", machine.memory_bytes},
          {"usable_threads", machine.usable_threads}};
  json.update(nlohmann::json(machine.compiler));
  json["caches"] = nlohmann::json::array();
  for (const Cache& cache : machine.caches) {
    json["caches"].push_back({{"level", cache.level},
                              {"bytes", cache.bytes},
                              {"line_bytes", cache.line_bytes},
                              {"instances", cache.num_instances},
                              {"cores_sharing", cache.cores_sharing}});
  }
}

void from_json(const nlohmann::json& json, Machine& machine) {
  machine.cpu_model = json.value("cpu", "");
  machine.num_packages = json.value("packages", 0);
  machine.num_numa_nodes = json.value("numa_nodes", 0);
  machine.num_cores = json.value("cores", 0);
  machine.num_logical_cpus = json.value("logical_cpus", 0);
  machine.memory_bytes = json.value("memory_bytes", int64_t{0});
  machine.usable_threads = json.value("usable_threads", 1);
  machine.compiler = json.get<CompilerTarget>();
  machine.caches.clear();
  for (const nlohmann::json& cache : json.value("caches", nlohmann::json::array())) {
    machine.caches.push_back({cache.value("level", 0), cache.value("bytes", int64_t{0}),
                              cache.value("line_bytes", 0), cache.value("instances", 0),
                              cache.value("cores_sharing", 0)});
  }
}

}  // namespace waco
