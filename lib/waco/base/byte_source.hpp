// Where the bytes of an input come from: a file, standard input or memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "waco/base/descriptor.hpp"

namespace waco {

/// A stream of bytes, read once from the start to the end.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Fills `to` with up to `size` bytes and returns how many; 0 only at the end. Throws InputError,
  /// or EnvironmentError where the file system failed, not the file.
  virtual size_t read(char* to, size_t size) = 0;
};

/// An open file or standard input.
class FileSource : public ByteSource {
 public:
  /// Opens `path`, or standard input for "-". Throws InputError when it can't be opened or is a
  /// folder, EnvironmentError where other files would fare the same.
  explicit FileSource(const std::string& path);

  /// Waits for what is no file; throws Stopped when a signal asks to stop meanwhile (see read_awaited).
  size_t read(char* to, size_t size) override;
  /// What errors call it: the path, or "standard input".
  const std::string& name() const { return name_; }
  /// Size in bytes, or -1 when it can't be known before reading (pipes, devices, files of the kernel's, whose
  /// size is given as 0).
  int64_t num_bytes() const { return num_bytes_; }

 private:
  std::string name_;
  Descriptor owned_;  ///< none for standard input
  int fd_ = -1;
  int64_t num_bytes_ = -1;
};

/// Bytes held by the caller, which must outlive the source.
class MemorySource : public ByteSource {
 public:
  explicit MemorySource(std::string_view content) : rest_(content) {}
  size_t read(char* to, size_t size) override;

 private:
  std::string_view rest_;
};

/// Puts bytes that were looked at back in front of the rest of a source.
class ReplaySource : public ByteSource {
 public:
  ReplaySource(std::string head, ByteSource& rest) : head_(std::move(head)), rest_(rest) {}
  size_t read(char* to, size_t size) override;
  std::string_view head() const { return head_; }

 private:
  std::string head_;
  size_t replayed_ = 0;
  ByteSource& rest_;
};

/// Up to `size` bytes of `source`, fewer only at its end.
std::string read_up_to(ByteSource& source, size_t size);

}  // namespace waco
