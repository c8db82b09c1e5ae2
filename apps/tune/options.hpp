// What waco-tune is asked for.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

#include "waco/base/command_line.hpp"
#include "waco/matrix/inputs.hpp"
#include "waco/tune/model_options.hpp"
#include "waco/tune/problem_options.hpp"
#include "waco/tune/tune.hpp"

namespace waco::apps {

inline constexpr const char* kProgram = "waco-tune";

struct Options {
  CommonOptions common;
  tune::ProblemOptions problem;
  matrix::InputOptions inputs;
  std::string shard;
  std::string effort;
  std::optional<int64_t> calls;
  std::optional<int> top;
  std::optional<double> budget_s;
  double max_fill = schedule::kMaxFill;
  tune::ModelOptions ranking;
  std::string space = "all";
  std::string plan_file;
  std::string kernel_file;
  bool calibrate = false;
  double minutes = 5;
  bool check = false;
  bool no_compile = false;
  int prepare = 0;
  bool json = false;
  bool jsonl = false;
  std::string command;

  /// One file, which is not looked for in folders or lists, and whose plan is wanted as a document of its
  /// own: a pattern of the shell that matches one file gets what it gets for several. Reading says what is
  /// wrong with a file that can't be examined.
  bool single() const {
    std::error_code error;
    return inputs.lists.empty() && inputs.paths.size() == 1 && !jsonl && !plan_file.ends_with(".jsonl") &&
           !std::filesystem::is_directory(inputs.paths[0], error);
  }
};

/// False when help or the version was asked for, and printed. Throws UsageError.
bool parse(int argc, char** argv, Options& options);

/// The options of tuning, with the model opened that ranks.
tune::TuneOptions tune_options(const Options& options, const tune::ChosenProblem& chosen);

}  // namespace waco::apps
