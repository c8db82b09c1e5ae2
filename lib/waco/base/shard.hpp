// One of several equal parts of the work on a list, for runs on a cluster.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

namespace waco {

/// Part `index` (from 0) of `count`.
struct Shard {
  int index = 0;
  int count = 1;
  /// Whether the shard does the item at this place of the list of originals.
  bool owns(size_t place) const { return place % static_cast<size_t>(count) == static_cast<size_t>(index); }
};

/// "0/4" is the first of four. Throws UsageError.
Shard parse_shard(const std::string& text);

/// The shard of a Slurm array task (SLURM_ARRAY_TASK_ID, _COUNT, _MIN and _STEP); nullopt outside of one.
/// Throws UsageError when the array's tasks are not numbered evenly.
std::optional<Shard> shard_of_array_task();

/// The shard of one of several tasks that srun started in a step (SLURM_PROCID, SLURM_STEP_NUM_TASKS);
/// nullopt outside of one, as in a batch script, and in the shell of `srun --pty`. Throws UsageError when the
/// two do not go together.
std::optional<Shard> shard_of_step_task();

/// What --shard says, or else the shard of a Slurm array task, or else that of a step's task, of which a line
/// then tells; all of the work where there is none. Throws as the three above.
Shard choose_shard(const std::string& text);

/// "data.jsonl" of shard 0/4 is "data.0-of-4.jsonl". Throws UsageError for a stream (is_stream).
std::filesystem::path shard_path(const std::filesystem::path& file, const Shard& shard);

}  // namespace waco
