// What signals do to a program, in children of their own.
#include "waco/base/signals.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <vector>

using namespace waco;

namespace {

/// The status of a child that got the signals, `apart_ms` one after the other, and ends with 0 when its token
/// then gives `reason`.
int status_after(const std::vector<int>& signals, std::string_view reason, int apart_ms = 0) {
  const pid_t child = ::fork();
  if (child == 0) {
    const StopToken stop = stop_on_signals();
    if (stop()) ::_exit(1);
    for (const int number : signals) {
      ::raise(number);
      ::usleep(static_cast<useconds_t>(apart_ms) * 1000);
    }
    ::_exit(stop.reason() == reason ? 0 : 2);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return status;
}

}  // namespace

TEST_CASE("signals: one of each kind asks to stop, and the first is the reason", "[base]") {
  CHECK(status_after({SIGUSR1}, "SIGUSR1") == 0);
  CHECK(status_after({SIGTERM, SIGUSR1}, "SIGTERM") == 0);
  CHECK(status_after({SIGUSR1, SIGUSR1, SIGTERM}, "SIGUSR1") == 0);
  // What other schedulers send before they kill, at limits of CPU time, and when a terminal goes.
  CHECK(status_after({SIGUSR2, SIGUSR2}, "SIGUSR2", 150) == 0);
  CHECK(status_after({SIGXCPU, SIGXCPU}, "SIGXCPU", 150) == 0);
  CHECK(status_after({SIGHUP, SIGTERM}, "SIGHUP") == 0);
}

TEST_CASE("signals: what nohup has ignored stays ignored", "[base]") {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGHUP, SIG_IGN);
    const StopToken stop = stop_on_signals();
    ::raise(SIGHUP);
    ::_exit(stop() ? 1 : 0);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("signals: a request that comes twice at once is one", "[base]") {
  int status = -1;
  // On a busy machine the second one may come too late to be the same.
  for (int attempt = 0; attempt < 5 && status != 0; ++attempt)
    status = status_after({SIGTERM, SIGTERM}, "SIGTERM");
  CHECK(status == 0);
}

TEST_CASE("signals: a second request to end ends the process at once", "[base]") {
  for (const std::vector<int>& signals :
       {std::vector{SIGTERM, SIGTERM}, {SIGUSR1, SIGTERM, SIGTERM}, {SIGINT, SIGTERM}}) {
    const int status = status_after(signals, "", 150);
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGTERM);
  }
}
