// Length-prefixed JSON over a stream socket.
#include "waco/measure/channel.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>

#include "waco/base/artifact.hpp"
#include "waco/base/error.hpp"

namespace waco::measure {
namespace {

constexpr uint32_t kMaxMessageBytes = 1u << 28;

}  // namespace

std::pair<Channel, Channel> Channel::pair() {
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) throw os_error("socketpair");
  return {Channel(fds[0]), Channel(fds[1])};
}

bool Channel::send(const nlohmann::json& message) {
  const std::string body = line_text(message);
  const auto length = static_cast<uint32_t>(body.size());
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
  bytes += body;
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t count = ::send(fd(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    sent += static_cast<size_t>(count);
  }
  return true;
}

bool Channel::read_all(void* data, size_t bytes) {
  auto* out = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t count = ::read(fd(), out, bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    out += count;
    bytes -= static_cast<size_t>(count);
  }
  return true;
}

Channel::Status Channel::receive(nlohmann::json& message, double timeout_s) {
  pollfd polled{fd(), POLLIN, 0};
  const int timeout_ms = timeout_s < 0 ? -1 : static_cast<int>(std::ceil(timeout_s * 1000));
  const int ready = ::poll(&polled, 1, timeout_ms);
  if (ready == 0 || (ready < 0 && errno == EINTR)) return Status::kTimeout;
  uint32_t length = 0;
  if (ready < 0 || !read_all(&length, sizeof length) || length > kMaxMessageBytes) return Status::kClosed;
  std::string body(length, '\0');
  if (!read_all(body.data(), length)) return Status::kClosed;
  message = nlohmann::json::parse(body, nullptr, false);
  return message.is_discarded() ? Status::kClosed : Status::kMessage;
}

}  // namespace waco::measure
