// Shards from the command line and from Slurm.
#include "waco/base/shard.hpp"

#include <spdlog/spdlog.h>

#include <charconv>
#include <cstdlib>

#include "waco/base/error.hpp"
#include "waco/base/file_replacement.hpp"

namespace waco {
namespace {

constexpr int kMaxShards = 100000;

std::optional<int> whole_number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::optional<int> from_environment(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? std::nullopt : whole_number(text);
}

}  // namespace

Shard parse_shard(const std::string& text) {
  const size_t slash = text.find('/');
  const std::optional<int> index = whole_number(std::string_view(text).substr(0, slash));
  const std::optional<int> count =
      slash == std::string::npos ? std::nullopt : whole_number(std::string_view(text).substr(slash + 1));
  if (!index || !count || *count < 1 || *count > kMaxShards || *index >= *count)
    throw UsageError(
        fmt::format("--shard '{}' is not INDEX/COUNT with an index from 0, such as 0/4 to 3/4", text));
  return {*index, *count};
}

std::optional<Shard> shard_of_array_task() {
  const std::optional<int> id = from_environment("SLURM_ARRAY_TASK_ID");
  const std::optional<int> count = from_environment("SLURM_ARRAY_TASK_COUNT");
  if (!id || !count || *count < 1) return std::nullopt;
  const int first = from_environment("SLURM_ARRAY_TASK_MIN").value_or(0);
  const int step = std::max(from_environment("SLURM_ARRAY_TASK_STEP").value_or(1), 1);
  const int index = (*id - first) / step;
  if (*id < first || (*id - first) % step != 0 || index >= *count)
    throw UsageError(
        fmt::format("task {} of this Slurm array has no place among {} evenly numbered ones; submit an array "
                    "such as 0-{}, or say --shard",
                    *id, *count, *count - 1));
  if (*count == 1 && *id > 0)
    throw UsageError(
        fmt::format("task {0} alone of a Slurm array: say which part of the inputs it is to do, such as "
                    "--shard {0}/8 where "
                    "there were 8 tasks before, or --shard 0/1 for all",
                    *id));
  return Shard{index, *count};
}

std::optional<Shard> shard_of_step_task() {
  // SLURM_NTASKS would be there in a batch script, too, which runs once, as does the first shell of srun
  // --pty: of that step the other tasks end at once. sbatch hands its variables on.
  if (std::getenv("SLURM_PTY_PORT") != nullptr) return std::nullopt;
  const std::optional<int> id = from_environment("SLURM_PROCID");
  const std::optional<int> count = from_environment("SLURM_STEP_NUM_TASKS");
  if (!id || !count || *count < 2) return std::nullopt;
  if (*id >= *count)
    throw UsageError(
        fmt::format("task {} of this Slurm step has no place among {}; say which part of the inputs it is to "
                    "do by --shard",
                    *id, *count));
  return Shard{*id, *count};
}

Shard choose_shard(const std::string& text) {
  if (!text.empty()) return parse_shard(text);
  const std::optional<Shard> of_array = shard_of_array_task();
  const Shard shard = of_array ? *of_array : shard_of_step_task().value_or(Shard());
  if (shard.count > 1)
    spdlog::warn(
        "only shard {}/{} of the inputs, as this is a task of a Slurm {}; --shard 0/1 does all of them",
        shard.index, shard.count, of_array ? "array" : "step");
  return shard;
}

std::filesystem::path shard_path(const std::filesystem::path& file, const Shard& shard) {
  if (is_stream(file))
    throw UsageError(fmt::format("{}: each shard writes a file of its own; name a file", file.string()));
  std::filesystem::path name = file.stem();
  name += fmt::format(".{}-of-{}", shard.index, shard.count);
  name += file.extension();
  return file.parent_path() / name;
}

}  // namespace waco
