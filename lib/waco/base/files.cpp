// Small file operations: the cache folder, reading, locks and temporary folders.
#include "waco/base/files.hpp"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <set>
#include <system_error>

#include "waco/base/awaited.hpp"
#include "waco/base/byte_source.hpp"
#include "waco/base/error.hpp"
#include "waco/base/signals.hpp"

namespace waco {
namespace fs = std::filesystem;

fs::path cache_folder() {
  const char* xdg = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  fs::path base;
  if (xdg != nullptr && xdg[0] == '/') {  // the specification says to ignore relative paths
    base = xdg;
  } else if (home != nullptr && home[0] == '/') {
    base = fs::path(home) / ".cache";
  } else {
    throw EnvironmentError("no cache folder: set XDG_CACHE_HOME (or HOME) to an absolute path");
  }
  const fs::path folder = base / "waco";
  make_private_folder(folder);
  return folder;
}

fs::path cache_folder_if_any() {
  try {
    return cache_folder();
  } catch (const EnvironmentError& error) {
    static std::once_flag told;
    std::call_once(told, [&] { spdlog::warn("{}; nothing is kept for later runs", error.what()); });
    return {};
  }
}

void make_private_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder.parent_path(), error);
  if (error) {
    throw EnvironmentError(
        fmt::format("{}: can't be created: {}", folder.parent_path().string(), error.message()));
  }
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) throw os_error(folder, "can't be created");
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) throw os_error(folder, "can't be examined");
  if (!S_ISDIR(status.st_mode)) throw EnvironmentError(fmt::format("{}: is not a folder", folder.string()));
  if (status.st_uid != ::geteuid()) {
    throw EnvironmentError(fmt::format(
        "{}: belongs to another user; set XDG_CACHE_HOME to a folder of your own", folder.string()));
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    throw EnvironmentError(fmt::format(
        "{0}: others may write to it, and what it holds is executed; chmod 700 {0}", folder.string()));
  }
}

std::vector<fs::directory_entry> list_folder(const fs::path& folder) {
  std::vector<fs::directory_entry> entries;
  std::error_code error;  // a loop over a range would throw in mid-folder
  for (fs::directory_iterator at(folder, error); !error && at != fs::directory_iterator();
       at.increment(error))
    entries.push_back(*at);
  return entries;
}

std::string read_file(const fs::path& file) {
  const Descriptor fd = open_to_read(file);
  if (!fd) throw os_error(file, "can't be opened");
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) throw os_error(file, "can't be read");
  // The size is only a first guess: that of pipes and of files in /proc is 0, and files grow.
  std::string content(static_cast<size_t>(std::max<off_t>(0, status.st_size)) + 1, '\0');
  size_t size = 0;
  for (;;) {
    if (size == content.size()) content.resize(2 * size);
    const ssize_t count = read_awaited(fd.get(), content.data() + size, content.size() - size, file.string());
    if (count < 0) throw os_error(file, "can't be read");
    if (count == 0) break;
    size += static_cast<size_t>(count);
  }
  content.resize(size);
  return content;
}

std::string read_input_file(const fs::path& file) {
  constexpr size_t kPart = size_t{1} << 16;
  FileSource source(file.string());
  std::string text;
  for (std::string part = read_up_to(source, kPart); !part.empty(); part = read_up_to(source, kPart))
    text += part;
  return text;
}

void lock_or_warn(int descriptor, const fs::path& file, const std::string& held, std::string_view use) {
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) {
    struct stat status {};
    // The run that held it has removed it since it was opened here, and the next one makes another.
    if (::fstat(descriptor, &status) == 0 && status.st_nlink == 0) throw EnvironmentError(held);
    return;
  }
  if (errno == EWOULDBLOCK) throw EnvironmentError(held);
  spdlog::warn("{}: can't be locked here; take care that only one run {}", file.string(), use);
}

LockFile::LockFile(const fs::path& file, const std::string& held)
    : file_(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
  if (!file_) throw os_error(file, "can't be written");
  lock_or_warn(file_.get(), file, held, "uses the folder");
}

namespace {

/// The folders that are there, for remove_temporary_folders.
class TemporaryFolders {
 public:
  void add(const fs::path& folder) {
    const std::scoped_lock lock(mutex_);
    there_.insert(folder);
  }
  void remove(const fs::path& folder) {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
    const std::scoped_lock lock(mutex_);
    there_.erase(folder);
  }
  void remove_all() {
    const std::scoped_lock lock(mutex_);
    std::error_code ignored;
    for (const fs::path& folder : there_) fs::remove_all(folder, ignored);
  }

 private:
  std::mutex mutex_;
  std::set<fs::path> there_;
};

/// Outlives every folder, also those that are static: the first one makes it.
TemporaryFolders& temporary_folders() {
  static TemporaryFolders folders;
  return folders;
}

}  // namespace

TemporaryFolder::TemporaryFolder(std::string_view prefix) {
  TemporaryFolders& all = temporary_folders();
  std::error_code error;
  fs::path base = fs::temp_directory_path(error);
  if (error) base = "/tmp";
  std::string name = (base / fmt::format("{}XXXXXX", prefix)).string();
  if (::mkdtemp(name.data()) == nullptr) throw os_error(base, "no temporary folder can be created in it");
  path_ = name;
  all.add(path_);
}

TemporaryFolder::~TemporaryFolder() {
  temporary_folders().remove(path_);
}

void remove_temporary_folders() {
  temporary_folders().remove_all();
}

}  // namespace waco
