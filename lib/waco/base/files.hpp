// Small file operations: the cache folder, atomic writes, locks, content hashes and temporary folders.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

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

/// The whole file; throws EnvironmentError when it can't be read.
std::string read_file(const std::filesystem::path& file);

/// The same for a file that a user names: an Error of kInput.
std::string read_input_file(const std::filesystem::path& file);

/// Whether a name is of what can be written to but not replaced: a device or a pipe; a descriptor that is
/// open, such as /dev/stdout, whatever it leads to; "-", which is stdout.
bool is_stream(const std::filesystem::path& file);

/// Whether what is written to one takes the place of the other, which need not be there. Streams take what
/// comes.
bool same_file(const std::filesystem::path& a, const std::filesystem::path& b);

/// Whether both name the same open descriptor, as "-" and /dev/stdout do: what is written to one comes among
/// what is written to the other.
bool same_descriptor(const std::filesystem::path& a, const std::filesystem::path& b);

/// Replaces `file` in one step: written beside it under a temporary name, flushed to the disk, renamed. A
/// reader, or a run after a crash, sees the old content or the new, never a part. Links are followed, also
/// to what is not there yet, and permissions kept; a stream, and a file that is a mount point, is written to.
/// Throws EnvironmentError, and ReaderGone where the stream is a pipe that nobody reads any more.
void write_file_atomically(const std::filesystem::path& file, std::string_view content);

/// The same piece by piece, for content that is not held in memory.
class FileReplacement {
 public:
  /// Opens what is written to. Throws EnvironmentError.
  explicit FileReplacement(const std::filesystem::path& file);
  /// Without commit() the file stays as it was; a stream has what was written.
  ~FileReplacement();
  FileReplacement(const FileReplacement&) = delete;
  FileReplacement& operator=(const FileReplacement&) = delete;

  int fd() const { return fd_; }
  /// Throws EnvironmentError, or ReaderGone.
  void write(std::string_view content);
  /// Brings what was written to the disk, which commit() does too. Throws EnvironmentError.
  void sync();
  /// Throws EnvironmentError, with the file as it was.
  void commit();

 private:
  const std::filesystem::path file_;  ///< as named, for errors
  std::filesystem::path target_;      ///< at the end of links
  std::filesystem::path temporary_;   ///< empty for a stream
  int fd_ = -1;
};

/// Throws EnvironmentError when write_file_atomically would not get as far as writing; leaves nothing behind.
void check_can_be_written(const std::filesystem::path& file);

/// Puts the folder `fresh`, which lies on the same file system, in the place of `folder` in one step, and
/// removes what was there before. A link to a folder stays, and what it leads to is replaced. Throws
/// EnvironmentError; the old folder is then where it was, or where the message says.
void replace_folder(const std::filesystem::path& fresh, const std::filesystem::path& folder);

/// Held by one at a time: until the object dies, or its process, by whatever.
class LockFile {
 public:
  /// Opens the file, created when missing. Throws EnvironmentError when it can't be written, and with `held`
  /// as its message when another holds it. Where a file system has no locks, a warning says so.
  LockFile(const std::filesystem::path& file, const std::string& held);
  ~LockFile();
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

 private:
  int fd_ = -1;
};

/// A name beside `file` that no other process or thread uses, on other machines neither:
/// "<file>.tmp.<random>.<n>".
std::filesystem::path temporary_name(const std::filesystem::path& file);

/// 128-bit FNV-1a-style hash as 32 hex digits: tells contents apart and finds corruption; not cryptographic.
std::string content_hash(std::string_view content);

/// The same task at the speed of memory, for large files. "x-" and 32 hex digits.
std::string fast_content_hash(std::string_view content);

/// Whether `hash` is that of `content`; its form says which of the two it is.
bool has_hash(std::string_view content, std::string_view hash);

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

}  // namespace waco
