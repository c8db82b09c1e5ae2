// The compiler and the cache of what it made.
#include "waco/measure/kernel_cache.hpp"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "../no_room.hpp"
#include "../scoped_variable.hpp"
#include "small_kernels.hpp"
#include "waco/base/error.hpp"
#include "waco/base/files.hpp"
#include "waco/base/process.hpp"

using namespace waco;
using namespace waco::measure;
using testing::answer;
using testing::compiler;
using testing::CompilerScript;
namespace fs = std::filesystem;

namespace {

int call(const fs::path& library) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE(handle != nullptr);
  const int result = reinterpret_cast<int (*)()>(dlsym(handle, "answer"))();
  dlclose(handle);
  return result;
}

void overwrite(const fs::path& file, size_t offset, char byte) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(static_cast<std::streamoff>(offset));
  stream.put(byte);
}

/// Of a compiler that can't make kernels.
void check_refused(const std::string& command, const std::string& why) {
  const TemporaryFolder folder;
  const KernelCache cache(Compiler::find(command), folder.path() / "kernels");
  try {
    cache.require_openmp();
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kCompiler);
    CHECK_THAT(error.what(), Catch::Contains(why));
  }
}

/// A cache with one entry.
struct OneEntry {
  TemporaryFolder folder;
  KernelCache cache{compiler(), folder.path() / "kernels"};
  fs::path library = cache.get(answer(42), 60).library;
  fs::path manifest = fs::path(library).replace_extension(".json");
};

}  // namespace

TEST_CASE("compiler: an unusable command has the compiler's exit code", "[measure]") {
  for (const char* command : {"no-such-compiler-anywhere", "false"}) {
    try {
      Compiler::find(command);
      FAIL("no error for " << command);
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kCompiler);
      CHECK_THAT(error.what(), Catch::Contains(command));
    }
  }
}

TEST_CASE("compiler: a compiler without OpenMP is refused with the compiler's exit code", "[measure]") {
  const CompilerScript script("c++-without-openmp",
                              "for a; do if [ \"$a\" = -fopenmp ]; then echo 'error: no OpenMP here' >&2; "
                              "exit 1; fi; done");
  check_refused("c++-without-openmp", "no OpenMP here");
}

TEST_CASE("compiler: one that writes nothing is refused with the compiler's exit code", "[measure]") {
  const CompilerScript script("idle-c++", "is_kernel && exit 0");
  check_refused("idle-c++", "wrote nothing");
}

TEST_CASE("compiler: one that hangs is not waited for when a stop is requested", "[measure]") {
  const TemporaryFolder folder;
  const CompilerScript script("mute-c++",
                              "if is_kernel || [ -z \"$WACO_TEST_TALKS\" ]; then exec sleep 100; fi");
  const auto start = std::chrono::steady_clock::now();
  CHECK_THROWS_AS(Compiler::find("mute-c++", StopToken().with_budget(0.2)), Stopped);
  {
    const ScopedVariable talks("WACO_TEST_TALKS", "1");
    const KernelCache cache(Compiler::find("mute-c++"), folder.path() / "kernels");
    CHECK_THROWS_AS(cache.require_openmp(StopToken().with_budget(0.2)), Stopped);
  }
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(15));
}

TEST_CASE("kernel_cache: the second request comes from the cache and works", "[measure]") {
  OneEntry entry;
  CHECK(call(entry.library) == 42);
  const CompiledKernel again = entry.cache.get(answer(42), 60);
  CHECK(again.from_cache);
  CHECK(again.compile_ns == 0);
  CHECK(again.library == entry.library);
  CHECK(call(again.library) == 42);
}

TEST_CASE("kernel_cache: source, flags and compiler all make the key", "[measure]") {
  OneEntry entry;
  CompileRequest other_flags = answer(42);
  other_flags.flags = "-O2";
  CHECK(entry.cache.key(answer(42)) != entry.cache.key(answer(43)));
  CHECK(entry.cache.key(answer(42)) != entry.cache.key(other_flags));

  const CompilerScript script("wrapper");
  const KernelCache wrapped(Compiler::find("wrapper"), entry.folder.path() / "kernels");
  CHECK(wrapped.key(answer(42)) != entry.cache.key(answer(42)));
}

