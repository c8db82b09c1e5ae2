// Reading, locks, and the cache folder's permissions.
#include "waco/base/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "../scoped_variable.hpp"
#include "waco/base/descriptor.hpp"
#include "waco/base/error.hpp"

using namespace waco;
namespace fs = std::filesystem;

TEST_CASE("files: a lock has one holder at a time", "[base]") {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "lock";
  {
    const LockFile lock(file, "first");
    CHECK_THROWS_WITH(LockFile(file, "another run is there"), "another run is there");
  }
  CHECK_NOTHROW(LockFile(file, "nobody"));
  {
    const Descriptor opened(::open(file.c_str(), O_RDWR | O_CLOEXEC));
    fs::remove(file);  // as a run does at its end that has written nothing
    CHECK_THROWS_WITH(lock_or_warn(opened.get(), file, "another run was there", "writes"),
                      "another run was there");
  }
  CHECK_THROWS_WITH(LockFile(folder.path() / "absent/lock", "nobody"), Catch::Contains("absent"));
}

TEST_CASE("files: reading a missing file names the file", "[base]") {
  CHECK_THROWS_WITH(read_file("/no/such/file"), Catch::Contains("/no/such/file"));
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

TEST_CASE("files: temporary folders that nothing will destroy are removed together", "[base]") {
  const TemporaryFolder first, second;
  std::ofstream(first.path() / "file") << "x";
  remove_temporary_folders();
  CHECK_FALSE(fs::exists(first.path()));
  CHECK_FALSE(fs::exists(second.path()));
}
