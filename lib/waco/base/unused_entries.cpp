// Dates of files are those of last uses.
#include "waco/base/unused_entries.hpp"

#include <fcntl.h>

#include <chrono>
#include <string>
#include <system_error>

#include "waco/base/descriptor.hpp"
#include "waco/base/file_replacement.hpp"
#include "waco/base/files.hpp"

namespace waco {
namespace fs = std::filesystem;

namespace {

constexpr auto kEntriesKept = std::chrono::hours(24 * 30);
constexpr auto kLongestWriting = std::chrono::hours(1);
constexpr auto kTidyFor = std::chrono::minutes(10);

}  // namespace

void remove_leftovers(const fs::path& folder, std::string_view of) {
  const auto old = fs::file_time_type::clock::now() - kLongestWriting;
  for (const fs::directory_entry& entry : list_folder(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(of) || !is_temporary_name(name)) continue;
    std::error_code ignored;
    const auto date = fs::last_write_time(entry.path(), ignored);
    if (!ignored && date < old) fs::remove_all(entry.path(), ignored);
  }
}

bool is_due_for_tidying(const fs::path& folder) {
  const fs::path stamp = folder / ".tidied";
  std::error_code none;
  const auto last = fs::last_write_time(stamp, none);
  const auto now = fs::file_time_type::clock::now();
  if (!none && last <= now && now - last < kTidyFor) return false;
  const Descriptor file(::open(stamp.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!file) return false;
  note_use(stamp);
  return true;
}

void note_use(const fs::path& file) {
  std::error_code ignored;
  fs::last_write_time(file, fs::file_time_type::clock::now(), ignored);
}

void remove_unused_entries(const fs::path& folder, std::string_view prefix, std::string_view dated) {
  const auto kept_since = fs::file_time_type::clock::now() - kEntriesKept;
  for (const fs::directory_entry& entry : list_folder(folder)) {
    if (!entry.path().filename().string().starts_with(prefix)) continue;
    std::error_code none;
    auto used = fs::last_write_time(entry.path() / dated, none);
    if (none) used = entry.last_write_time(none);  // a file, or a folder of which no more came, or not yet
    if (!none && used < kept_since) fs::remove_all(entry.path(), none);
  }
}

}  // namespace waco
