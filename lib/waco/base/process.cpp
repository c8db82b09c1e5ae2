// Child processes by posix_spawn: cheap from a large parent, and exec failures come back as errors.
#include "waco/base/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "waco/base/error.hpp"

extern char** environ;

namespace waco {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::vector<std::string> child_environment(const std::map<std::string, std::string>& changes) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!changes.contains(text.substr(0, text.find('=')))) result.push_back(text);
  }
  for (const auto& [name, value] : changes) result.push_back(fmt::format("{}={}", name, value));
  return result;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

/// The file actions of a spawn: /dev/null for the standard streams, then the asked-for descriptors. These are
/// first moved out of the way, so that no dup2 overwrites the source of a later one.
class FileActions {
 public:
  explicit FileActions(const std::vector<std::pair<int, int>>& descriptors) {
    posix_spawn_file_actions_init(&actions_);
    for (int fd = 0; fd < 3; ++fd) {
      posix_spawn_file_actions_addopen(&actions_, fd, "/dev/null", fd == 0 ? O_RDONLY : O_WRONLY, 0);
    }
    for (const auto& [parent_fd, child_fd] : descriptors) {
      const int moved = ::fcntl(parent_fd, F_DUPFD_CLOEXEC, 64);
      if (moved < 0) throw EnvironmentError(fmt::format("file descriptors: {}", std::strerror(errno)));
      moved_.push_back(moved);
      posix_spawn_file_actions_adddup2(&actions_, moved, child_fd);
    }
  }
  ~FileActions() {
    posix_spawn_file_actions_destroy(&actions_);
    for (const int fd : moved_) ::close(fd);
  }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
  std::vector<int> moved_;
};

/// Own process group, no blocked signals, default handlers.
class SpawnAttributes {
 public:
  SpawnAttributes() {
    posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(&attributes_,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnAttributes() { posix_spawnattr_destroy(&attributes_); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;
  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

ProcessEnd decode(int status) {
  if (WIFEXITED(status)) return {true, WEXITSTATUS(status)};
  return {false, WIFSIGNALED(status) ? WTERMSIG(status) : 0};
}

struct Pipe {
  int read_end = -1;
  int write_end = -1;
  Pipe() {
    int fds[2];
    if (::pipe2(fds, O_CLOEXEC) != 0) throw EnvironmentError(fmt::format("pipe: {}", std::strerror(errno)));
    read_end = fds[0];
    write_end = fds[1];
  }
  ~Pipe() {
    close_end(read_end);
    close_end(write_end);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  static void close_end(int& fd) {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }
};

/// Takes what is readable; closes the pipe at its end.
void drain(Pipe& pipe, std::string& text, size_t max_bytes) {
  std::array<char, 65536> buffer;
  const ssize_t count = ::read(pipe.read_end, buffer.data(), buffer.size());
  if (count > 0) {
    const size_t room = max_bytes - std::min(max_bytes, text.size());
    text.append(buffer.data(), std::min(room, static_cast<size_t>(count)));
  } else if (count == 0 || (errno != EINTR && errno != EAGAIN)) {
    Pipe::close_end(pipe.read_end);
  }
}

}  // namespace

std::string ProcessEnd::describe() const {
  if (exited) return fmt::format("exit code {}", code);
  const char* text = ::sigdescr_np(code);
  return fmt::format("signal {} ({})", code, text != nullptr ? text : "unknown");
}

ChildProcess::ChildProcess(const std::vector<std::string>& arguments, const Options& options) {
  WACO_ASSERT(!arguments.empty());
  const FileActions actions(options.descriptors);
  const SpawnAttributes attributes;
  const std::vector<std::string> environment = child_environment(options.environment);
  const int error = ::posix_spawnp(&pid_, arguments[0].c_str(), actions.get(), attributes.get(),
                                   pointers(arguments).data(), pointers(environment).data());
  if (error != 0) {
    pid_ = -1;
    throw EnvironmentError(fmt::format("{}: can't be started: {}", arguments[0], std::strerror(error)));
  }
}

ChildProcess::~ChildProcess() {
  if (pid_ > 0 && !end_) kill();
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), end_(std::exchange(other.end_, std::nullopt)) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this != &other) {
    if (pid_ > 0 && !end_) kill();
    pid_ = std::exchange(other.pid_, -1);
    end_ = std::exchange(other.end_, std::nullopt);
  }
  return *this;
}

std::optional<ProcessEnd> ChildProcess::try_wait() {
  if (!end_ && pid_ > 0) {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_) end_ = decode(status);
  }
  return end_;
}

std::optional<ProcessEnd> ChildProcess::wait(double seconds) {
  const Clock::time_point start = Clock::now();
  auto pause = std::chrono::microseconds(100);
  while (!try_wait() && seconds_since(start) < seconds) {
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(10000));
  }
  return end_;
}

ProcessEnd ChildProcess::kill() {
  WACO_ASSERT(pid_ > 0);
  if (!try_wait()) {
    ::kill(-pid_, SIGKILL);
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    end_ = decode(status);
  }
  return *end_;
}

RunResult run_process(const std::vector<std::string>& arguments, const RunOptions& options) {
  Pipe out;
  Pipe err;
  ChildProcess child(arguments, {{{out.write_end, 1}, {err.write_end, 2}}, options.environment});
  Pipe::close_end(out.write_end);
  Pipe::close_end(err.write_end);

  RunResult result;
  const Clock::time_point start = Clock::now();
  const auto give_up = [&] {
    result.timed_out = seconds_since(start) > options.timeout_s;
    result.stopped = options.stop && options.stop();
    return result.timed_out || result.stopped;
  };
  while ((out.read_end >= 0 || err.read_end >= 0) && !give_up()) {
    std::array<pollfd, 2> polled{{{out.read_end, POLLIN, 0}, {err.read_end, POLLIN, 0}}};
    if (::poll(polled.data(), polled.size(), 50) <= 0) continue;
    if (polled[0].revents != 0) drain(out, result.out, options.max_output_bytes);
    if (polled[1].revents != 0) drain(err, result.err, options.max_output_bytes);
  }
  while (!child.wait(0.05) && !give_up()) {
  }
  const std::optional<ProcessEnd> end = child.try_wait();
  result.end = end ? *end : child.kill();
  return result;
}

}  // namespace waco
