// The command-line options that say what is computed.
#include "waco/tune/problem_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "waco/base/error.hpp"
#include "waco/schedule/legal_choices.hpp"

namespace waco::tune {
namespace {

/// What the options say of a problem whose op, type and size are otherwise these.
schedule::Problem with_options(schedule::Problem problem, const ProblemOptions& options) {
  if (!options.type.empty()) problem.type = *schedule::parse_value_type(options.type);
  if (options.rhs) problem.rhs = *options.rhs;
  if (!schedule::has_dense_index(problem.op) && problem.rhs != 1)
    throw UsageError("--rhs makes no sense for spmv, which has no dense index");
  return problem;
}

schedule::Problem of_options(const ProblemOptions& options) {
  if (options.op.empty()) throw UsageError("--op is required: spmv, spmm, sddmm or mttkrp");
  schedule::Problem problem;
  problem.op = *schedule::parse_op(options.op);
  problem.rhs = schedule::default_rhs(problem.op);
  return with_options(problem, options);
}

/// A text form, which may lack op, type and size, as in the tables of results, where --op says the op.
schedule::SuperSchedule point_of(const std::string& text, const ProblemOptions& options) {
  const size_t start = text.find_first_not_of(" \t\r\n");
  const bool is_short = start != std::string::npos && text.compare(start, 2, "A:") == 0;
  if (!is_short || options.op.empty()) return schedule::parse(text);
  return schedule::parse(fmt::format("{} | {}", schedule::to_text(of_options(options)), text));
}

}  // namespace

void add_problem_options(CLI::App& app, ProblemOptions& options) {
  app.add_option("--op", options.op, "Operation: spmv, spmm, sddmm, mttkrp")
      ->check(CLI::IsMember({"spmv", "spmm", "sddmm", "mttkrp"}));
  app.add_option("--type", options.type, "Value type: f32 (default), f64")
      ->check(CLI::IsMember({"f32", "f64"}));
  app.add_option("--rhs", options.rhs, "Size of the dense index (default: 256; mttkrp: 16)")
      ->check(CLI::Range(int64_t{1}, schedule::kMaxRhs));
  app.add_option("--schedule", options.schedules, "A SuperSchedule in its text form; may be repeated")
      ->allow_extra_args(false);
}

ChosenProblem choose_problem(const ProblemOptions& options) {
  ChosenProblem chosen;
  for (const std::string& text : options.schedules) chosen.points.push_back(point_of(text, options));
  const schedule::Problem problem = chosen.problem =
      chosen.points.empty() ? of_options(options) : with_options(chosen.points[0].problem, options);
  if (!options.op.empty() && options.op != schedule::name(problem.op))
    throw UsageError(fmt::format("--op {} contradicts the schedule, which is for {}", options.op,
                                 schedule::name(problem.op)));
  for (size_t n = 0; n < chosen.points.size(); ++n)
    if (chosen.points[n].problem != problem)
      throw UsageError(
          fmt::format("the schedule '{}' is for another op, type or size than asked for (--op, --type, "
                      "--rhs, or an earlier --schedule)",
                      options.schedules[n]));
  return chosen;
}

}  // namespace waco::tune
