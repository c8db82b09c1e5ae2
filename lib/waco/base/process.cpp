// Child processes by vfork: cheap from a large parent, and exec failures come back as errors. posix_spawn
// does the same, but can't have the child end with its parent.
#include "waco/base/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "waco/base/clock.hpp"
#include "waco/base/descriptor.hpp"
#include "waco/base/error.hpp"

extern char** environ;

namespace waco {
namespace {

using Clock = std::chrono::steady_clock;

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

/// What a child's descriptors become: /dev/null for the standard streams, then those asked for. All are first
/// moved out of the way, beyond any that are asked for, so that no dup2 overwrites the source of a later one.
class Descriptors {
 public:
  explicit Descriptors(const std::vector<std::pair<int, int>>& asked_for) {
    const Descriptor null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    if (!null) fail("/dev/null");
    for (int fd = 0; fd < 3; ++fd) add(null.get(), fd);
    for (const auto& [parent_fd, child_fd] : asked_for) {
      WACO_ASSERT(child_fd < kBeyondAsked);
      add(parent_fd, child_fd);
    }
  }
  const std::vector<std::pair<int, int>>& pairs() const { return pairs_; }

 private:
  [[noreturn]] static void fail(const char* what) {
    if (errno != EINVAL && errno != EMFILE) throw os_error(what);
    throw EnvironmentError("too few files may be open at a time; raise the limit, see ulimit -n");
  }

  void add(int parent_fd, int child_fd) {
    const Descriptor& moved = moved_.emplace_back(::fcntl(parent_fd, F_DUPFD_CLOEXEC, kBeyondAsked));
    if (!moved) fail("file descriptors");
    pairs_.emplace_back(moved.get(), child_fd);
  }

  static constexpr int kBeyondAsked = 16;

  std::vector<Descriptor> moved_;
  std::vector<std::pair<int, int>> pairs_;
};

/// What a child needs before it is another program. It shares our memory until then, and may neither
/// allocate nor throw.
struct Start {
  char* const* arguments;
  char* const* environment;
  const std::vector<std::pair<int, int>>& descriptors;
  const pid_t parent = ::getpid();
  volatile int error = 0;  ///< of the step that failed
};

/// The child's side: own process group, default handlers, no blocked signals, and the end when we end.
[[noreturn, gnu::noinline]] void become(Start& start) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != start.parent) ::_exit(127);  // we ended before the request, which now comes too late
  // Before any signal is let in: our handlers would run on our memory.
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) ::sigaction(number, &standard, nullptr);
  bool ok = true;
  for (const auto& [from, to] : start.descriptors) ok = ok && ::dup2(from, to) >= 0;
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (ok) ::execvpe(start.arguments[0], start.arguments, start.environment);
  start.error = errno;
  ::_exit(127);
}

/// Returns the child's number once it is another program, or has ended with start.error. Negative when there
/// can be no child.
pid_t spawn(Start& start) {
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = ::vfork();
  if (pid == 0) become(start);
  if (pid < 0) start.error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return pid;
}

ProcessEnd decode(int status) {
  if (WIFEXITED(status)) return {true, WEXITSTATUS(status)};
  return {false, WIFSIGNALED(status) ? WTERMSIG(status) : 0};
}

struct Pipe {
  Descriptor read_end, write_end;
  Pipe() {
    int fds[2];
    if (::pipe2(fds, O_CLOEXEC) != 0) throw os_error("pipe");
    read_end = Descriptor(fds[0]);
    write_end = Descriptor(fds[1]);
  }
};

/// Takes what is readable; closes the descriptor at the end.
void drain(Descriptor& from, std::string& text, size_t max_bytes) {
  std::array<char, 65536> buffer;
  const ssize_t count = ::read(from.get(), buffer.data(), buffer.size());
  if (count > 0) {
    const size_t room = max_bytes - std::min(max_bytes, text.size());
    text.append(buffer.data(), std::min(room, static_cast<size_t>(count)));
  } else if (count == 0 || (errno != EINTR && errno != EAGAIN)) {
    from.close();
  }
}

}  // namespace

std::string ProcessEnd::describe() const {
  if (exited) return fmt::format("exit code {}", code);
  if (code == 0) return "an end that the system did not keep: SIGCHLD is ignored";
  return fmt::format("signal {} ({})", code, ::strsignal(code));
}

ChildProcess::ChildProcess(const std::vector<std::string>& arguments, const Options& options) {
  WACO_ASSERT(!arguments.empty());
  const Descriptors descriptors(options.descriptors);
  const std::vector<std::string> environment = child_environment(options.environment);
  const std::vector<char*> words = pointers(arguments), variables = pointers(environment);
  Start start{words.data(), variables.data(), descriptors.pairs()};
  pid_ = spawn(start);
  if (start.error == 0) return;
  if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
  throw os_error(fmt::format("{}: can't be started", arguments[0]), start.error);
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
    const pid_t found = ::waitpid(pid_, &status, WNOHANG);
    if (found == pid_) end_ = decode(status);
    if (found < 0 && errno == ECHILD) end_ = ProcessEnd{};
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
    pid_t found;
    do found = ::waitpid(pid_, &status, 0);
    while (found < 0 && errno == EINTR);
    end_ = found == pid_ ? decode(status) : ProcessEnd{};
  }
  return *end_;
}

RunResult run_process(const std::vector<std::string>& arguments, const RunOptions& options) {
  Pipe out;
  Pipe err;
  ChildProcess child(arguments, {{{out.write_end.get(), 1}, {err.write_end.get(), 2}}, options.environment});
  out.write_end.close();
  err.write_end.close();

  RunResult result;
  const Clock::time_point start = Clock::now();
  Clock::time_point looked = start;
  double suspended_s = 0;
  const auto give_up = [&] {
    const double since_look_s = seconds_since(looked);
    if (since_look_s > std::chrono::duration<double>(kSurelySuspended).count()) suspended_s += since_look_s;
    looked = Clock::now();
    result.timed_out = seconds_since(start) - suspended_s > options.timeout_s;
    result.stopped = options.stop && options.stop();
    return result.timed_out || result.stopped;
  };
  // Looked at once more when time is up: this process may have been suspended, and the child done long ago.
  // What the child has written is in the pipes when it ends; others may keep them open for much longer.
  for (bool last = false; (out.read_end || err.read_end) && !last;) {
    last = give_up();
    const bool ended = child.try_wait().has_value();
    std::array<pollfd, 2> polled{{{out.read_end.get(), POLLIN, 0}, {err.read_end.get(), POLLIN, 0}}};
    const int num_ready = ::poll(polled.data(), polled.size(), last || ended ? 0 : 50);
    if (num_ready == 0 && ended) break;
    if (num_ready <= 0) continue;
    if (polled[0].revents != 0) drain(out.read_end, result.out, options.max_output_bytes);
    if (polled[1].revents != 0) drain(err.read_end, result.err, options.max_output_bytes);
  }
  while (!child.wait(0.05) && !give_up()) {
  }
  const std::optional<ProcessEnd> end = child.try_wait();
  if (end) result.timed_out = false;
  result.end = end ? *end : child.kill();
  return result;
}

}  // namespace waco
