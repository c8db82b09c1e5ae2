// Messages between the measuring process and its worker: JSON documents, each after its length in 4 bytes.
#pragma once

#include <nlohmann/json.hpp>
#include <utility>

namespace waco::measure {

/// One end of a socket pair. Not for several threads.
class Channel {
 public:
  enum class Status { kMessage, kClosed, kTimeout };

  /// Takes over the descriptor.
  explicit Channel(int fd) : fd_(fd) {}
  ~Channel();
  Channel(Channel&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Channel& operator=(Channel&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  /// Two connected ends, both closed on exec.
  static std::pair<Channel, Channel> pair();

  int fd() const { return fd_; }
  /// False when the other end is gone.
  bool send(const nlohmann::json& message);
  /// Waits at most `timeout_s` (forever when negative) for a message to begin. A malformed message counts as
  /// closed.
  Status receive(nlohmann::json& message, double timeout_s = -1);

 private:
  bool read_all(void* data, size_t bytes);
  int fd_ = -1;
};

}  // namespace waco::measure
