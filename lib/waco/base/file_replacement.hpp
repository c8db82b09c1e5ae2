// Writing files and folders so that a crash at any moment leaves the old content or the new, never a part.
#pragma once

#include <filesystem>
#include <string_view>

#include "waco/base/descriptor.hpp"

namespace waco {

/// Waits until what was written to a file is on the disk; false, with errno, where it did not get there. Of
/// pipes, terminals and devices true.
bool reaches_disk(int descriptor);

/// Whether a name is of what can be written to but not replaced: a device or a pipe; a descriptor that is
/// open, such as /dev/stdout, whatever it leads to; "-", which is stdout.
bool is_stream(const std::filesystem::path& file);

/// Whether what is written to one takes the place of the other, which need not be there. Streams take what
/// comes.
bool same_file(const std::filesystem::path& a, const std::filesystem::path& b);

/// Whether what is written to `output` takes the place of what is read from `input`: the same file by name,
/// or the file that `input` has open, as "-", which is stdin, or /dev/stdin do.
bool takes_place_of_input(const std::filesystem::path& output, const std::filesystem::path& input);

/// Whether both name the same open descriptor, as "-" and /dev/stdout do: what is written to one comes among
/// what is written to the other.
bool same_descriptor(const std::filesystem::path& a, const std::filesystem::path& b);

/// Replaces `file` in one step: written beside it under a temporary name, flushed to the disk, renamed. A
/// reader, or a run after a crash, sees the old content or the new, never a part. Links are followed, also
/// to what is not there yet, and permissions kept; a stream, and a file that is a mount point, is written to.
/// Throws EnvironmentError, and ReaderGone where the stream is a pipe that nobody reads any more; for a
/// reader of a pipe that was not there yet it waits until a signal asks to stop, and then throws Stopped.
void write_file_atomically(const std::filesystem::path& file, std::string_view content);

/// The same piece by piece, for content that is not held in memory.
class FileReplacement {
 public:
  /// Opens what is written to. Throws EnvironmentError; waits for the reader of a pipe (see open_awaited).
  explicit FileReplacement(const std::filesystem::path& file);
  /// Without commit() the file stays as it was; a stream has what was written.
  ~FileReplacement();
  FileReplacement(const FileReplacement&) = delete;
  FileReplacement& operator=(const FileReplacement&) = delete;

  int fd() const { return to_.get(); }
  /// Throws EnvironmentError, or ReaderGone.
  void write(std::string_view content);
  /// Brings what was written to the disk, which commit() does too. Throws EnvironmentError.
  void sync();
  /// Throws EnvironmentError, with the file as it was; one that can only be written in place, as it is
  /// mounted by itself, may then be damaged, and the error names a file with the new content.
  void commit();

 private:
  const std::filesystem::path file_;  ///< as named, for errors
  std::filesystem::path target_;      ///< at the end of links
  std::filesystem::path temporary_;   ///< empty for a stream
  Descriptor to_;
};

/// Throws EnvironmentError when write_file_atomically would not get as far as writing, and UsageError for a
/// name that ends in ".gz"; leaves nothing behind.
void check_can_be_written(const std::filesystem::path& file);

/// Puts the folder `fresh`, which lies on the same file system, in the place of `folder` in one step, and
/// removes what was there before. A link to a folder stays, and what it leads to is replaced. Throws
/// EnvironmentError; the old folder is then where it was, or where the message says.
void replace_folder(const std::filesystem::path& fresh, const std::filesystem::path& folder);

/// A name beside `file` that no other process or thread uses, on other machines neither:
/// "<file>.tmp.<random>.<n>", of a long name its beginning.
std::filesystem::path temporary_name(const std::filesystem::path& file);

/// Whether a file or folder has a name that temporary_name() makes.
bool is_temporary_name(std::string_view name);

}  // namespace waco
