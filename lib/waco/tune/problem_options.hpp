// The command-line options that say what is computed, and the points given by hand.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "waco/schedule/super_schedule.hpp"

namespace CLI {
class App;
}

namespace waco::tune {

/// As typed; empty when not given.
struct ProblemOptions {
  std::string op;
  std::string type;
  std::optional<int64_t> rhs;
  std::vector<std::string> schedules;  ///< text forms, see choose_problem()
};

/// Adds --op, --type, --rhs and --schedule.
void add_problem_options(CLI::App& app, ProblemOptions& options);

struct ChosenProblem {
  schedule::Problem problem;
  std::vector<schedule::SuperSchedule> points;
};

/// Op, type and size from the options, or from the schedules where an option is not given; a schedule may
/// begin with its levels, "A: ...", where op is. Throws UsageError
/// when options and schedules contradict each other, or nothing says the op.
ChosenProblem choose_problem(const ProblemOptions& options);

}  // namespace waco::tune
