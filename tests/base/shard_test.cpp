// Shards of a list.
#include "waco/base/shard.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <vector>

#include "waco/base/error.hpp"

using namespace waco;

namespace {

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

TEST_CASE("shards: text, and what is none", "[base]") {
  CHECK(parse_shard("0/4").index == 0);
  CHECK(parse_shard("3/4").count == 4);
  for (const char* text : {"", "4", "4/4", "-1/4", "1/0", "1/", "/4", "a/b", "1/4/2", " 1/4"}) {
    INFO(text);
    CHECK_THROWS_AS(parse_shard(text), UsageError);
  }
}

TEST_CASE("shards: every item has one owner", "[base]") {
  for (size_t place = 0; place < 100; ++place) {
    int owners = 0;
    for (int index = 0; index < 7; ++index) owners += Shard{index, 7}.owns(place) ? 1 : 0;
    CHECK(owners == 1);
  }
}

TEST_CASE("shards: an array task of Slurm is one", "[base]") {
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

TEST_CASE("shards: each has a file of its own", "[base]") {
  CHECK(shard_path("out/data.jsonl", {1, 4}) == "out/data.1-of-4.jsonl");
  CHECK(shard_path("data", {0, 2}) == "data.0-of-2");
}
