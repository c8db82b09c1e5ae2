// Machine description, usable threads and cgroup quotas.
#include "waco/base/machine.hpp"

#include <omp.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <new>
#include <nlohmann/json.hpp>
#include <set>

#include "../scoped_address_limit.hpp"
#include "../scoped_variable.hpp"
#include "waco/base/error.hpp"
#include "waco/base/files.hpp"
#include "waco/base/thread_places.hpp"

using namespace waco;
namespace fs = std::filesystem;

namespace {

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

/// L1, L2 and L3 of one core and of `sharing` cores, in KB; no L3 where that is 0.
Machine processor(const std::string& name, int64_t l1, int64_t l2, int64_t l3, int sharing) {
  Machine machine;
  machine.cpu_model = name;
  machine.num_cores = sharing;
  machine.caches = {{1, l1 << 10, 64, sharing, 1}, {2, l2 << 10, 64, sharing, 1}};
  if (l3 > 0) machine.caches.push_back({3, l3 << 10, 64, 1, sharing});
  return machine;
}

/// What a built-in model was trained on.
Machine trained_on(const std::string& model) {
  const std::string folder = std::string(WACO_TEST_DATA_DIR) + "/../../data/models/";
  return nlohmann::json::parse(read_file(folder + model + "/model.json")).at("machine").get<Machine>();
}

}  // namespace

TEST_CASE("machine: describes cores, memory and a compiler target", "[base]") {
  const Machine machine = describe_machine(compiler_target("c++"));
  CHECK(machine.num_cores >= 1);
  CHECK(machine.num_logical_cpus >= machine.num_cores);
  CHECK(machine.memory_bytes > (int64_t{1} << 26));
  CHECK(machine.usable_threads == usable_threads());
  CHECK_FALSE(machine.cpu_model.empty());
  CHECK_FALSE(machine.compiler.version.empty());
  CHECK_FALSE(machine.compiler.isa.empty());
  CHECK((machine.compiler.vector_bytes == 16 || machine.compiler.vector_bytes == 32 ||
         machine.compiler.vector_bytes == 64));
  for (size_t n = 1; n < machine.caches.size(); ++n)
    CHECK(machine.caches[n].level > machine.caches[n - 1].level);
}

TEST_CASE("machine: like nodes are the same hardware, whatever their jobs may use", "[base]") {
  const Machine node = describe_machine();
  Machine other = node;
  other.memory_bytes += 1;
  other.usable_threads += 1;
  CHECK(same_hardware(node, other));
  other.num_cores += 1;
  CHECK_FALSE(same_hardware(node, other));
  other = node;
  other.cpu_model += " v2";
  CHECK_FALSE(same_hardware(node, other));
  other = node;
  other.caches.push_back({9, 1, 64, 1, 1});
  CHECK_FALSE(same_hardware(node, other));
}

TEST_CASE("machine: processors are as far apart as their caches and makers", "[base]") {
  Machine node;
  node.cpu_model = "Abacus(R) 9000";
  node.num_cores = 8;
  node.caches = {{1, 32 << 10, 64, 8, 1}, {2, 1 << 20, 64, 8, 1}, {3, 32 << 20, 64, 1, 8}};
  CHECK(hardware_distance(node, node) == 0);
  Machine larger = node;
  larger.cpu_model = "Abacus 9500";
  larger.num_cores = 16;
  larger.caches[1].bytes *= 2;
  CHECK(hardware_distance(node, larger) == 1);
  CHECK(hardware_distance(larger, node) == 1);
  // As much of the shared cache a core, though there is twice as much of it.
  larger.caches[2] = {3, 64 << 20, 64, 1, 16};
  CHECK(hardware_distance(node, larger) == 1);
  Machine other = larger;
  other.cpu_model = "Slide Rule 9500";
  CHECK(hardware_distance(node, other) == 4);
  other.caches.pop_back();
  CHECK(hardware_distance(node, other) > 10);
  // Of the same node half, and another that gives a job four times as many.
  node.usable_threads = 8;
  Machine half = node;
  half.usable_threads = 4;
  CHECK(hardware_distance(node, half) == 0.5);
  larger.usable_threads = 32;
  CHECK(hardware_distance(larger, node) == 2);
}

