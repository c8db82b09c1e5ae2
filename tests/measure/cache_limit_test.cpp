// The folder of kernels stays below its limit, and what is used stays in it.
#include <catch2/catch.hpp>
#include <fstream>
#include <thread>

#include "../scoped_variable.hpp"
#include "small_kernels.hpp"
#include "waco/base/error.hpp"
#include "waco/base/files.hpp"

using namespace waco;
using namespace waco::measure;
using testing::answer;
using testing::compiler;
namespace fs = std::filesystem;

namespace {

/// Entries that only look like kernels, unused for so many hours.
void add_entry(const fs::path& folder, const std::string& name, size_t bytes, int hours) {
  std::ofstream(folder / (name + ".so")) << std::string(bytes - 10, 'x');
  std::ofstream(folder / (name + ".json")) << std::string(10, 'y');
  for (const char* suffix : {".so", ".json"})
    fs::last_write_time(folder / (name + suffix),
                        fs::file_time_type::clock::now() - std::chrono::hours(hours));
}

bool holds(const fs::path& folder, const std::string& name) {
  return fs::exists(folder / (name + ".so")) || fs::exists(folder / (name + ".json"));
}

}  // namespace

TEST_CASE("cache_limit: the least recently used entries go first", "[measure]") {
  const TemporaryFolder folder;
  const fs::path kernels = folder.path() / "kernels";
  const KernelCache cache(compiler(), kernels, {.bytes = 1000});
  add_entry(kernels, "oldest", 300, 50);
  add_entry(kernels, "old", 300, 40);
  add_entry(kernels, "middle", 300, 30);
  add_entry(kernels, "newest", 300, 20);
  cache.trim();
  CHECK_FALSE(holds(kernels, "oldest"));
  CHECK(holds(kernels, "old"));
  CHECK(holds(kernels, "middle"));
  CHECK(holds(kernels, "newest"));
  add_entry(kernels, "latest", 300, 2);
  fs::last_write_time(kernels / "old.json", fs::file_time_type::clock::now());  // used again
  cache.trim();
  CHECK(holds(kernels, "old"));
  CHECK_FALSE(holds(kernels, "middle"));
  CHECK(holds(kernels, "newest"));
}

TEST_CASE("cache_limit: entries used within the hour stay, whatever the size", "[measure]") {
  const TemporaryFolder folder;
  const fs::path kernels = folder.path() / "kernels";
  const KernelCache cache(compiler(), kernels, {.bytes = 100});
  add_entry(kernels, "a", 300, 0);
  add_entry(kernels, "b", 300, 0);
  add_entry(kernels, "c", 300, 2);
  cache.trim();
  CHECK(holds(kernels, "a"));
  CHECK(holds(kernels, "b"));
  CHECK_FALSE(holds(kernels, "c"));
}

TEST_CASE("cache_limit: what a killed run left of an entry is counted and removed", "[measure]") {
  const TemporaryFolder folder;
  const fs::path kernels = folder.path() / "kernels";
  const KernelCache cache(compiler(), kernels, {.bytes = 100});
  add_entry(kernels, "half", 300, 5);
  fs::remove(kernels / "half.json");
  cache.trim();
  CHECK_FALSE(holds(kernels, "half"));
}

TEST_CASE("cache_limit: a use through the cache counts, a removed kernel is compiled again", "[measure]") {
  const TemporaryFolder folder;
  const fs::path kernels = folder.path() / "kernels";
  const std::chrono::seconds nothing_kept{-1};
  const KernelCache cache(compiler(), kernels, {.bytes = 0});
  const fs::path first = cache.get(answer(1), 60).library, second = cache.get(answer(2), 60).library;
  for (const fs::path& library : {first, second})
    for (const char* suffix : {".so", ".json"})
      fs::last_write_time(fs::path(library).replace_extension(suffix),
                          fs::file_time_type::clock::now() - std::chrono::hours(9));
  CHECK(cache.get(answer(1), 60).from_cache);
  const auto room = static_cast<int64_t>(1.2 * static_cast<double>(fs::file_size(first)));
  const KernelCache limited(compiler(), kernels, {.bytes = room + 800, .kept = nothing_kept});
  limited.trim();
  CHECK(fs::exists(first));
  CHECK_FALSE(fs::exists(second));
  CHECK_FALSE(limited.get(answer(2), 60).from_cache);
}

TEST_CASE("cache_limit: a cache that has grown is trimmed at its end", "[measure]") {
  const TemporaryFolder folder;
  const fs::path kernels = folder.path() / "kernels";
  {
    const KernelCache cache(compiler(), kernels, {.bytes = 100});
    add_entry(kernels, "old", 300, 5);
    CHECK(cache.get_all({answer(1)}, 1, 60)[0].ok());
    CHECK(holds(kernels, "old"));  // not after every compilation: that means a look at every file
  }
  CHECK_FALSE(holds(kernels, "old"));
  add_entry(kernels, "old", 300, 5);
  { const KernelCache unused(compiler(), kernels, {.bytes = 100}); }
  CHECK(holds(kernels, "old"));
  {
    const KernelCache next(compiler(), kernels, {.bytes = 100});
    CHECK(next.get_all({answer(2)}, 1, 60)[0].ok());
  }
  CHECK(holds(kernels, "old"));  // nor twice within a minute
}

TEST_CASE("cache_limit: processes that trim and compile at once harm nobody", "[measure]") {
  const TemporaryFolder folder;
  const fs::path kernels = folder.path() / "kernels";
  constexpr int kThreads = 4, kRounds = 3;
  std::vector<std::thread> pool;
  std::vector<int> failures(kThreads, 0);
  for (int t = 0; t < kThreads; ++t)
    pool.emplace_back([&, t] {
      // A cache of its own each, as processes have; nothing is protected and nothing fits.
      const KernelCache cache(compiler(), kernels, {.bytes = 1, .kept = std::chrono::seconds(-1)});
      for (int round = 0; round < kRounds; ++round)
        for (const CompiledKernel& kernel : cache.get_all({answer(round), answer(round + 1)}, 1, 60))
          failures[static_cast<size_t>(t)] += kernel.ok() ? 0 : 1;
    });
  for (std::thread& thread : pool) thread.join();
  for (const int count : failures) CHECK(count == 0);
  const KernelCache after(compiler(), kernels, {});
  CHECK(after.get(answer(0), 60).ok());
}

TEST_CASE("cache_limit: comes from the environment, which has to be a number", "[measure]") {
  CHECK(kernel_cache_limit().bytes == int64_t{1024} << 20);
  {
    const ScopedVariable limit("WACO_KERNEL_CACHE_MB", "7");
    CHECK(kernel_cache_limit().bytes == int64_t{7} << 20);
  }
  for (const char* wrong : {"many", "7MB", "-1", "1e3"}) {
    const ScopedVariable limit("WACO_KERNEL_CACHE_MB", wrong);
    CHECK_THROWS_AS(kernel_cache_limit(), UsageError);
  }
}
