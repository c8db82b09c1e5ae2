// What waco-bench is asked for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/bench/contest.hpp"
#include "waco/base/command_line.hpp"
#include "waco/tune/model_options.hpp"
#include "waco/tune/problem_options.hpp"
#include "waco/tune/tuned_plans.hpp"

namespace waco::bench {

inline constexpr const char* kProgram = "waco-bench";

struct Options {
  CommonOptions common;
  tune::ProblemOptions problem;
  std::vector<std::string> matrices;
  std::string plan_file;
  std::string effort = "normal";
  tune::ModelOptions ranking;
  std::optional<int> top;
  std::optional<double> budget_s;
  std::vector<std::string> peers;
  bool list_peers = false;
  bool jsonl = false;
  std::string html_file;
  std::string record_file;
  bool report = false;
  bool markdown = false;
  std::vector<std::string> report_files;
  std::string command;
};

/// False when help or the version was asked for, and printed. Throws UsageError.
bool parse(int argc, char** argv, Options& options);

/// How matrices are tuned, with the model opened that ranks; with --schedule or `plans` nothing is searched.
ContestOptions contest_options(const Options& options, const std::optional<tune::TunedPlans>& plans);

}  // namespace waco::bench
