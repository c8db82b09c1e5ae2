// Child processes: output, exit, signals, limits.
#include "waco/base/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>

#include "../scoped_variable.hpp"
#include "waco/base/command_line.hpp"
#include "waco/base/error.hpp"

using namespace waco;

TEST_CASE("process: captures both streams and the exit code", "[base]") {
  const RunResult result = run_process({"sh", "-c", "echo out; echo err >&2; exit 3"});
  CHECK(result.out == "out\n");
  CHECK(result.err == "err\n");
  CHECK(result.end.exited);
  CHECK(result.end.code == 3);
  CHECK_FALSE(result.ok());
}

TEST_CASE("process: arguments are passed as they are, never through a shell", "[base]") {
  const RunResult result = run_process({"printf", "%s", "a b; $(echo c) 'd'"});
  CHECK(result.ok());
  CHECK(result.out == "a b; $(echo c) 'd'");
}

TEST_CASE("process: a program that does not exist is an error that names it", "[base]") {
  CHECK_THROWS_WITH(run_process({"no-such-program-anywhere"}), Catch::Contains("no-such-program-anywhere"));
}

TEST_CASE("process: a signal is reported by number", "[base]") {
  const RunResult result = run_process({"sh", "-c", "kill -SEGV $$"});
  CHECK_FALSE(result.end.exited);
  CHECK(result.end.code == SIGSEGV);
  CHECK_THAT(result.end.describe(), Catch::Contains("signal 11"));
}

TEST_CASE("process: where SIGCHLD is ignored an end is found at once but unknown", "[base]") {
  const auto before = ::signal(SIGCHLD, SIG_IGN);
  const RunResult result = run_process({"sh", "-c", "exit 0"}, {.timeout_s = 10});
  ::signal(SIGCHLD, before);
  CHECK_FALSE(result.timed_out);
  CHECK_FALSE(result.ok());
  CHECK_THAT(result.end.describe(), Catch::Contains("SIGCHLD"));
}

TEST_CASE("process: a program knows its children's ends though its parent ignored SIGCHLD", "[base]") {
  const auto before = ::signal(SIGCHLD, SIG_IGN);
  const int code = guarded_main("test", [] {
    return run_process({"sh", "-c", "exit 3"}).end.code == 3 ? ExitCode::kDone : ExitCode::kFailed;
  });
  ::signal(SIGCHLD, before);
  CHECK(code == 0);
}

TEST_CASE("process: the time limit kills the child and its children", "[base]") {
  const auto start = std::chrono::steady_clock::now();
  const RunResult result = run_process({"sh", "-c", "sleep 60 & sleep 60; wait"}, {.timeout_s = 0.2});
  CHECK(result.timed_out);
  CHECK_FALSE(result.ok());
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(30));
}

TEST_CASE("process: what a child leaves behind is not waited for, though it keeps the pipes open", "[base]") {
  const auto start = std::chrono::steady_clock::now();
  const RunResult result = run_process(
      {"sh", "-c", "sleep 30 & head -c 300000 /dev/zero; echo err >&2; echo $!"}, {.timeout_s = 20});
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));
  CHECK(result.ok());
  REQUIRE(result.out.size() > 300000);
  CHECK(result.err == "err\n");
  ::kill(std::stoi(result.out.substr(300000)), SIGKILL);
}

TEST_CASE("process: a child that ended while nobody looked has not timed out", "[base]") {
  RunOptions options;
  options.timeout_s = 0;
  options.stop = [] {  // as if this process were suspended until the child is done
    siginfo_t info;
    ::waitid(P_ALL, 0, &info, WEXITED | WNOWAIT);
    return false;
  };
  const RunResult result = run_process({"sh", "-c", "echo out"}, options);
  CHECK(result.ok());
  CHECK(result.out == "out\n");
}

TEST_CASE("process: a stop request kills the child", "[base]") {
  RunOptions options;
  options.stop = [] { return true; };
  const RunResult result = run_process({"sleep", "60"}, options);
  CHECK(result.stopped);
  CHECK_FALSE(result.ok());
}

TEST_CASE("process: long output is cut, not waited for", "[base]") {
  const RunResult result = run_process({"sh", "-c", "head -c 3000000 /dev/zero"}, {.max_output_bytes = 1000});
  CHECK(result.ok());
  CHECK(result.out.size() == 1000);
}

TEST_CASE("process: environment entries replace the parent's", "[base]") {
  const ScopedVariable variable("WACO_TEST_VARIABLE", "old");
  RunOptions options;
  options.environment["WACO_TEST_VARIABLE"] = "new";
  CHECK(run_process({"sh", "-c", "printf $WACO_TEST_VARIABLE"}, options).out == "new");
}

TEST_CASE("process: a child is killed with the object that owns it", "[base]") {
  pid_t pid = 0;
  {
    const ChildProcess child({"sleep", "60"}, {});
    pid = child.pid();
    CHECK(::kill(pid, 0) == 0);
  }
  CHECK(::kill(pid, 0) != 0);
}

TEST_CASE("process: a child ends with a parent that is killed", "[base]") {
  int held[2];
  REQUIRE(::pipe2(held, O_CLOEXEC) == 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    const ChildProcess child({"sh", "-c", "echo; exec sleep 60"}, {{{held[1], 1}}});
    ::pause();
    ::_exit(1);
  }
  ::close(held[1]);
  // The grandchild has said something, so it runs; it and its parent hold the other end.
  char byte = 0;
  REQUIRE(::read(held[0], &byte, 1) == 1);
  pollfd polled{held[0], POLLIN, 0};
  CHECK(::poll(&polled, 1, 100) == 0);
  ::kill(parent, SIGKILL);
  CHECK(::poll(&polled, 1, 20000) == 1);
  CHECK(::read(held[0], &byte, 1) == 0);
  ::close(held[0]);
  ::waitpid(parent, nullptr, 0);
}

TEST_CASE("process: a low limit of open files is told with its remedy", "[base]") {
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const auto run_within = [&](rlim_t files) {
    const rlimit low{files, before.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &low);
    std::string fault;
    try {
      (void)run_process({"true"});
    } catch (const EnvironmentError& error) {
      fault = error.what();
    }
    ::setrlimit(RLIMIT_NOFILE, &before);
    return fault;
  };
  CHECK(run_within(64).empty());
  CHECK_THAT(run_within(16), Catch::Contains("ulimit -n"));
}
