// Keeping the folder of kernels below its limit while other processes use it.
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <vector>

#include "waco/base/error.hpp"
#include "waco/base/files.hpp"
#include "waco/measure/kernel_cache.hpp"

namespace waco::measure {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kDefaultMegabytes = 1024;  // some 40,000 kernels
constexpr double kTrimmedTo = 0.9;           // of the limit, so that not every compilation trims

using FileTime = fs::file_time_type;

/// Both files of an entry, or what a killed run left of them.
struct Entry {
  int64_t bytes = 0;
  FileTime used = FileTime::min();  ///< the later date of the two
};

/// By name without suffix. Files that others remove meanwhile do not count.
std::map<std::string, Entry> entries_of(const fs::path& folder) {
  std::map<std::string, Entry> entries;
  for (const fs::directory_entry& file : list_folder(folder)) {
    const std::string suffix = file.path().extension().string();
    if (suffix != ".so" && suffix != ".json") continue;
    std::error_code gone;
    const auto bytes = file.file_size(gone);
    const FileTime date = gone ? FileTime::min() : file.last_write_time(gone);
    if (gone) continue;
    Entry& entry = entries[file.path().stem().string()];
    entry.bytes += static_cast<int64_t>(bytes);
    entry.used = std::max(entry.used, date);
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
  std::vector<std::pair<FileTime, std::string>> oldest_first;
  for (const auto& [name, entry] : entries) oldest_first.emplace_back(entry.used, name);
  std::sort(oldest_first.begin(), oldest_first.end());
  const auto wanted = static_cast<int64_t>(static_cast<double>(limit_.bytes) * kTrimmedTo);
  const FileTime kept_since = FileTime::clock::now() - limit_.kept;
  for (const auto& [used, name] : oldest_first) {
    if (bytes <= wanted || used > kept_since) return;
    // Someone may have used it since the folder was read.
    std::error_code error;
    const FileTime now_used = fs::last_write_time(new_folder_ / (name + ".json"), error);
    if (!error && now_used > kept_since) continue;
    // The manifest first: without it the library counts for nothing, should this run be killed in between.
    fs::remove(new_folder_ / (name + ".json"), error);
    fs::remove(new_folder_ / (name + ".so"), error);
    bytes -= entries.at(name).bytes;
  }
}

}  // namespace waco::measure
