// Keeping the folder of kernels below its limit while other processes use it.
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <map>
#include <optional>
#include <vector>

#include "waco/base/error.hpp"
#include "waco/base/files.hpp"
#include "waco/measure/kernel_cache.hpp"

namespace waco::measure {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kDefaultMegabytes = 1024;  // some 40,000 kernels
constexpr double kTrimmedTo = 0.9;           // of the limit, so that not every compilation trims

using Date = std::chrono::system_clock::time_point;

/// By one question, which is what takes time on network file systems; nothing where the file is gone.
struct FileState {
  int64_t bytes = 0;
  Date used;
};

std::optional<FileState> state_of(const fs::path& file) {
  struct stat status {};
  if (::lstat(file.c_str(), &status) != 0) return std::nullopt;
  const auto since_epoch =
      std::chrono::seconds(status.st_mtim.tv_sec) + std::chrono::nanoseconds(status.st_mtim.tv_nsec);
  return FileState{status.st_size, Date(std::chrono::duration_cast<Date::duration>(since_epoch))};
}

/// Both files of an entry, or what a killed run left of them.
struct Entry {
  int64_t bytes = 0;
  Date used = Date::min();  ///< the later date of the two
};

/// By name without suffix. Files that others remove meanwhile do not count.
std::map<std::string, Entry> entries_of(const fs::path& folder) {
  std::map<std::string, Entry> entries;
  for (const fs::directory_entry& file : list_folder(folder)) {
    const std::string suffix = file.path().extension().string();
    if (suffix != ".so" && suffix != ".json") continue;
    const std::optional<FileState> state = state_of(file.path());
    if (!state) continue;
    Entry& entry = entries[file.path().stem().string()];
    entry.bytes += state->bytes;
    entry.used = std::max(entry.used, state->used);
  }
  return entries;
}

}  // namespace

CacheLimit kernel_cache_limit() {
  int64_t megabytes = kDefaultMegabytes;
  if (const char* text = std::getenv("WACO_KERNEL_CACHE_MB"); text != nullptr && *text != '\0') {
    const std::string_view all(text);
    const auto [end, fault] = std::from_chars(all.data(), all.data() + all.size(), megabytes);
    if (fault != std::errc{} || end != all.data() + all.size() || megabytes < 0 || megabytes > 1 << 30)
      throw UsageError(fmt::format(
          "WACO_KERNEL_CACHE_MB is '{}'; give the megabytes that compiled kernels may take, 0 for any",
          text));
  }
  CacheLimit limit;
  limit.bytes = megabytes << 20;
  return limit;
}

void KernelCache::trim() const {
  if (limit_.bytes <= 0) return;
  const std::map<std::string, Entry> entries = entries_of(new_folder_);
  int64_t bytes = 0;
  for (const auto& [name, entry] : entries) bytes += entry.bytes;
  if (bytes <= limit_.bytes) return;
  std::vector<std::pair<Date, std::string>> oldest_first;
  for (const auto& [name, entry] : entries) oldest_first.emplace_back(entry.used, name);
  std::sort(oldest_first.begin(), oldest_first.end());
  const auto wanted = static_cast<int64_t>(static_cast<double>(limit_.bytes) * kTrimmedTo);
  const Date kept_since = Date::clock::now() - limit_.kept;
  for (const auto& [used, name] : oldest_first) {
    if (bytes <= wanted || used > kept_since) return;
    // Someone may have used it since the folder was read.
    const std::optional<FileState> now = state_of(new_folder_ / (name + ".json"));
    if (now && now->used > kept_since) continue;
    std::error_code error;
    // The manifest first: without it the library counts for nothing, should this run be killed in between.
    fs::remove(new_folder_ / (name + ".json"), error);
    fs::remove(new_folder_ / (name + ".so"), error);
    bytes -= entries.at(name).bytes;
  }
}

}  // namespace waco::measure
