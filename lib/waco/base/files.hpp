// Small file operations: the cache folder, reading, locks and temporary folders.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "waco/base/descriptor.hpp"

namespace waco {

/// The user's cache folder, $XDG_CACHE_HOME/waco or ~/.cache/waco, created with mode 0700. Throws
/// EnvironmentError when it can't be created, belongs to another user or can be written by others (what it
/// holds is executed).
std::filesystem::path cache_folder();

/// The same for what is kept there only to save time: empty where cache_folder() throws, with one warning in
/// the life of a process.
std::filesystem::path cache_folder_if_any();

/// Creates `folder` (and its parents) for this user alone, mode 0700, and checks owner and permissions of
/// what was there before. Throws EnvironmentError.
void make_private_folder(const std::filesystem::path& folder);

/// What is in a folder, in any order; nothing where it is not there, and no more where it can't be read on.
std::vector<std::filesystem::directory_entry> list_folder(const std::filesystem::path& folder);

/// The whole file; throws EnvironmentError when it can't be read, of a pipe Stopped (see read_awaited).
std::string read_file(const std::filesystem::path& file);

/// The same for a file that a user names, "-" for what is left of stdin: throws InputError, or
/// EnvironmentError where other files would fare the same.
std::string read_input_file(const std::filesystem::path& file);

/// Locks an open file until it is closed. Throws EnvironmentError with `held` as its message when another has
/// it, or had it and removed it; where a file system has no locks, a warning says to take care that only one
/// run does the `use`.
void lock_or_warn(int descriptor, const std::filesystem::path& file, const std::string& held,
                  std::string_view use);

/// Held by one at a time: until the object dies, or its process, by whatever.
class LockFile {
 public:
  /// Opens the file, created when missing. Throws EnvironmentError when it can't be written; otherwise as
  /// lock_or_warn.
  LockFile(const std::filesystem::path& file, const std::string& held);

 private:
  Descriptor file_;
};

/// A fresh folder, mode 0700, removed with all it holds when the object dies.
class TemporaryFolder {
 public:
  /// Below $TMPDIR or /tmp, named `prefix` and six random characters. Throws EnvironmentError.
  explicit TemporaryFolder(std::string_view prefix = "waco-");
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Removes the temporary folders that are left. For a process that is about to end in a way in which nothing
/// is destroyed.
void remove_temporary_folders();

}  // namespace waco
