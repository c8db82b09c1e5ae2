// The compiled kernels' folder: keys, manifests, validation and parallel compilation.
#include "waco/measure/kernel_cache.hpp"

#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <exception>
#include <fstream>
#include <map>
#include <mutex>
#include <new>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <thread>

#include "waco/base/content_hash.hpp"
#include "waco/base/error.hpp"
#include "waco/base/file_replacement.hpp"
#include "waco/base/machine.hpp"
#include "waco/base/note.hpp"
#include "waco/base/unused_entries.hpp"
#include "waco/base/version.hpp"
#include "waco/measure/noted_compilers.hpp"

namespace waco::measure {
namespace fs = std::filesystem;
namespace {

constexpr int kManifestVersion = 1;
constexpr const char* kManifestFormat = "waco-kernel";

constexpr const char* kOpenMpSource = R"(
#include <omp.h>
extern "C" int waco_openmp_check(int threads) {
  int sum = 0;
#pragma omp parallel for num_threads(threads) reduction(+ : sum)
  for (int n = 0; n < 64; ++n) sum += omp_get_num_threads();
  return sum;
}
)";

/// A folder inside the cache, where there is room if anywhere; removed at the end.
class BuildFolder {
 public:
  explicit BuildFolder(const fs::path& cache) : path_(temporary_name(cache / "build")) {
    if (::mkdir(path_.c_str(), 0700) != 0)
      throw os_error(fmt::format("{}: can't be created", path_.string()));
  }
  ~BuildFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  BuildFolder(const BuildFolder&) = delete;
  BuildFolder& operator=(const BuildFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// Whether new ones can be made in it, and there is room for them, which a quota may forbid. Found by doing
/// it: what modes say is not all that decides.
bool takes_new_entries(const fs::path& folder) {
  constexpr size_t kBytes = 1 << 16;  // a large kernel and its source
  const fs::path trial = temporary_name(folder / "trial");
  if (::mkdir(trial.c_str(), 0700) != 0) return false;
  std::ofstream file(trial / "entry", std::ios::binary);
  file << std::string(kBytes, '.');
  file.close();  // network file systems tell only now
  std::error_code ignored;
  fs::remove_all(trial, ignored);
  return file.good();
}

/// The same, and asked no more of a folder that does: inputs of a list open one, one after the other.
bool takes_entries(const fs::path& folder) {
  static std::mutex mutex;
  static std::set<fs::path> known;
  const std::lock_guard lock(mutex);
  if (!known.contains(folder) && takes_new_entries(folder)) known.insert(folder);
  return known.contains(folder);
}

/// Whether the file system of a folder is mounted noexec: no library is loaded from there.
bool refuses_libraries(const fs::path& folder) {
  struct statvfs system {};
  return ::statvfs(folder.c_str(), &system) == 0 && (system.f_flag & ST_NOEXEC) != 0;
}

/// Serves all inputs of this process, and goes with it.
fs::path temporary_kernels() {
  static const TemporaryFolder folder("waco-kernels-");
  return folder.path() / "kernels";
}

/// Inputs of a list open the same folder, one after the other.
void warn_once(const std::string& text) {
  static std::mutex mutex;
  static std::set<std::string> told;
  const std::lock_guard lock(mutex);
  if (told.insert(text).second) spdlog::warn(text);
}

fs::path kernels_folder_if_any() {
  const fs::path cache = cache_folder_if_any();
  if (cache.empty()) return {};
  const fs::path kernels = cache / "kernels";
  std::error_code error;
  if (!fs::exists(kernels, error) && !takes_entries(cache)) return {};
  try {
    make_private_folder(kernels);
    return kernels;
  } catch (const EnvironmentError& fault) {
    warn_once(fmt::format("{}; kernels are not kept for later runs", fault.what()));
    return {};
  }
}

}  // namespace

int num_compilers() {
  constexpr int64_t kEach = int64_t{512} << 20;
  return static_cast<int>(std::clamp<int64_t>(free_memory_bytes() / kEach, 1, usable_threads()));
}

KernelCache::KernelCache(Compiler compiler, fs::path folder, CacheLimit limit, Compiling compiling)
    : compiler_(std::move(compiler)), folder_(std::move(folder)), limit_(limit), compiling_(compiling) {
  if (folder_.empty())
    folder_ = kernels_folder_if_any();
  else
    make_private_folder(folder_);
  if (!folder_.empty() && refuses_libraries(folder_)) {
    warn_once(fmt::format(
        "{}: is on a file system that is mounted noexec; kernels are not kept for later runs (XDG_CACHE_HOME "
        "names another place)",
        folder_.string()));
    folder_.clear();
  }
  new_folder_ = folder_;
  if (!folder_.empty() && (compiling_ == Compiling::kNever || takes_entries(folder_))) return;
  if (!folder_.empty())
    warn_once(
        fmt::format("{}: can't be written to, or has no room; kernels that it lacks are not kept for "
                    "later runs (XDG_CACHE_HOME names another place)",
                    folder_.string()));
  new_folder_ = temporary_kernels();
  make_private_folder(new_folder_);
  if (refuses_libraries(new_folder_))
    throw EnvironmentError(fmt::format(
        "{}: is on a file system that is mounted noexec, from which no kernel can be loaded; name "
        "another place by XDG_CACHE_HOME or TMPDIR",
        new_folder_.string()));
  if (folder_.empty()) folder_ = new_folder_;
}

KernelCache::~KernelCache() {
  try {
    if (!has_grown_ || !is_due_for_tidying(new_folder_)) return;
    remove_leftovers(new_folder_);
    trim();
  } catch (const std::exception&) {  // the next one that adds to the folder trims it
  }
}

std::string KernelCache::key(const CompileRequest& request) const {
  // Lengths keep the three texts apart.
  return content_hash(fmt::format("{}\n{} {} {}\n{}{}{}", kManifestVersion, request.source.size(),
                                  request.flags.size(), compiler_.identity().size(), request.source,
                                  request.flags, compiler_.identity()));
}

CompiledKernel KernelCache::get(const CompileRequest& request, double timeout_s,
                                const StopToken& stop) const {
  const std::string name = key(request);
  if (const fs::path folder = holder_of(name); !folder.empty()) {
    CompiledKernel kernel;
    kernel.library = folder / (name + ".so");
    kernel.from_cache = true;
    note_use(folder / (name + ".json"));
    return kernel;
  }
  if (compiling_ == Compiling::kNever) {
    CompiledKernel missing;
    missing.diagnostic = "its kernel is not in the cache, and nothing is to be compiled";
    return missing;
  }
  return compile(name, request, timeout_s, stop);
}

std::vector<CompiledKernel> KernelCache::get_all(const std::vector<CompileRequest>& requests, int threads,
                                                 double timeout_s, const StopToken& stop) const {
  std::map<std::string, size_t> first_of;  // key -> first request with it
  std::vector<size_t> same_as(requests.size());
  std::vector<size_t> distinct;
  for (size_t n = 0; n < requests.size(); ++n) {
    same_as[n] = first_of.emplace(key(requests[n]), n).first->second;
    if (same_as[n] == n) distinct.push_back(n);
  }

  std::vector<CompiledKernel> kernels(requests.size());
  std::atomic<size_t> next{0};
  std::exception_ptr failure;
  std::mutex failure_mutex;
  const auto work = [&] {
    for (size_t n; (n = next++) < distinct.size();) {
      try {
        kernels[distinct[n]] = get(requests[distinct[n]], timeout_s, stop);
      } catch (...) {
        const std::lock_guard lock(failure_mutex);
        failure = std::current_exception();
        next = distinct.size();  // the others end after the one at hand
      }
    }
  };
  std::vector<std::thread> pool;
  const size_t num_threads = std::min<size_t>(distinct.size(), static_cast<size_t>(std::max(threads, 1)));
  try {
    pool.reserve(num_threads);
    for (size_t t = 1; t < num_threads; ++t) pool.emplace_back(work);
  } catch (const std::system_error&) {  // no more threads are to be had: those that are there do it all
  } catch (const std::bad_alloc&) {     // or no memory for them
  }
  work();
  for (std::thread& thread : pool) thread.join();
  if (failure) std::rethrow_exception(failure);
  for (size_t n = 0; n < requests.size(); ++n) {
    if (same_as[n] != n) kernels[n] = kernels[same_as[n]];
  }
  return kernels;
}

fs::path KernelCache::require_openmp(const StopToken& stop) const {
  const CompiledKernel kernel = get({kOpenMpSource, "-O1"}, kCompileLimit_s, stop);
  if (kernel.stopped) throw Stopped("stopped before anything was compiled");
  if (kernel.ok()) {
    note_compiler(compiler_, folder_);
    return kernel.library;
  }
  const std::string diagnostic = kernel.diagnostic.substr(0, kernel.diagnostic.find('\n'));
  if (kernel.machine_failed)
    throw EnvironmentError(
        fmt::format("compiler '{}' could not do its work: {}; free {}", compiler_.target().command,
                    diagnostic, kernel.disk_full ? "disk space" : "memory, or raise the limits of this job"));
  throw EnvironmentError(
      fmt::format("compiler '{}' can't build OpenMP shared objects: {}; install its OpenMP runtime or "
                  "name another compiler with --compiler or CXX",
                  compiler_.target().command, diagnostic),
      ExitCode::kCompiler);
}

fs::path KernelCache::holder_of(const std::string& key) const {
  if (is_valid(folder_, key)) return folder_;
  if (new_folder_ != folder_ && is_valid(new_folder_, key)) return new_folder_;
  return {};
}

bool KernelCache::is_valid(const fs::path& folder, const std::string& key) {
  const fs::path manifest = folder / (key + ".json");
  const fs::path library = folder / (key + ".so");
  std::error_code error;
  if (!fs::exists(manifest, error) || !fs::exists(library, error)) return false;
  return read_note(manifest, kManifestFormat, kManifestVersion, [&](const nlohmann::json& json) {
    const std::string content = read_file(library);
    return json.at("size_bytes") == content.size() && json.at("checksum") == content_hash(content);
  });
}

CompiledKernel KernelCache::compile(const std::string& key, const CompileRequest& request, double timeout_s,
                                    const StopToken& stop) const {
  CompiledKernel kernel;
  kernel.stopped = stop();
  if (kernel.stopped) return kernel;
  const BuildFolder build(new_folder_);
  kernel = compiler_.compile(request.source, request.flags, build.path(), timeout_s, stop);
  if (kernel.ok()) {
    store(key, request, kernel.library);
    kernel.library = new_folder_ / (key + ".so");
  }
  return kernel;
}

void KernelCache::store(const std::string& key, const CompileRequest& request,
                        const fs::path& library) const {
  const std::string content = read_file(library);
  const nlohmann::json manifest = {{"format", kManifestFormat},
                                   {"version", kManifestVersion},
                                   {"created_by", fmt::format("waco {}", version())},
                                   {"compiler", compiler_.target().version},
                                   {"isa", compiler_.target().isa},
                                   {"flags", request.flags},
                                   {"source_bytes", request.source.size()},
                                   {"size_bytes", content.size()},
                                   {"checksum", content_hash(content)}};
  // The manifest last: without it, or with one that does not agree, the library counts for nothing.
  has_grown_ = true;
  write_file_atomically(new_folder_ / (key + ".so"), content);
  write_file_atomically(new_folder_ / (key + ".json"), manifest.dump(2) + "\n");
}

}  // namespace waco::measure
