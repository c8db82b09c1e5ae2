// Folders of the cache: what goes from them, and what stays.
#include "waco/base/unused_entries.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <string>

#include "waco/base/file_replacement.hpp"
#include "waco/base/files.hpp"

using namespace waco;
namespace fs = std::filesystem;

namespace {

/// A file or, with a name inside it, a folder that was last used so many hours ago.
void make(const fs::path& path, int hours) {
  fs::create_directories(path.parent_path());
  write_file_atomically(path, "");
  const auto date = fs::file_time_type::clock::now() - std::chrono::hours(hours);
  fs::last_write_time(path, date);
}

}  // namespace

TEST_CASE("unused_entries: what a killed run was writing goes after an hour", "[base]") {
  const TemporaryFolder folder;
  const fs::path old = temporary_name(folder.path() / "vertices.txt"),
                 fresh = temporary_name(folder.path() / "vertices.txt"),
                 whole = folder.path() / "vertices.txt";
  // Users' own, which happen to be called alike.
  const fs::path kept = folder.path() / "vertices.txt.tmp.keep",
                 numbered = folder.path() / "vertices.txt.tmp.0123.1";
  make(kept, 2);
  make(numbered, 2);
  make(old, 2);
  make(fresh, 0);
  make(whole, 2);
  remove_leftovers(folder.path());
  CHECK_FALSE(fs::exists(old));
  CHECK(fs::exists(fresh));
  CHECK(fs::exists(whole));
  CHECK(fs::exists(kept));
  CHECK(fs::exists(numbered));
  CHECK_NOTHROW(remove_leftovers(folder.path() / "absent"));
}

TEST_CASE("unused_entries: entries that were not used for a month go", "[base]") {
  const TemporaryFolder folder;
  constexpr int kDay = 24;
  make(folder.path() / "index-a" / "index.json", 40 * kDay);
  make(folder.path() / "index-b" / "index.json", 20 * kDay);
  make(folder.path() / "other-c", 40 * kDay);
  remove_unused_entries(folder.path(), "index-", "index.json");
  CHECK_FALSE(fs::exists(folder.path() / "index-a"));
  CHECK(fs::exists(folder.path() / "index-b"));
  CHECK(fs::exists(folder.path() / "other-c"));
  note_use(folder.path() / "other-c");
  remove_unused_entries(folder.path(), "other");
  CHECK(fs::exists(folder.path() / "other-c"));
}
