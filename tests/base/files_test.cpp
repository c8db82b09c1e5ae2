// Atomic writes, hashes and the cache folder's permissions.
#include "waco/base/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <future>
#include <set>

#include "../scoped_variable.hpp"
#include "waco/base/error.hpp"

using namespace waco;
namespace fs = std::filesystem;

TEST_CASE("files: an atomic write replaces the content and leaves nothing beside it", "[base]") {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "a.json";
  write_file_atomically(file, "first");
  write_file_atomically(file, std::string("sec\0nd", 6));
  CHECK(read_file(file) == std::string("sec\0nd", 6));
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("files: links are followed, permissions kept, and devices written to", "[base]") {
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

TEST_CASE("files: links are followed to what is not there yet", "[base]") {
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

TEST_CASE("files: what a descriptor leads to is continued, not replaced", "[base]") {
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

TEST_CASE("files: pipes are written to by the names that they have in /proc", "[base]") {
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

TEST_CASE("files: names of one file are the same, whether it is there or not", "[base]") {
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

TEST_CASE("files: a lock has one holder at a time", "[base]") {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "lock";
  {
    const LockFile lock(file, "first");
    CHECK_THROWS_WITH(LockFile(file, "another run is there"), "another run is there");
  }
  CHECK_NOTHROW(LockFile(file, "nobody"));
  CHECK_THROWS_WITH(LockFile(folder.path() / "absent/lock", "nobody"), Catch::Contains("absent"));
}

TEST_CASE("files: a folder takes the place of another, of a link's too, or of none", "[base]") {
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

TEST_CASE("files: writing into a missing folder names the file", "[base]") {
  CHECK_THROWS_WITH(write_file_atomically("/no/such/folder/a.json", ""),
                    Catch::Contains("/no/such/folder/a.json"));
}

TEST_CASE("files: reading a missing file names the file", "[base]") {
  CHECK_THROWS_WITH(read_file("/no/such/file"), Catch::Contains("/no/such/file"));
}

TEST_CASE("files: the content hash sees every byte, its place and the length", "[base]") {
  std::set<std::string> hashes;
  for (const char* text : {"", "a", "b", "ab", "ba", "aa", "aaa"}) hashes.insert(content_hash(text));
  hashes.insert(content_hash(std::string(1, '\0')));
  hashes.insert(content_hash(std::string(2, '\0')));
  CHECK(hashes.size() == 9);
  CHECK(content_hash("abc") == content_hash("abc"));
  CHECK(content_hash("abc").size() == 32);
}

TEST_CASE("files: the cache folder is private to the user", "[base]") {
  const TemporaryFolder folder;
  const ScopedVariable variable("XDG_CACHE_HOME", folder.path());
  const fs::path cache = cache_folder();
  CHECK(cache == folder.path() / "waco");
  struct stat status {};
  REQUIRE(stat(cache.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);
  CHECK(cache_folder() == cache);
  CHECK(cache_folder_if_any() == cache);

  fs::permissions(cache, fs::perms::others_write, fs::perm_options::add);
  CHECK_THROWS_WITH(cache_folder(), Catch::Contains("chmod 700"));
  CHECK(cache_folder_if_any().empty());
}

TEST_CASE("files: a temporary folder is removed with its content", "[base]") {
  fs::path path;
  {
    const TemporaryFolder folder;
    path = folder.path();
    std::ofstream(path / "file") << "x";
    CHECK(fs::exists(path / "file"));
  }
  CHECK_FALSE(fs::exists(path));
}

TEST_CASE("files: the fast hash tells contents apart", "[base]") {
  std::set<std::string> seen;
  for (const size_t size : {0, 1, 7, 63, 64, 65, 200, 100000}) {
    std::string content(size, 'a');
    CHECK(fast_content_hash(content) == fast_content_hash(std::string(size, 'a')));
    CHECK(seen.insert(fast_content_hash(content)).second);
    CHECK(seen.insert(fast_content_hash(content + std::string(1, '\0'))).second);
    for (size_t at = 0; at < size; at += 1 + size / 9) {
      std::string flipped = content;
      flipped[at] ^= 1;
      CHECK(seen.insert(fast_content_hash(flipped)).second);
    }
  }
}

TEST_CASE("files: the form of a hash says which it is", "[base]") {
  const std::string content = "of a file";
  CHECK(has_hash(content, content_hash(content)));
  CHECK(has_hash(content, fast_content_hash(content)));
  CHECK_FALSE(has_hash(content + "s", content_hash(content)));
  CHECK_FALSE(has_hash(content + "s", fast_content_hash(content)));
  CHECK_FALSE(has_hash(content, fast_content_hash(content).substr(2)));
  CHECK_FALSE(has_hash(content, ""));
}
