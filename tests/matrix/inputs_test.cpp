// What a command line names: files, folders, lists, recipes.
#include "waco/matrix/inputs.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "waco/base/error.hpp"
#include "waco/base/files.hpp"

using namespace waco;
using namespace waco::matrix;
namespace fs = std::filesystem;

namespace {

std::string write(const fs::path& file, const std::string& text = "") {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
  return file.string();
}

std::vector<std::string> names(const std::vector<matrix::CorpusItem>& items) {
  std::vector<std::string> result;
  for (const matrix::CorpusItem& item : items) result.push_back(item.name);
  return result;
}

}  // namespace

TEST_CASE("inputs: folders are searched for what the op needs, sorted, each file once", "[matrix]") {
  const TemporaryFolder folder;
  const fs::path root = folder.path() / "in";
  write(root / "b.mtx");
  write(root / "sub/a.mtx.gz");
  write(root / "t.tns");
  write(root / "t2.tns.gz");
  write(root / "notes.txt");
  const InputOptions options{.paths = {root.string(), (root / "b.mtx").string()}, .lists = {}};
  CHECK(names(gather_items(options, 2, 1)) == std::vector<std::string>{"b", "a"});
  CHECK(names(gather_items({.paths = {root.string()}, .lists = {}}, 3, 1)) ==
        std::vector<std::string>{"t", "t2"});
}

TEST_CASE("inputs: of SuiteSparse's files the matrix alone is taken", "[matrix]") {
  const TemporaryFolder folder;
  const fs::path root = folder.path() / "HB";
  write(root / "bcspwr01.tar.gz");
  write(root / "well1850.tar.gz");  // extracted:
  for (const char* name : {"well1850.mtx", "well1850_b.mtx", "well1850_x.mtx.gz"})
    write(root / "well1850" / name);
  write(root / "ash85.tgz");
  write(root / "abb313/abb313.mtx.gz");
  write(root / "abb313/abb313_coord.mtx");
  write(root / "lone/lone_b.mtx");  // of no matrix here
  CHECK(names(gather_items({.paths = {root.string()}, .lists = {}}, 2, 1)) ==
        std::vector<std::string>{"abb313", "ash85", "bcspwr01", "lone_b", "well1850"});
  CHECK_THROWS_WITH(gather_items({.paths = {root.string()}, .lists = {}}, 3, 1),
                    Catch::Contains("holds no .tns"));
}

TEST_CASE("inputs: a list names files, folders and recipes, and its faults are told with their line",
          "[matrix]") {
  const TemporaryFolder folder;
  const std::string file = write(folder.path() / "m.mtx");
  const std::string list =
      write(folder.path() / "list", "# matrices\n\n  " + file + "  \r\nsynthetic: stencil2d n=20\n");
  const auto items = gather_items({.paths = {}, .lists = {list}}, 2, 1);
  REQUIRE(items.size() == 2);
  CHECK(items[0].source == file);
  CHECK(record_source(items[0]) == "m.mtx");
  CHECK_THAT(record_source(items[1]), Catch::StartsWith("synthetic: stencil2d n=20"));
  const std::string bad = write(folder.path() / "bad", file + "\n" + folder.path().string() + "/none\n");
  CHECK(gather_items({.paths = {}, .lists = {bad}}, 2, 1).size() == 2);  // reading the second will say so
  const std::string recipe = write(folder.path() / "recipe", "synthetic: nothing\n");
  CHECK_THROWS_WITH(gather_items({.paths = {}, .lists = {recipe}}, 2, 1), Catch::Contains("recipe:1:"));
}

TEST_CASE("inputs: nothing, a list that is missing or none, and an empty folder are errors", "[matrix]") {
  const TemporaryFolder folder;
  CHECK_THROWS_AS(gather_items({}, 2, 1), UsageError);
  CHECK_THROWS_AS(read_item(gather_items({.paths = {"missing.mtx"}, .lists = {}}, 2, 1).at(0), {}),
                  InputError);
  for (const std::string& other :
       {std::string("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n"),
        std::string("\x1f\x8b\x08\0\0\0", 6)}) {
    const std::string no_list = write(folder.path() / "no_list", other);
    CHECK_THROWS_WITH(gather_items({.paths = {}, .lists = {no_list}}, 2, 1), Catch::Contains("is no list"));
  }
  CHECK_THROWS_AS(gather_items({.paths = {folder.path().string()}, .lists = {}}, 2, 1), InputError);
  CHECK_THROWS_AS(gather_items({.paths = {}, .lists = {"missing.txt"}}, 2, 1), Error);
}

TEST_CASE("inputs: what can't be searched in a folder is passed over", "[matrix]") {
  const TemporaryFolder folder;
  const std::string file = write(folder.path() / "m.mtx");
  const fs::path closed = folder.path() / "closed";
  fs::create_directory(closed);
  write(closed / "n.mtx");
  fs::create_symlink("nowhere", folder.path() / "dangling.mtx");
  fs::permissions(closed, fs::perms::none);
  const auto items = gather_items({.paths = {folder.path().string()}, .lists = {}}, 2, 1);
  fs::permissions(closed, fs::perms::owner_all);
  CHECK(items.back().source == file);
  CHECK(items.size() == (::geteuid() == 0 ? 2 : 1));  // nothing is closed to root
}

TEST_CASE("inputs: synthetic matrices follow the seed", "[matrix]") {
  const InputOptions options{.paths = {}, .lists = {}, .num_synthetic = 5};
  const auto items = gather_items(options, 2, 3);
  CHECK(items.size() == 5);
  CHECK(gather_items(options, 2, 3) == items);
  CHECK(gather_items(options, 2, 4) != items);
}
