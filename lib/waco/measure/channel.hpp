// Messages between the measuring process and its worker: JSON documents, each after its length in 4 bytes.
#pragma once

#include <nlohmann/json.hpp>
#include <utility>

#include "waco/base/descriptor.hpp"

namespace waco::measure {

/// One end of a socket pair. Not for several threads.
class Channel {
 public:
  enum class Status { kMessage, kClosed, kTimeout };

  /// Takes over the descriptor.
  explicit Channel(int fd) : socket_(fd) {}

  /// Two connected ends, both closed on exec.
  static std::pair<Channel, Channel> pair();

  int fd() const { return socket_.get(); }
  /// False when the other end is gone.
  bool send(const nlohmann::json& message);
  /// Waits at most `timeout_s` (forever when negative) for a message to begin. A malformed message counts as
  /// closed.
  Status receive(nlohmann::json& message, double timeout_s = -1);

 private:
  bool read_all(void* data, size_t bytes);

  Descriptor socket_;
};

}  // namespace waco::measure
