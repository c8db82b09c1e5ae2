// Where the bytes of an input come from: a file, standard input or memory.
#include "waco/base/byte_source.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "waco/base/awaited.hpp"
#include "waco/base/error.hpp"

namespace waco {
namespace {

/// What is wrong with a file, or, where other files would fare the same, with the machine.
[[noreturn]] void throw_of(const std::string& name, const char* what, int cause) {
  constexpr std::array kOfTheMachine = {EIO,   ESTALE,   EMFILE,    ENFILE,    ENOMEM,    ENODEV,
                                        ENXIO, ENOTCONN, ESHUTDOWN, ETIMEDOUT, EHOSTDOWN, EHOSTUNREACH};
  const std::string text = fmt::format("{}: {}", what, std::strerror(cause));
  if (std::find(kOfTheMachine.begin(), kOfTheMachine.end(), cause) != kOfTheMachine.end())
    throw EnvironmentError(fmt::format("{}: {}", name, text));
  throw InputError(name, 0, text);
}

}  // namespace

FileSource::FileSource(const std::string& path) : name_(path) {
  if (path == "-") {
    name_ = "standard input";
    fd_ = STDIN_FILENO;
  } else {
    owned_ = open_to_read(path);
    fd_ = owned_.get();
    if (!owned_) throw_of(name_, "can't be opened", errno);
  }
  struct stat status {};
  const bool known = ::fstat(fd_, &status) == 0;
  if (known && S_ISDIR(status.st_mode)) throw InputError(name_, 0, "is a folder; name a file inside it");
  if (known && S_ISREG(status.st_mode)) {
    if (status.st_size > 0) num_bytes_ = status.st_size;
    ::posix_fadvise(fd_, 0, 0, POSIX_FADV_SEQUENTIAL);
  }
}

size_t FileSource::read(char* to, size_t size) {
  const ssize_t count = read_awaited(fd_, to, size, name_);
  if (count < 0) throw_of(name_, "can't be read", errno);
  return static_cast<size_t>(count);
}

size_t MemorySource::read(char* to, size_t size) {
  const size_t count = std::min(size, rest_.size());
  std::copy_n(rest_.data(), count, to);
  rest_.remove_prefix(count);
  return count;
}

size_t ReplaySource::read(char* to, size_t size) {
  if (replayed_ == head_.size()) return rest_.read(to, size);
  const size_t count = std::min(size, head_.size() - replayed_);
  std::copy_n(head_.data() + replayed_, count, to);
  replayed_ += count;
  return count;
}

std::string read_up_to(ByteSource& source, size_t size) {
  std::string bytes(size, '\0');
  size_t filled = 0;
  while (filled < size) {
    const size_t count = source.read(bytes.data() + filled, size - filled);
    if (count == 0) break;
    filled += count;
  }
  bytes.resize(filled);
  return bytes;
}

}  // namespace waco
