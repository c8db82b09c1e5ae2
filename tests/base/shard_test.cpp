// Shards of a list.
#include "waco/base/shard.hpp"

#include <catch2/catch.hpp>

#include "../scoped_variable.hpp"
#include "waco/base/error.hpp"

using namespace waco;

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
  CHECK(choose_shard("").count == 1);
  {
    const ScopedVariable id("SLURM_ARRAY_TASK_ID", "7"), count("SLURM_ARRAY_TASK_COUNT", "4"),
        first("SLURM_ARRAY_TASK_MIN", "5");
    REQUIRE(shard_of_array_task());
    CHECK(shard_of_array_task()->index == 2);
    CHECK(shard_of_array_task()->count == 4);
    CHECK(choose_shard("").index == 2);
    CHECK(choose_shard("0/2").count == 2);
  }
  {
    const ScopedVariable id("SLURM_ARRAY_TASK_ID", "4"), count("SLURM_ARRAY_TASK_COUNT", "3"),
        first("SLURM_ARRAY_TASK_MIN", "0"), step("SLURM_ARRAY_TASK_STEP", "2");
    CHECK(shard_of_array_task()->index == 2);
  }
  {
    // The one of an array that failed, submitted again: it must not do what all did.
    const ScopedVariable id("SLURM_ARRAY_TASK_ID", "3"), count("SLURM_ARRAY_TASK_COUNT", "1"),
        first("SLURM_ARRAY_TASK_MIN", "3");
    CHECK_THROWS_WITH(choose_shard(""), Catch::Contains("--shard 3/8"));
    CHECK(choose_shard("3/8").index == 3);
  }
  // --array=1,3,7
  const ScopedVariable id("SLURM_ARRAY_TASK_ID", "7"), count("SLURM_ARRAY_TASK_COUNT", "3"),
      first("SLURM_ARRAY_TASK_MIN", "1");
  CHECK_THROWS_AS(shard_of_array_task(), UsageError);
}

TEST_CASE("shards: a task of a Slurm step of several is one", "[base]") {
  // A batch script's own commands: they run once, whatever it asked for.
  const ScopedVariable asked("SLURM_NTASKS", "4"), id("SLURM_PROCID", "0");
  CHECK_FALSE(shard_of_step_task());
  CHECK(choose_shard("").count == 1);
  {
    const ScopedVariable count("SLURM_STEP_NUM_TASKS", "1");
    CHECK_FALSE(shard_of_step_task());
    CHECK(choose_shard("").count == 1);
  }
  const ScopedVariable count("SLURM_STEP_NUM_TASKS", "4");
  {
    const ScopedVariable last("SLURM_PROCID", "3");
    REQUIRE(shard_of_step_task());
    CHECK(shard_of_step_task()->index == 3);
    CHECK(shard_of_step_task()->count == 4);
    CHECK(choose_shard("").index == 3);
    CHECK(choose_shard("0/1").count == 1);
    // Of an array the tasks share the work out, and not their steps.
    const ScopedVariable task("SLURM_ARRAY_TASK_ID", "1"), tasks("SLURM_ARRAY_TASK_COUNT", "2");
    CHECK(choose_shard("").index == 1);
    CHECK(choose_shard("").count == 2);
  }
  CHECK(choose_shard("").index == 0);
  CHECK(choose_shard("").count == 4);
  {
    // The one shell of srun --pty, whose step has as many tasks as were asked for.
    const ScopedVariable port("SLURM_PTY_PORT", "40001");
    CHECK_FALSE(shard_of_step_task());
    CHECK(choose_shard("").count == 1);
  }
  const ScopedVariable none("SLURM_PROCID", "4");
  CHECK_THROWS_WITH(choose_shard(""), Catch::Contains("--shard"));
  CHECK(choose_shard("3/4").index == 3);
}

TEST_CASE("shards: each has a file of its own", "[base]") {
  CHECK(shard_path("out/data.jsonl", {1, 4}) == "out/data.1-of-4.jsonl");
  CHECK(shard_path("data", {0, 2}) == "data.0-of-2");
  for (const char* stream : {"-", "/dev/stdout", "/dev/null"})
    CHECK_THROWS_AS(shard_path(stream, {0, 2}), UsageError);
}
