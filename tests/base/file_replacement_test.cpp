// Atomic writes, through links, to streams, and of folders.
#include "waco/base/file_replacement.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <future>
#include <string>

#include "waco/base/artifact.hpp"
#include "waco/base/files.hpp"

using namespace waco;
namespace fs = std::filesystem;

TEST_CASE("file_replacement: an atomic write replaces the content and leaves nothing beside it", "[base]") {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "a.json";
  write_file_atomically(file, "first");
  write_file_atomically(file, std::string("sec\0nd", 6));
  CHECK(read_file(file) == std::string("sec\0nd", 6));
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("file_replacement: links are followed, permissions kept, and devices written to", "[base]") {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "a.json", link = folder.path() / "link",
                 device = folder.path() / "null";
  write_file_atomically(file, "first");
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("a.json", link);
  write_file_atomically(link, "second");
  CHECK(read_file(file) == "second");
  CHECK(fs::is_symlink(link));
  CHECK(fs::status(file).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
  fs::create_symlink("/dev/null", device);
  check_can_be_written(device);
  write_file_atomically(device, "third");
  CHECK(fs::is_character_file(device));
  CHECK_THROWS_WITH(check_can_be_written(folder.path()), Catch::Contains("is a folder"));
}

TEST_CASE("file_replacement: links are followed to what is not there yet", "[base]") {
  const TemporaryFolder folder;
  const fs::path link = folder.path() / "link", outer = folder.path() / "outer";
  fs::create_directory(folder.path() / "below");
  fs::create_symlink("below/a.json", link);
  fs::create_symlink(link, outer);
  check_can_be_written(outer);
  CHECK_FALSE(fs::exists(link));
  write_file_atomically(outer, "first");
  CHECK(fs::is_symlink(outer));
  CHECK(fs::is_symlink(link));
  CHECK(read_file(folder.path() / "below/a.json") == "first");
  const fs::path round = folder.path() / "round";
  fs::create_symlink("round", round);
  CHECK_THROWS_WITH(check_can_be_written(round), Catch::Contains("too many links"));
  CHECK_FALSE(is_stream(round));
  CHECK_FALSE(same_file(round, link));
}

TEST_CASE("file_replacement: what a descriptor leads to is continued, not replaced", "[base]") {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "all";
  write_file_atomically(file, "first, ");
  const int fd = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  REQUIRE(fd >= 0);
  const fs::path name = fmt::format("/dev/fd/{}", fd), link = folder.path() / "link";
  fs::create_symlink(name, link);
  for (const fs::path& output : {name, fs::path(fmt::format("/proc/self/fd/{}", fd)), link}) {
    check_can_be_written(output);
    CHECK(is_stream(output));
    write_file_atomically(output, "more ");
  }
  CHECK(::write(fd, "last", 4) == 4);
  ::close(fd);
  CHECK(read_file(file) == "first, more more more last");
  CHECK_THROWS_WITH(check_can_be_written(name), Catch::Contains("can't be written"));
}

TEST_CASE("file_replacement: pipes are written to by the names that they have in /proc", "[base]") {
  int pipe[2];
  REQUIRE(::pipe2(pipe, O_CLOEXEC) == 0);
  const fs::path own = fmt::format("/proc/thread-self/fd/{}", pipe[1]);
  // To another thread it is what a pipe of another process is.
  const fs::path foreign = fmt::format("/proc/self/task/{}/fd/{}", ::gettid(), pipe[1]);
  const auto write = [](const fs::path& output) {
    check_can_be_written(output);
    write_file_atomically(output, is_stream(output) ? "more " : "");
  };
  write(own);
  std::async(std::launch::async, write, foreign).get();
  ::close(pipe[1]);
  char got[64];
  const ssize_t size = ::read(pipe[0], got, sizeof got);
  ::close(pipe[0]);
  REQUIRE(size > 0);
  CHECK(std::string(got, static_cast<size_t>(size)) == "more more ");
}

TEST_CASE("file_replacement: names of one file are the same, whether it is there or not", "[base]") {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "a", link = folder.path() / "link";
  fs::create_symlink("a", link);
  for (const bool is_there : {false, true}) {
    if (is_there) write_file_atomically(file, "");
    CHECK(same_file(file, folder.path() / "./a"));
    CHECK(same_file(file, link));
    CHECK_FALSE(same_file(file, folder.path() / "b"));
  }
  for (const char* stream : {"/dev/null", "/dev/stdout", "-"}) CHECK_FALSE(same_file(stream, stream));
}

TEST_CASE("file_replacement: a file that a descriptor has open is an input like one that is named",
          "[base]") {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "a", link = folder.path() / "link", other = folder.path() / "b";
  write_file_atomically(file, "");
  write_file_atomically(other, "");
  fs::create_symlink("a", link);
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(fd >= 0);
  const int kept = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
  REQUIRE(::dup2(fd, STDIN_FILENO) == STDIN_FILENO);
  for (const fs::path& input :
       {file, link, fs::path("-"), fs::path("/dev/stdin"), fs::path(fmt::format("/dev/fd/{}", fd))}) {
    INFO(input);
    CHECK(takes_place_of_input(file, input));
    CHECK(takes_place_of_input(link, input));
    for (const fs::path& output : {other, folder.path() / "c", fs::path("-"), fs::path("/dev/null")})
      CHECK_FALSE(takes_place_of_input(output, input));
  }
  ::dup2(kept, STDIN_FILENO);
  ::close(kept);
  ::close(fd);
  CHECK(takes_place_of_input(folder.path() / "c", folder.path() / "./c"));
  CHECK_FALSE(takes_place_of_input("/dev/null", "/dev/null"));
}

TEST_CASE("file_replacement: a name as long as the file system takes is written to", "[base]") {
  const TemporaryFolder folder;
  std::string name(255, 'x');
  for (const std::string& long_name : {name, name.replace(228, 4, "\u00e9\u00e9")}) {
    const fs::path file = folder.path() / long_name;
    check_can_be_written(file);
    write_file_atomically(file, "content");
    CHECK(read_file(file) == "content");
    const std::string temporary = temporary_name(file).filename();
    CHECK(temporary.size() <= 255);
    CHECK(stored_text(temporary) == temporary);  // no part of a character
  }
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 2);
}

TEST_CASE("file_replacement: a folder takes the place of another, of a link's too, or of none", "[base]") {
  const TemporaryFolder folder;
  const fs::path place = folder.path() / "place", link = folder.path() / "link",
                 fresh = folder.path() / "fresh";
  fs::create_directory_symlink("place", link);
  for (const fs::path& target : {place, place, link}) {
    fs::create_directory(fresh);
    write_file_atomically(fresh / "new", "");
    replace_folder(fresh, target);
    CHECK(fs::exists(place / "new"));
    CHECK_FALSE(fs::exists(place / "old"));
    CHECK_FALSE(fs::exists(fresh));
    fs::rename(place / "new", place / "old");
  }
  CHECK(fs::is_symlink(link));
  CHECK_THROWS_WITH(replace_folder(fresh, link), Catch::Contains(link.string()));
  CHECK(fs::exists(place / "old"));
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 2);
}

TEST_CASE("file_replacement: writing into a missing folder names the file", "[base]") {
  CHECK_THROWS_WITH(write_file_atomically("/no/such/folder/a.json", ""),
                    Catch::Contains("/no/such/folder/a.json"));
}
