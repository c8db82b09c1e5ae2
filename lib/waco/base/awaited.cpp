// Signals restart calls that wait, and may reach another thread: waiting is done in short steps.
#include "waco/base/awaited.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "waco/base/signals.hpp"

namespace waco {
namespace {

constexpr int kStep_ms = 50;

bool is_pipe(const std::filesystem::path& file) {
  struct stat status {};
  return ::stat(file.c_str(), &status) == 0 && S_ISFIFO(status.st_mode);
}

bool is_regular(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

void stop_if_asked(const std::string& name, const char* what) {
  const StopToken stop = token_of_signals();
  if (stop.stop_requested()) throw Stopped(fmt::format("{}: {} ({})", name, what, stop.reason()));
}

constexpr const char* kReading = "reading was stopped";

/// Until there is something to read, or an end or an error, of which read tells. Files never wait.
void wait_for_content(int fd, const std::string& name) {
  pollfd polled{fd, POLLIN, 0};
  for (;;) {
    const int num_ready = ::poll(&polled, 1, kStep_ms);
    if (num_ready > 0 || (num_ready < 0 && errno != EINTR)) return;
    stop_if_asked(name, kReading);
  }
}

}  // namespace

Descriptor open_to_read(const std::filesystem::path& file) {
  const int waits = is_pipe(file) ? O_NONBLOCK : 0;  // opening would wait for a writer
  return Descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC | waits));
}

ssize_t read_awaited(int fd, char* to, size_t size, const std::string& name) {
  for (;;) {
    wait_for_content(fd, name);
    const ssize_t count = ::read(fd, to, size);
    if (count == 0 && !is_regular(fd)) stop_if_asked(name, kReading);
    if (count >= 0 || (errno != EINTR && errno != EAGAIN)) return count;
  }
}

Descriptor open_awaited(const std::filesystem::path& stream) {
  if (!is_pipe(stream)) return Descriptor(::open(stream.c_str(), O_WRONLY | O_CLOEXEC));
  for (;;) {
    Descriptor opened(::open(stream.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK));
    if (opened) ::fcntl(opened.get(), F_SETFL, O_WRONLY);  // writing waits for its reader, as ever
    if (opened || errno != ENXIO) return opened;
    stop_if_asked(stream.string(), "nobody reads it, and waiting for that was stopped");
    std::this_thread::sleep_for(std::chrono::milliseconds(kStep_ms));
  }
}

}  // namespace waco