TEST_CASE("machine: a processor is nearest to the built-in models of its kind", "[base]") {
  const std::string op = GENERATE("spmv", "spmm", "sddmm", "mttkrp");
  const Machine xeon = trained_on(op), zen4 = trained_on(op + "-zen4"), zen3 = trained_on(op + "-zen3");
  for (const Machine& intel :
       {processor("Intel(R) Xeon(R) Platinum 8480+", 48, 2048, 105 << 10, 56),
        processor("INTEL(R) XEON(R) PLATINUM 8592+", 48, 2048, 320 << 10, 64),
        processor("Intel(R) Xeon(R) Platinum 8380 CPU @ 2.30GHz", 48, 1280, 60 << 10, 40),
        processor("Intel(R) Xeon(R) Platinum 8180 CPU @ 2.50GHz", 32, 1024, 39424, 28),
        processor("Intel(R) Xeon(R) CPU E5-2699 v4 @ 2.20GHz", 32, 256, 55 << 10, 22),
        processor("Intel(R) Xeon(R) Processor", 48, 2048, 105 << 10, 8),
        processor("Intel(R) Xeon(R) Processor", 48, 2048, 105 << 10, 2),
        processor("12th Gen Intel(R) Core(TM) i7-12700", 48, 1280, 25 << 10, 12)}) {
    INFO(intel.cpu_model);
    CHECK(hardware_distance(intel, xeon) < hardware_distance(intel, zen4));
  }
  for (const Machine& amd : {processor("AMD EPYC 9654 96-Core Processor", 32, 1024, 32 << 10, 8),
                             processor("AMD EPYC 7763 64-Core Processor", 32, 512, 32 << 10, 8),
                             processor("AMD EPYC 9755 128-Core Processor", 48, 1024, 32 << 10, 8),
                             processor("AMD EPYC", 32, 1024, 256 << 10, 2),
                             processor("AMD Ryzen 9 7950X 16-Core Processor", 32, 1024, 32 << 10, 8)}) {
    INFO(amd.cpu_model);
    CHECK(hardware_distance(amd, zen4) < hardware_distance(amd, xeon));
    const bool has_small_l2 = amd.caches.at(1).bytes < 1 << 20;
    CHECK((hardware_distance(amd, zen3) < hardware_distance(amd, zen4)) == has_small_l2);
  }
  // Of neither maker: caches alone decide, for a Graviton3 the AMD's of 1 MB.
  const Machine arm = processor("unknown", 64, 1024, 32 << 10, 64);
  CHECK(hardware_distance(arm, zen4) < hardware_distance(arm, xeon));
  CHECK(std::isfinite(hardware_distance(processor("Apple M1", 128, 3072, 0, 4), xeon)));
}

TEST_CASE("machine: what a virtual machine reports of L3 is counted up to what a core could have", "[base]") {
  const Machine whole_socket = processor("Intel(R) Xeon(R) Processor", 48, 2048, 480 << 10, 2);
  const Machine most = processor("Intel(R) Xeon(R) Processor 2", 48, 2048, 64 << 10, 2);
  CHECK(hardware_distance(whole_socket, most) == 0);
}

TEST_CASE("machine: a processor's maker may stand anywhere in its name", "[base]") {
  const Machine named_first = processor("Intel(R) Core(TM) i7-12700", 48, 1280, 25 << 10, 12);
  const Machine named_later = processor("12th Gen Intel(R) Core(TM) i7-12700", 48, 1280, 25 << 10, 12);
  CHECK(hardware_distance(named_first, named_later) == 0);
}

TEST_CASE("machine: JSON form reads back to the same machine", "[base]") {
  const Machine machine = describe_machine(compiler_target("c++"));
  const nlohmann::json json = machine;
  CHECK(nlohmann::json::parse(json.dump()).get<Machine>() == machine);
}

TEST_CASE("machine: a missing compiler is an environment error with the compiler's exit code", "[base]") {
  try {
    compiler_target("no-such-compiler-anywhere");
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kCompiler);
    CHECK_THAT(error.what(), Catch::Contains("no-such-compiler-anywhere") && Catch::Contains("--compiler"));
  }
}

TEST_CASE("machine: a program that is no compiler is refused", "[base]") {
  CHECK_THROWS_AS(compiler_target("false"), EnvironmentError);
}

TEST_CASE("machine: vector width follows the target's macros", "[base]") {
  CHECK(vector_bytes_of("#define __SSE2__ 1\n") == 16);
  CHECK(vector_bytes_of("#define __SSE2__ 1\n#define __AVX__ 1\n") == 32);
  CHECK(vector_bytes_of("#define __AVX__ 1\n#define __AVX512F__ 1\n") == 64);
}

TEST_CASE("machine: a compiler command may have several words", "[base]") {
  CHECK(command_words("  ccache  g++-12 ") == std::vector<std::string>{"ccache", "g++-12"});
  CHECK(command_words("").empty());
}

TEST_CASE("machine: OMP_NUM_THREADS limits the usable threads", "[base]") {
  const ScopedVariable variable(GENERATE("OMP_NUM_THREADS", "OMP_THREAD_LIMIT"), "1,4");
  CHECK(usable_threads() == 1);
}

