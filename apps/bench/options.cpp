// The command line of waco-bench.
#include "apps/bench/options.hpp"

#include <CLI/CLI.hpp>

#include "waco/base/error.hpp"

namespace waco::bench {
namespace {

constexpr const char* kExamples = R"(Examples:
  waco-bench mesh.mtx --op spmv
  waco-bench matrices/*.mtx.gz --op spmm --rhs 32 -o spmm32.jsonl --html spmm32.html
  waco-bench mesh.mtx --plan plan.json --peers mkl,eigen
  waco-bench matrices/*.mtx.gz --plan results.jsonl       (of waco-tune matrices/*.mtx.gz --op spmv -o results.jsonl)
  waco-bench --list-peers
  waco-bench report spmm32.jsonl --html spmm32.html

With -o, matrices that the file already holds are skipped: a run that was stopped goes on where it was.

Exit codes: 0 done, 1 failed, 2 usage, 3 unreadable input, 4 verification failed, 5 compiler unusable,
6 some of several matrices failed, 7 stopped by a signal before all of them were done.)";

void check(const Options& options) {
  if (options.report)
    return refuse_same_files(options.report_files,
                             {{"--html", options.html_file}, {"--markdown", options.markdown ? "-" : ""}});
  if (!options.list_peers && options.matrices.empty())
    throw UsageError(fmt::format("MATRIX is required (see {} --help)", kProgram));
  std::vector<std::string> inputs = options.matrices;
  inputs.push_back(options.plan_file);
  refuse_same_files(
      inputs,
      {{"-o", options.record_file}, {"--html", options.html_file}, {"--jsonl", options.jsonl ? "-" : ""}});
  if (options.problem.schedules.size() > 1)
    throw UsageError(
        "--schedule names the one plan that is timed; give it once (waco-tune compares several)");
  const bool given = !options.plan_file.empty() || !options.problem.schedules.empty();
  const bool searched =
      !options.ranking.model.empty() || !options.ranking.search.empty() || options.top || options.budget_s;
  if (given && searched)
    throw UsageError(
        "--model, --search, --top and --budget are of tuning; nothing is tuned with --plan or --schedule");
}

void add_tuning_options(CLI::App& app, Options& options) {
  app.add_option(
         "--plan", options.plan_file,
         "Time what waco-tune found instead of tuning: a plan for all matrices, or the results of a list")
      ->excludes("--schedule");
  app.add_option("--effort", options.effort, "Of tuning and timing: quick, normal, full")
      ->check(CLI::IsMember({"quick", "normal", "full"}))
      ->capture_default_str();
  tune::add_model_options(app, options.ranking);
  app.add_option("--top", options.top, "Candidates to measure (default: 10; quick 4, full 24)")
      ->check(CLI::Range(1, 1000));
  app.add_option("--budget", options.budget_s, "Seconds of tuning a matrix after which no new work starts")
      ->check(positive_number());
}

}  // namespace

bool parse(int argc, char** argv, Options& options) {
  CLI::App app("Times a tuned plan, fixed_csr and the installed libraries on the same matrices.", kProgram);
  app.footer(kExamples);
  app.add_option("MATRIX", options.matrices,
                 "Matrix Market or FROSTT files, plain or gzipped, or archives of SuiteSparse");
  tune::add_problem_options(app, options.problem);
  app.get_option("--schedule")->description("Time this SuperSchedule, in its text form, instead of tuning");
  add_tuning_options(app, options);
  app.add_option("--peers", options.peers, "Libraries or contestants that take part, or none (default: all)")
      ->delimiter(',')
      ->allow_extra_args(false);
  auto* list =
      app.add_flag("--list-peers", options.list_peers, "List the libraries known, and which were found");
  app.add_flag("--jsonl", options.jsonl, "Print one record a line on stdout");
  auto* html = app.add_option("--html", options.html_file, "Write a self-contained page");
  app.add_option("-o,--output", options.record_file, "Append the records to this JSON Lines file");
  const std::vector<CLI::Option*> of_contests = app.get_options();
  auto* report = app.add_subcommand("report", "Summarise records written with -o");
  report->add_option("FILE", options.report_files, "Files of records")->required();
  report->add_option("--html", options.html_file, html->get_description());
  report->add_flag("--markdown", options.markdown, "Print Markdown tables with every matrix");
  for (CLI::App* command : {&app, report}) add_common_options(*command, kProgram, options.common);
  options.command = command_text(argc, argv);
  if (!parse_command_line(app, argc, argv, options.common)) return false;
  refuse_options_before_command(app);
  for (const CLI::Option* option : of_contests)
    if (options.list_peers && option->count() > 0 && option != list)
      throw UsageError(fmt::format("--list-peers takes no {}", option->get_name()));
  options.report = report->parsed();
  check(options);
  return true;
}

ContestOptions contest_options(const Options& options, const std::optional<tune::TunedPlans>& plans) {
  ContestOptions contest;
  tune::TuneOptions& tuning = contest.tuning;
  tuning.threads = options.common.threads;
  tuning.compiler = options.common.compiler;
  tuning.seed = options.common.seed;
  tuning.effort = *tune::parse_effort(options.effort);
  tuning.top = options.top;
  tuning.budget_s = options.budget_s;
  if (plans) {
    tuning.problem = plans->choose_problem(options.problem);
  } else {
    tune::ChosenProblem chosen = tune::choose_problem(options.problem);
    tuning.problem = chosen.problem;
    tuning.points = std::move(chosen.points);
    if (tuning.points.empty()) tune::choose_model(options.ranking, tuning);
  }
  contest.peers = choose_peers(all_libraries(), options.peers);
  return contest;
}

}  // namespace waco::bench
