// File descriptors that have an owner.
#pragma once

#include <unistd.h>

#include <utility>

namespace waco {

/// A file descriptor, or none, closed with its owner.
class Descriptor {
 public:
  Descriptor() = default;
  /// Takes over what a system call returned; negative is none.
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

}  // namespace waco