TEST_CASE("machine: the OMP_NUM_THREADS of a program that started itself anew limits nothing", "[base]") {
  const int usable = usable_threads();
  const ScopedVariable before(kUsableThreadsVariable, std::to_string(usable).c_str());
  const ScopedVariable own("OMP_NUM_THREADS", "1");
  CHECK(usable_threads() == usable);
}

TEST_CASE("machine: threads are held on CPUs of their own, and let go", "[base]") {
  if (omp_get_proc_bind() != omp_proc_bind_false) {
    SUCCEED("left out: OpenMP holds the threads");
    return;
  }
  const std::vector<int> cpus = allowed_cpus();
  const int threads = std::min<int>(2, static_cast<int>(cpus.size()));
  const auto cpus_of_threads = [threads] {
    std::vector<std::vector<int>> found(static_cast<size_t>(threads));
#pragma omp parallel num_threads(threads)
    found[static_cast<size_t>(omp_get_thread_num())] = allowed_cpus();
    return found;
  };
  {
    const ThreadsPinned pinned(threads);
    const auto held = cpus_of_threads();
    for (size_t n = 0; n < held.size(); ++n) CHECK(held[n] == std::vector<int>{cpus[n]});
  }
  for (const std::vector<int>& free : cpus_of_threads()) CHECK(free == cpus);
  const ThreadsPinned too_many(static_cast<int>(cpus.size()) + 1);
  for (const std::vector<int>& free : cpus_of_threads()) CHECK(free == cpus);
}

TEST_CASE("machine: an OMP_NUM_THREADS that is no number limits nothing", "[base]") {
  int without = 0;
  {
    const ScopedVariable variable("OMP_NUM_THREADS", "1024");
    without = usable_threads();
  }
  const ScopedVariable variable("OMP_NUM_THREADS", "many");
  CHECK(usable_threads() == without);
}

TEST_CASE("machine: allowed CPUs are distinct", "[base]") {
  const std::vector<int> cpus = allowed_cpus();
  CHECK_FALSE(cpus.empty());
  CHECK(std::set<int>(cpus.begin(), cpus.end()).size() == cpus.size());
}

TEST_CASE("machine: threads run on at most as many cores, and one core after the other", "[base]") {
  CHECK(num_cores(1) == 1);
  const int all = static_cast<int>(allowed_cpus().size());
  for (int threads = 2; threads <= all; ++threads) {
    CHECK(num_cores(threads) >= num_cores(threads - 1));
    CHECK(num_cores(threads) <= threads);
  }
  CHECK(num_cores(2 * all) == num_cores(all));
  CHECK(num_cores(all) <= describe_machine().num_cores);
}

TEST_CASE("machine: what a limit of the address space leaves counts, for this process", "[base]") {
  constexpr int64_t kLeft = int64_t{256} << 20;
  const int64_t before = available_memory_bytes();
  const ScopedAddressLimit limit(kLeft);
  CHECK(available_memory_bytes() <= kLeft);
  CHECK_THROWS_AS(require_memory(2 * kLeft), std::bad_alloc);
  if (before > 4 * kLeft) CHECK(free_memory_bytes() > kLeft);
}

TEST_CASE("machine: the least cgroup quota on the way to the root counts", "[base]") {
  const TemporaryFolder root;
  write(root.path() / "a/b/cpu.max", "350000 100000\n");
  write(root.path() / "a/cpu.max", "150000 100000\n");
  CHECK(cgroup_cpu_quota(root.path(), "0::/a/b\n") == Approx(1.5));
  CHECK(cgroup_cpu_quota(root.path(), "0::/elsewhere\n") == std::nullopt);
}

TEST_CASE("machine: a container's own quota is read at the mount", "[base]") {
  const TemporaryFolder root;
  write(root.path() / "cpu.max", "200000 100000\n");
  CHECK(cgroup_cpu_quota(root.path(), "0::/../outside\n") == Approx(2.0));
}

TEST_CASE("machine: cgroup quotas: max is none, version 1 is read, junk is ignored", "[base]") {
  const TemporaryFolder root;
  write(root.path() / "free/cpu.max", "max 100000\n");
  CHECK(cgroup_cpu_quota(root.path(), "0::/free\n") == std::nullopt);
  write(root.path() / "cpu/old/cpu.cfs_quota_us", "300000\n");
  write(root.path() / "cpu/old/cpu.cfs_period_us", "100000\n");
  CHECK(cgroup_cpu_quota(root.path(), "4:cpu,cpuacct:/old\n9:cpuset:/old\n") == Approx(3.0));
  CHECK(cgroup_cpu_quota(root.path(), "nonsense\n\n::\n") == std::nullopt);
}
