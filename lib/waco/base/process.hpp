// Child processes: started from an argument vector (never a shell string), watched, and always reaped.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace waco {

/// How a child ended.
struct ProcessEnd {
  /// It ended by itself; `code` is its exit status, otherwise the signal that killed it. 0 where that is not
  /// known: the system keeps no ends while SIGCHLD is ignored.
  bool exited = false;
  int code = 0;
  /// "exit code 1", "signal 11 (Segmentation fault)".
  std::string describe() const;
};

/// A running child in a process group of its own, with default signal handling. Killed and reaped on
/// destruction, and killed when the thread that started it ends, by whatever: not even a SIGKILL of this
/// process leaves it behind, though it may what the child has started.
class ChildProcess {
 public:
  struct Options {
    /// Parent descriptor -> descriptor in the child. 0, 1 and 2 are /dev/null unless given here.
    std::vector<std::pair<int, int>> descriptors = {};
    std::map<std::string, std::string> environment = {};  ///< added to, or replacing, the parent's
  };

  /// Starts arguments[0], searched in PATH. Throws EnvironmentError when it can't be started.
  ChildProcess(const std::vector<std::string>& arguments, const Options& options);
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;

  pid_t pid() const { return pid_; }
  /// How it ended, or nullopt while it runs.
  std::optional<ProcessEnd> try_wait();
  /// Waits at most `seconds`.
  std::optional<ProcessEnd> wait(double seconds);
  /// Kills the child and everything in its process group, unless it has ended by itself, and reaps it.
  ProcessEnd kill();

 private:
  pid_t pid_ = -1;
  std::optional<ProcessEnd> end_;
};

/// A look at a child every tenth of a second or so that comes this late: this process was suspended, most
/// likely with the child, whose time limit does not run then.
inline constexpr std::chrono::seconds kSurelySuspended(2);

struct RunOptions {
  double timeout_s = 120;  ///< a child that ended by itself meanwhile has not timed out
  std::map<std::string, std::string> environment = {};
  size_t max_output_bytes = size_t{1} << 20;  ///< of each stream; what comes after is read and dropped
  std::function<bool()> stop = {};            ///< polled; true kills the child
};

struct RunResult {
  ProcessEnd end;
  bool timed_out = false;
  bool stopped = false;
  std::string out;
  std::string err;
  bool ok() const { return end.exited && end.code == 0 && !timed_out && !stopped; }
};

/// Runs a program to its end, stdin empty, stdout and stderr captured; what processes of its own write
/// afterwards is not waited for. Throws EnvironmentError when it can't
/// be started; everything else is in the result.
RunResult run_process(const std::vector<std::string>& arguments, const RunOptions& options = {});

}  // namespace waco
