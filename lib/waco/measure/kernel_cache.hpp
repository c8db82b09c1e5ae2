// Compiled kernels on disk, found by what they were compiled from.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "waco/base/files.hpp"
#include "waco/base/signals.hpp"
#include "waco/measure/compiler.hpp"

namespace waco::measure {

struct CompileRequest {
  std::string source;
  std::string flags;
};

/// How large the folder may grow.
struct CacheLimit {
  int64_t bytes = 0;                ///< of all entries; 0: any
  std::chrono::seconds kept{3600};  ///< what was used since then stays, whatever the size: it may be in use
};

/// Seconds that compiling one kernel may take.
inline constexpr double kCompileLimit_s = 60;

/// Compilers to run at once: one for each CPU that this process may use, as far as memory goes.
int num_compilers();

/// Whether a cache may compile what it lacks.
enum class Compiling { kAllowed, kNever };

/// $WACO_KERNEL_CACHE_MB, or 1024 MB. Throws UsageError when that is not a number.
CacheLimit kernel_cache_limit();

/// A folder of entries, each two files: `<key>.so` and `<key>.json`, its manifest (format "waco-kernel",
/// version, creator, size, checksum). The key is a hash of source, flags and compiler identity. An entry is
/// complete when its manifest is there and agrees with the library; anything else (a run that was killed, a
/// full disk, a flipped bit) is rebuilt. Both files are written under temporary names and renamed, so that
/// processes may share the folder. The date of a manifest is that of the entry's last use; beyond the limit
/// the entries that were not used for the longest time are removed.
class KernelCache {
 public:
  /// Uses `folder`, created with mode 0700 when missing; empty: "kernels" in the user's cache folder or,
  /// where there is none or libraries can't be loaded from it, in a temporary one, the same for all of a
  /// process. From a folder that can't be written to, such as one of a read-only file system, kernels are
  /// taken; new ones go to that one then. Throws EnvironmentError.
  explicit KernelCache(Compiler compiler, std::filesystem::path folder = {},
                       CacheLimit limit = kernel_cache_limit(), Compiling compiling = Compiling::kAllowed);

  /// Trims the folder if anything was added to it, and removes what killed runs left behind; once in ten
  /// minutes at most.
  ~KernelCache();
  KernelCache(const KernelCache&) = delete;
  KernelCache& operator=(const KernelCache&) = delete;

  const Compiler& compiler() const { return compiler_; }
  const std::filesystem::path& folder() const { return folder_; }
  /// Whether what is compiled now is there for later processes.
  bool keeps_new_kernels() const { return new_folder_ == folder_; }

  /// The kernel of one request, from the cache or compiled now; with Compiling::kNever one that is not there
  /// fails, and the compiler is never run.
  CompiledKernel get(const CompileRequest& request, double timeout_s, const StopToken& stop = {}) const;

  /// The kernels of all requests, in their order; compiles on `threads` threads, equal requests once.
  std::vector<CompiledKernel> get_all(const std::vector<CompileRequest>& requests, int threads,
                                      double timeout_s, const StopToken& stop = {}) const;

  /// Throws EnvironmentError with exit code kCompiler when the compiler can't build OpenMP shared objects,
  /// and Stopped; else notes it as one that makes kernels here (noted_compilers.hpp). Returns such an object.
  std::filesystem::path require_openmp(const StopToken& stop = {}) const;

  std::string key(const CompileRequest& request) const;
  /// Whether get() would find it.
  bool has(const CompileRequest& request) const { return !holder_of(key(request)).empty(); }

  /// Brings the folder of new entries below its limit, which takes a look at every file in it.
  void trim() const;

 private:
  /// The folder with a complete entry; empty: none has one.
  std::filesystem::path holder_of(const std::string& key) const;
  static bool is_valid(const std::filesystem::path& folder, const std::string& key);
  CompiledKernel compile(const std::string& key, const CompileRequest& request, double timeout_s,
                         const StopToken& stop) const;
  void store(const std::string& key, const CompileRequest& request,
             const std::filesystem::path& library) const;

  Compiler compiler_;
  std::filesystem::path folder_;
  std::filesystem::path new_folder_;  ///< for new entries: the same, or the temporary one
  CacheLimit limit_;
  Compiling compiling_;
  mutable std::atomic<bool> has_grown_ = false;
};

}  // namespace waco::measure
