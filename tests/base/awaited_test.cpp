// Pipes whose other end is not there, or says nothing, and signals meanwhile; in children of their own.
#include "waco/base/awaited.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <functional>
#include <future>
#include <string_view>

#include "waco/base/byte_source.hpp"
#include "waco/base/file_replacement.hpp"
#include "waco/base/files.hpp"
#include "waco/base/signals.hpp"

using namespace waco;
namespace fs = std::filesystem;

namespace {

/// A pipe with a name.
struct Fifo {
  Fifo() { REQUIRE(::mkfifo(path.c_str(), 0600) == 0); }
  TemporaryFolder folder;
  fs::path path = folder.path() / "pipe";
};

/// Whether a child that waits in `body` throws Stopped once it has got `signal`.
bool is_stopped(int signal, const std::function<void()>& body) {
  int listens[2];
  REQUIRE(::pipe2(listens, O_CLOEXEC) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    stop_on_signals();
    (void)!::write(listens[1], "", 1);
    try {
      body();
    } catch (const Stopped&) {
      ::_exit(0);
    } catch (const std::exception&) {
      ::_exit(1);
    }
    ::_exit(2);
  }
  char ready = 0;
  REQUIRE(::read(listens[0], &ready, 1) == 1);  // until then the signal would end it
  ::close(listens[0]);
  ::close(listens[1]);
  ::usleep(100000);
  ::kill(child, signal);
  int status = -1;
  bool is_over = false;
  for (int n = 0; n < 100 && !is_over; ++n) {
    is_over = ::waitpid(child, &status, WNOHANG) == child;
    if (!is_over) ::usleep(100000);
  }
  if (!is_over) {  // else its number may be another's by now
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

TEST_CASE("awaited: a signal ends the waiting for a pipe", "[base]") {
  const Fifo fifo;
  for (const int signal : {SIGTERM, SIGUSR1, SIGINT}) {
    INFO(signal);
    CHECK(is_stopped(signal, [&] { (void)read_file(fifo.path); }));
    CHECK(is_stopped(signal, [&] { (void)read_up_to(*std::make_unique<FileSource>(fifo.path), 1); }));
    CHECK(is_stopped(signal, [&] { write_file_atomically(fifo.path, "unread"); }));
  }
  // What is an error of input otherwise says that it was stopped, too.
  CHECK(is_stopped(SIGTERM, [&] { (void)read_input_file(fifo.path); }));
}

TEST_CASE("awaited: a part that came before the signal, or its end behind it, is no whole", "[base]") {
  int pipe[2];
  REQUIRE(::pipe2(pipe, O_CLOEXEC) == 0);
  const auto read_all = [&] {
    char to[8];
    while (read_awaited(pipe[0], to, sizeof to, "pipe") > 0) {
    }
  };
  REQUIRE(::write(pipe[1], "part", 4) == 4);
  CHECK(is_stopped(SIGTERM, read_all));
  CHECK(is_stopped(SIGCONT, [&] {
    ::raise(SIGTERM);
    ::close(pipe[1]);
    read_all();
  }));
  ::close(pipe[0]);
  ::close(pipe[1]);
}

TEST_CASE("awaited: the other end of a pipe may come later", "[base]") {
  const Fifo fifo;
  const std::string text(200000, 'x');  // more than a pipe holds
  auto reading = std::async(std::launch::async, [&] { return read_file(fifo.path); });
  ::usleep(100000);
  write_file_atomically(fifo.path, text);
  CHECK(reading.get() == text);
  auto writing = std::async(std::launch::async, [&] { write_file_atomically(fifo.path, text); });
  ::usleep(100000);
  CHECK(read_file(fifo.path) == text);
  writing.get();
}

TEST_CASE("awaited: a pipe that a descriptor names ends where its writer has gone before", "[base]") {
  int pipe[2];
  REQUIRE(::pipe2(pipe, O_CLOEXEC) == 0);
  REQUIRE(::write(pipe[1], "all", 3) == 3);
  ::close(pipe[1]);
  CHECK(read_file(fmt::format("/dev/fd/{}", pipe[0])) == "all");
  ::close(pipe[0]);
}

TEST_CASE("awaited: a file is read to its end after a signal", "[base]") {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "file";
  write_file_atomically(file, "whole");
  CHECK_FALSE(is_stopped(SIGCONT, [&] {
    ::raise(SIGTERM);
    if (read_file(file) != "whole") throw Stopped("not read");
  }));
}
