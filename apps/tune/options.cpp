// The command line of waco-tune.
#include "apps/tune/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "waco/base/error.hpp"
#include "waco/base/file_replacement.hpp"

namespace waco::apps {
namespace {

constexpr const char* kExamples = R"(Examples:
  waco-tune mesh.mtx --op spmm --rhs 32
  waco-tune mesh.mtx.gz --op spmv --type f64 -o plan.json --emit kernel.cpp
  waco-tune tensor.tns --op mttkrp --json | jq .best
  waco-tune mesh.mtx --schedule "spmv f32 | A: i:U k:C | loop: i k | par: i static x2"
  zcat big.mtx.gz | waco-tune - --op sddmm --effort quick --budget 30
  waco-tune --list matrices.txt --op spmv -o results.jsonl       (run again, it does what is missing)
  waco-tune --calibrate --op spmv --minutes 5
  waco-tune --prepare 300 --op spmv          (compiles ahead what later runs will most likely measure)
  waco-tune mesh.mtx --op spmv --no-compile  (measures what is compiled already; needs no compiler)

Exit codes: 0 done, 1 failed, 2 usage, 3 unreadable input, 4 verification failed, 5 compiler unusable,
6 some of several matrices, kernels or calibrated models failed, 7 stopped by a signal before all of them were
done.)";

void check_calibrated(const Options& options, bool any_inputs) {
  if (any_inputs && options.problem.op.empty() && options.ranking.model.empty())
    throw UsageError("--calibrate takes matrices with --op only: not every op is for them");
  const std::optional<schedule::Op> op = schedule::parse_op(options.problem.op);
  if (options.problem.rhs && !(op && schedule::has_dense_index(*op)))
    throw UsageError(
        "--calibrate takes --rhs only with an --op that has a dense index: spmm, sddmm or mttkrp");
  for (const auto* names : {&options.inputs.paths, &options.inputs.lists})
    for (const std::string& name : *names)
      if (is_stream(name))
        throw UsageError(fmt::format(
            "{}: --calibrate reads its matrices again and again, which stdin and pipes can't be: name a file",
            name));
}

void add_input_options(CLI::App& app, Options& options) {
  app.add_option(
      "MATRIX", options.inputs.paths,
      "Matrix Market or FROSTT files, plain or gzipped, archives of SuiteSparse, or folders; - is stdin");
  app.add_option("--list", options.inputs.lists, "File with an input a line; - is stdin")
      ->allow_extra_args(false);
  app.add_option(
      "--shard", options.shard,
      "Part of the list to do, such as 0/4; by default that of a task of a Slurm array, or of a step");
  tune::add_problem_options(app, options.problem);
}

void add_effort_options(CLI::App& app, Options& options) {
  app.add_option("--top", options.top, "Candidates to measure (default: 10; quick 4, full 24)")
      ->check(CLI::Range(1, 1000));
  app.add_option("--effort", options.effort,
                 "none (rank only: nothing is compiled or run), quick, normal, full (default: normal, or by "
                 "--calls)")
      ->check(CLI::IsMember({"none", "quick", "normal", "full"}));
  app.add_flag("--check", options.check,
               "With --effort none: compile the first point all the same and check its result");
  auto* prepare = app.add_option("--prepare", options.prepare,
                                 "Instead of tuning, compile so many kernels that are often among the best "
                                 "(of --op, or for each of five usual problems)")
                      ->check(CLI::Range(1, 100000));
  app.add_flag("--no-compile", options.no_compile,
               "Compile nothing: measure only points whose kernels are in the cache, as after --prepare")
      ->excludes(prepare);
  app.add_option("--calls", options.calls,
                 "How often the kernel will run: chooses the effort, and CSR unless a plan pays")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 60));
  app.add_option("--budget", options.budget_s, "Seconds after which no new work starts")
      ->check(positive_number());
}

void add_space_options(CLI::App& app, Options& options) {
  app.add_option("--max-fill", options.max_fill, "Values a format may store per nonzero")
      ->check(number_from(1.0, 1e6))
      ->capture_default_str();
  tune::add_model_options(app, options.ranking);
  app.add_option("--space", options.space,
                 "What of a point varies: all; format, each with its default schedule; schedule, over CSR")
      ->check(CLI::IsMember({"all", "format", "schedule"}))
      ->capture_default_str();
}

void add_file_options(CLI::App& app, Options& options) {
  app.add_option("-o,--output", options.plan_file,
                 "Write the plan, a JSON document; of several matrices JSON Lines, continued when there");
  app.add_option("--emit", options.kernel_file, "Write the best kernel, one self-contained C++ file");
}