TEST_CASE("kernel_cache: folder is private and holds entries only", "[measure]") {
  OneEntry entry;
  struct stat status {};
  REQUIRE(stat(entry.cache.folder().c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);
  CHECK(std::distance(fs::directory_iterator(entry.cache.folder()), {}) == 2);
  const nlohmann::json manifest = nlohmann::json::parse(read_file(entry.manifest));
  CHECK(manifest.at("format") == "waco-kernel");
  CHECK(manifest.at("size_bytes") == fs::file_size(entry.library));
}

TEST_CASE("kernel_cache: damaged entries are rebuilt, never trusted", "[measure]") {
  OneEntry entry;
  const auto damage = GENERATE(as<std::string>(), "flipped byte", "truncated library", "no library",
                               "no manifest", "truncated manifest", "newer manifest");
  INFO(damage);
  if (damage == "flipped byte") overwrite(entry.library, fs::file_size(entry.library) / 2, '\x5a');
  if (damage == "truncated library") fs::resize_file(entry.library, 100);
  if (damage == "no library") fs::remove(entry.library);
  if (damage == "no manifest") fs::remove(entry.manifest);
  if (damage == "truncated manifest") fs::resize_file(entry.manifest, 20);
  if (damage == "newer manifest") {
    nlohmann::json manifest = nlohmann::json::parse(read_file(entry.manifest));
    manifest["version"] = 999;
    std::ofstream(entry.manifest) << manifest;
  }
  const CompiledKernel rebuilt = entry.cache.get(answer(42), 60);
  CHECK_FALSE(rebuilt.from_cache);
  CHECK(call(rebuilt.library) == 42);
  CHECK(entry.cache.get(answer(42), 60).from_cache);
}

TEST_CASE("kernel_cache: a source error is a diagnostic that names it, and leaves nothing behind",
          "[measure]") {
  const TemporaryFolder folder;
  const KernelCache cache(compiler(), folder.path() / "kernels");
  const CompiledKernel kernel = cache.get({"int f() { return undeclared_name; }", "-O1"}, 60);
  CHECK_FALSE(kernel.ok());
  CHECK_THAT(kernel.diagnostic, Catch::Contains("undeclared_name"));
  CHECK(fs::is_empty(cache.folder()));
}

TEST_CASE("kernel_cache: a compiler that hangs is stopped at the limit", "[measure]") {
  const TemporaryFolder folder;
  const CompilerScript script("slow-c++", "is_kernel && sleep 600");
  const KernelCache cache(Compiler::find("slow-c++"), folder.path() / "kernels");
  const CompiledKernel kernel = cache.get(answer(1), 0.3);
  CHECK_FALSE(kernel.ok());
  CHECK_THAT(kernel.diagnostic, Catch::Contains("did not finish"));
}

TEST_CASE("kernel_cache: what the machine did to a compiler is no fault of the source", "[measure]") {
  const TemporaryFolder folder;
  const auto failure = GENERATE(
      as<std::string>(), "kill -KILL $$", "kill -TERM $$",
      "echo 'kernel.s: No space left on device' >&2; exit 1",
      "echo 'c++: fatal error: Killed signal terminated program cc1plus' >&2; exit 1",
      "echo 'c++: fatal error: cannot execute cc1plus: vfork: Resource temporarily unavailable' >&2; exit 1",
      "echo 'cc1plus: out of memory allocating 65536 bytes after a total of 1 bytes' >&2; exit 1",
      "echo 'kernel.cpp: Stale file handle' >&2; exit 1");
  INFO(failure);
  const CompilerScript script("unlucky-c++", "is_kernel && { " + failure + "; }");
  const KernelCache cache(Compiler::find("unlucky-c++"), folder.path() / "kernels");
  const CompiledKernel kernel = cache.get(answer(1), 60);
  CHECK_FALSE(kernel.ok());
  CHECK(kernel.machine_failed);
  CHECK(fs::is_empty(cache.folder()));
  CHECK(cache.get(answer(1), 60, StopToken().with_budget(-1)).stopped);
}

TEST_CASE("kernel_cache: a folder that can't be written to is read, and new kernels go elsewhere",
          "[measure]") {
  // One that takes no files even from root.
  const KernelCache cache(compiler(), "/proc/self/task");
  CHECK_FALSE(cache.has(answer(3)));
  const CompiledKernel kernel = cache.get(answer(3), 60);
  REQUIRE(kernel.ok());
  CHECK(call(kernel.library) == 3);
  CHECK(cache.has(answer(3)));
  CHECK(cache.get(answer(3), 60).from_cache);
  const KernelCache reading(compiler(), "/proc/self/task", {}, Compiling::kNever);
  CHECK_FALSE(reading.get(answer(3), 60).ok());
}

TEST_CASE("kernel_cache: a folder without room is read, and new kernels go elsewhere", "[measure]") {
  const OneEntry entry;
  CHECK(entry.cache.keeps_new_kernels());
  // Under another name, as one that had room is not asked again.
  const fs::path folder = entry.folder.path() / "moved";
  fs::rename(entry.cache.folder(), folder);
  {
    const NoRoom no_room(4096);
    const KernelCache full(compiler(), folder);
    CHECK_FALSE(full.keeps_new_kernels());
    CHECK(full.get(answer(42), 60).library == folder / entry.library.filename());
  }
  CHECK(KernelCache(compiler(), folder).keeps_new_kernels());
  CHECK(std::distance(fs::directory_iterator(folder), {}) == 2);  // nothing but the entry
}

TEST_CASE("kernel_cache: kernels of a folder that may only be read are taken from there", "[measure]") {
  OneEntry entry;
  const fs::path folder = entry.cache.folder();
  REQUIRE(::chmod(folder.c_str(), 0500) == 0);
  const bool may_write = ::access(folder.c_str(), W_OK) == 0;
  CompiledKernel known, added;
  bool keeps = false;
  {
    const KernelCache reading(compiler(), folder);
    keeps = reading.keeps_new_kernels();
    known = reading.get(answer(42), 60);
    added = reading.get(answer(43), 60);
  }
  REQUIRE(::chmod(folder.c_str(), 0700) == 0);
  CHECK(known.from_cache);
  CHECK(known.library == entry.library);
  CHECK(call(known.library) == 42);
  REQUIRE(added.ok());
  CHECK_FALSE(added.from_cache);
  CHECK(call(added.library) == 43);
  if (may_write) SUCCEED("root writes to every folder, so that new kernels are kept in this one, too");
  CHECK(keeps == may_write);
  CHECK((added.library.parent_path() == folder) == may_write);
}

TEST_CASE("kernel_cache: a batch keeps its order and compiles equal requests once", "[measure]") {
  const TemporaryFolder folder;
  const KernelCache cache(compiler(), folder.path() / "kernels");
  const CompileRequest bad{"this is no C++", "-O1"};
  const std::vector<CompiledKernel> kernels = cache.get_all({answer(1), bad, answer(2), answer(1)}, 2, 60);
  REQUIRE(kernels.size() == 4);
  CHECK(call(kernels[0].library) == 1);
  CHECK_FALSE(kernels[1].ok());
  CHECK(call(kernels[2].library) == 2);
  CHECK(kernels[3].library == kernels[0].library);
  CHECK(std::distance(fs::directory_iterator(cache.folder()), {}) == 4);
}

TEST_CASE("kernel_cache: a stop request starts no compilation", "[measure]") {
  const TemporaryFolder folder;
  const KernelCache cache(compiler(), folder.path() / "kernels");
  const CompiledKernel kernel = cache.get(answer(1), 60, StopToken().with_budget(-1));
  CHECK_FALSE(kernel.ok());
  CHECK(kernel.stopped);
}

TEST_CASE("kernel_cache: two caches in one folder may build the same entry at once", "[measure]") {
  const TemporaryFolder folder;
  const KernelCache one(compiler(), folder.path() / "kernels");
  const KernelCache two(compiler(), folder.path() / "kernels");
  CompiledKernel first;
  std::thread thread([&] { first = one.get(answer(5), 60); });
  const CompiledKernel second = two.get(answer(5), 60);
  thread.join();
  CHECK(call(first.library) == 5);
  CHECK(call(second.library) == 5);
  CHECK(one.get(answer(5), 60).from_cache);
}

TEST_CASE("kernel_cache: what killed runs left long ago is removed, what is new is not", "[measure]") {
  const TemporaryFolder folder;
  const fs::path kernels = folder.path() / "kernels";
  { const KernelCache cache(compiler(), kernels); }
  fs::create_directory(kernels / "build.tmp.0000000000000123.0");
  std::ofstream(kernels / "abc.so.tmp.0000000000000123.1") << "half";
  std::ofstream(kernels / "def.so.tmp.0000000000000456.1") << "being written";
  const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(5);
  fs::last_write_time(kernels / "build.tmp.0000000000000123.0", long_ago);
  fs::last_write_time(kernels / "abc.so.tmp.0000000000000123.1", long_ago);
  {
    const KernelCache cache(compiler(), kernels);
    CHECK_FALSE(cache.has(answer(7)));
  }
  // Looking for a kernel is no occasion to read the folder.
  CHECK(fs::exists(kernels / "build.tmp.0000000000000123.0"));
  REQUIRE(KernelCache(compiler(), kernels).get(answer(7), 60).ok());
  CHECK_FALSE(fs::exists(kernels / "build.tmp.0000000000000123.0"));
  CHECK_FALSE(fs::exists(kernels / "abc.so.tmp.0000000000000123.1"));
  CHECK(fs::exists(kernels / "def.so.tmp.0000000000000456.1"));
}

TEST_CASE("kernel_cache: a folder of kernels that others may write to is not used", "[measure]") {
  const TemporaryFolder folder;
  const ScopedVariable variable("XDG_CACHE_HOME", folder.path());
  const fs::path kernels = KernelCache(compiler()).folder();
  CHECK(kernels == folder.path() / "waco" / "kernels");
  fs::permissions(kernels, fs::perms::others_write, fs::perm_options::add);
  const KernelCache cache(compiler());
  CHECK(cache.folder() != kernels);
  CHECK(call(cache.get(answer(8), 60).library) == 8);
  CHECK(fs::is_empty(kernels));
  CHECK_THROWS_WITH(KernelCache(compiler(), kernels), Catch::Contains("chmod 700"));  // asked for
}

TEST_CASE("kernel_cache: without a cache folder kernels last as long as the process", "[measure]") {
  const ScopedVariable variable("XDG_CACHE_HOME", "/dev/null");
  CHECK(call(KernelCache(compiler()).get(answer(6), 60).library) == 6);
  CHECK(KernelCache(compiler()).get(answer(6), 60).from_cache);
}
