// Which inputs a collection has, and which of them a shard does.
#include "waco/collect/inputs.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>

#include "waco/base/error.hpp"
#include "waco/base/files.hpp"
#include "waco/collect/ledger.hpp"
#include "waco/collect/shard.hpp"

using namespace waco;
using namespace waco::collect;
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

/// Sets variables of an array task, and removes them at the end.
class ArrayTask {
 public:
  ArrayTask(const char* id, const char* count, const char* first, const char* step) {
    set("SLURM_ARRAY_TASK_ID", id);
    set("SLURM_ARRAY_TASK_COUNT", count);
    set("SLURM_ARRAY_TASK_MIN", first);
    set("SLURM_ARRAY_TASK_STEP", step);
  }
  ~ArrayTask() {
    for (const char* name : set_) ::unsetenv(name);
  }
  ArrayTask(const ArrayTask&) = delete;
  ArrayTask& operator=(const ArrayTask&) = delete;

 private:
  void set(const char* name, const char* value) {
    if (value == nullptr) return;
    ::setenv(name, value, 1);
    set_.push_back(name);
  }
  std::vector<const char*> set_;
};

}  // namespace

TEST_CASE("inputs: folders are searched for what the op needs, sorted, each file once", "[collect]") {
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

TEST_CASE("inputs: a list names files, folders and recipes, and its faults are told with their line",
          "[collect]") {
  const TemporaryFolder folder;
  const std::string file = write(folder.path() / "m.mtx");
  const std::string list =
      write(folder.path() / "list", "# matrices\n\n  " + file + "  \r\nsynthetic: stencil2d n=20\n");
  const auto items = gather_items({.paths = {}, .lists = {list}}, 2, 1);
  REQUIRE(items.size() == 2);
  CHECK(items[0].source == file);
  CHECK(record_source(items[0]) == "m.mtx");
  CHECK_THAT(record_source(items[1]), Catch::StartsWith("synthetic: stencil2d n=20"));
  const std::string bad = write(folder.path() / "bad", file + "\nmissing.mtx\n");
  CHECK_THROWS_WITH(gather_items({.paths = {}, .lists = {bad}}, 2, 1), Catch::Contains("bad:2:"));
  const std::string recipe = write(folder.path() / "recipe", "synthetic: nothing\n");
  CHECK_THROWS_WITH(gather_items({.paths = {}, .lists = {recipe}}, 2, 1), Catch::Contains("recipe:1:"));
}

TEST_CASE("inputs: nothing, a missing file and an empty folder are errors", "[collect]") {
  const TemporaryFolder folder;
  CHECK_THROWS_AS(gather_items({}, 2, 1), UsageError);
  CHECK_THROWS_AS(gather_items({.paths = {"missing.mtx"}, .lists = {}}, 2, 1), InputError);
  CHECK_THROWS_AS(gather_items({.paths = {folder.path().string()}, .lists = {}}, 2, 1), InputError);
  CHECK_THROWS_AS(gather_items({.paths = {}, .lists = {"missing.txt"}}, 2, 1), Error);
}

TEST_CASE("inputs: synthetic matrices follow the seed", "[collect]") {
  const InputOptions options{.paths = {}, .lists = {}, .num_synthetic = 5};
  const auto items = gather_items(options, 2, 3);
  CHECK(items.size() == 5);
  CHECK(gather_items(options, 2, 3) == items);
  CHECK(gather_items(options, 2, 4) != items);
}

TEST_CASE("shards: text, and what is none", "[collect]") {
  CHECK(parse_shard("0/4").index == 0);
  CHECK(parse_shard("3/4").count == 4);
  for (const char* text : {"", "4", "4/4", "-1/4", "1/0", "1/", "/4", "a/b", "1/4/2", " 1/4"}) {
    INFO(text);
    CHECK_THROWS_AS(parse_shard(text), UsageError);
  }
}

TEST_CASE("shards: every item has one owner", "[collect]") {
  for (size_t place = 0; place < 100; ++place) {
    int owners = 0;
    for (int index = 0; index < 7; ++index) owners += Shard{index, 7}.owns(place) ? 1 : 0;
    CHECK(owners == 1);
  }
}

TEST_CASE("shards: an array task of Slurm is one", "[collect]") {
  CHECK_FALSE(shard_of_array_task());
  {
    const ArrayTask task("7", "4", "5", nullptr);
    REQUIRE(shard_of_array_task());
    CHECK(shard_of_array_task()->index == 2);
    CHECK(shard_of_array_task()->count == 4);
  }
  {
    const ArrayTask task("4", "3", "0", "2");
    CHECK(shard_of_array_task()->index == 2);
  }
  const ArrayTask uneven("7", "3", "1", nullptr);  // --array=1,3,7
  CHECK_THROWS_AS(shard_of_array_task(), UsageError);
}

TEST_CASE("shards: each has a file of its own", "[collect]") {
  CHECK(shard_path("out/data.jsonl", {1, 4}) == "out/data.1-of-4.jsonl");
  CHECK(shard_path("data", {0, 2}) == "data.0-of-2");
}

TEST_CASE("ledger: what a matrix has is found by pattern, and by name when that is unique", "[collect]") {
  dataset::Record record;
  record.matrix = "m";
  record.source = "m.mtx";
  record.matrix_hash = "1";
  record.dims = {3, 4};
  record.plan = "slow";
  record.stratum = "model";
  record.time_ns = 10;
  record.speedup = 1;
  Ledger ledger;
  ledger.add(record);
  record.plan = "fast";
  record.stratum = "neighbours";
  record.speedup = 2;
  ledger.add(record);
  record.plan = "unknown";
  record.censored = true;
  ledger.add(record);
  REQUIRE(ledger.find("1") != nullptr);
  CHECK(ledger.find("1")->plans.size() == 3);
  CHECK(ledger.find("1")->num_neighbours == 2);
  CHECK(ledger.find("1")->fastest() == std::vector<std::string>{"fast", "slow"});
  CHECK(ledger.find("m", "m.mtx") == ledger.find("1"));
  record.matrix_hash = "2";
  ledger.add(record);
  CHECK(ledger.find("m", "m.mtx") == nullptr);
  CHECK(ledger.find("3") == nullptr);
  CHECK(ledger.num_records() == 4);
}