void add_calibration_options(CLI::App& app, Options& options) {
  auto* calibrate =
      app.add_flag("--calibrate", options.calibrate,
                   "Measure for some minutes and fit the built-in model (of --op, or of every op) "
                   "to this machine")
          ->excludes(app.get_option("--no-compile"));
  app.add_option("--minutes", options.minutes, "Of measuring for each op that is calibrated")
      ->needs(calibrate)
      ->check(positive_number())
      ->capture_default_str();
}

void add_printing_options(CLI::App& app, Options& options) {
  auto* json = app.add_flag("--json", options.json, "Print the plan document on stdout");
  app.add_flag("--jsonl", options.jsonl, "Print one document a line on stdout")->excludes(json);
}

/// What a job does not look at is refused, not passed over.
void refuse_options_of_other_jobs(CLI::App& app) {
  CLI::Option* calibrate = app.get_option("--calibrate");
  CLI::Option* prepare = app.get_option("--prepare");
  for (const char* name : {"--effort", "--top", "--budget", "--calls", "--check", "--shard", "--output",
                           "--emit", "--json", "--jsonl", "--schedule"}) {
    app.get_option(name)->excludes(calibrate);
    app.get_option(name)->excludes(prepare);
  }
  for (const char* name : {"--max-fill", "--space", "--index", "--search", "--seed", "--prepare"})
    app.get_option(name)->excludes(calibrate);
  for (const char* name : {"--top", "--search", "--space"})
    app.get_option(name)->excludes(app.get_option("--schedule"));
}

void check_tuned_or_prepared(const Options& options, bool any_inputs) {
  if (options.prepare > 0 && any_inputs) throw UsageError("--prepare takes no matrix");
  if (options.prepare == 0 && !any_inputs)
    throw UsageError("name a matrix, or --list a file that does (--help tells more)");
  if (!options.single() && (options.json || !options.kernel_file.empty()))
    throw UsageError(
        "--json and --emit take one matrix, and neither --jsonl nor -o NAME.jsonl, which are for several");
  const bool by_calls = options.calls && options.effort.empty() && options.problem.schedules.empty();
  if (options.check && options.effort != "none" && !by_calls)
    throw UsageError("--check is for --effort none; other efforts check all that they measure");
  if (options.single() && !options.shard.empty())
    throw UsageError("--shard takes a --list, several matrices, or results as JSON lines");
  std::vector<std::string> inputs = options.inputs.paths;
  inputs.insert(inputs.end(), options.inputs.lists.begin(), options.inputs.lists.end());
  refuse_same_files(inputs, {{"-o", options.plan_file},
                             {"--emit", options.kernel_file},
                             {"--json", options.json ? "-" : ""},
                             {"--jsonl", options.jsonl ? "-" : ""}});
}

}  // namespace

bool parse(int argc, char** argv, Options& options) {
  CLI::App app(
      "Finds the storage format and loop schedule that make a sparse operation fastest on this machine.",
      kProgram);
  app.footer(kExamples);
  add_input_options(app, options);
  add_effort_options(app, options);
  add_space_options(app, options);
  add_file_options(app, options);
  add_calibration_options(app, options);
  add_printing_options(app, options);
  add_common_options(app, kProgram, options.common);
  refuse_options_of_other_jobs(app);
  options.command = command_text(argc, argv);
  if (!parse_command_line(app, argc, argv, options.common)) return false;
  const bool any_inputs = !options.inputs.paths.empty() || !options.inputs.lists.empty();
  if (options.calibrate)
    check_calibrated(options, any_inputs);
  else
    check_tuned_or_prepared(options, any_inputs);
  return true;
}

tune::TuneOptions tune_options(const Options& options, const tune::ChosenProblem& chosen) {
  tune::TuneOptions result;
  result.problem = chosen.problem;
  result.points = chosen.points;
  result.threads = options.common.threads;
  result.compiler = options.common.compiler;
  result.seed = options.common.seed;
  result.effort = options.effort.empty() ? tune::Effort::kNormal : *tune::parse_effort(options.effort);
  result.calls = options.calls;
  result.effort_by_calls = options.calls && options.effort.empty() && chosen.points.empty();
  result.check = options.check || !options.kernel_file.empty();
  result.no_compile = options.no_compile;
  result.top = options.top;
  result.max_fill = options.max_fill;
  result.subspace = *schedule::parse_subspace(options.space);
  result.budget_s = options.budget_s;
  tune::choose_model(options.ranking, result);
  return result;
}

}  // namespace waco::apps
