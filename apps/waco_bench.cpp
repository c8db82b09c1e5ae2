// waco-bench: times a tuned plan beside the baseline and the libraries that are installed, in one process.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/bench/contest.hpp"
#include "apps/bench/html_report.hpp"
#include "apps/bench/markdown_report.hpp"
#include "apps/bench/pinning.hpp"
#include "apps/bench/record_file.hpp"
#include "apps/bench/summary.hpp"
#include "apps/bench/table.hpp"
#include "waco/base/command_line.hpp"
#include "waco/base/files.hpp"
#include "waco/base/signals.hpp"
#include "waco/matrix/read.hpp"
#include "waco/tune/plan_file.hpp"
#include "waco/tune/problem_options.hpp"

namespace {

using namespace waco;
using namespace waco::bench;

constexpr const char* kProgram = "waco-bench";
constexpr const char* kExamples = R"(Examples:
  waco-bench mesh.mtx --op spmv
  waco-bench matrices/*.mtx.gz --op spmm --rhs 32 -o spmm32.jsonl --html spmm32.html
  waco-bench mesh.mtx --plan plan.json --peers mkl,eigen
  waco-bench --list-peers
  waco-bench report spmm32.jsonl --html spmm32.html

With -o, matrices that the file already holds are skipped: a run that was stopped goes on where it was.

Exit codes: 0 done, 1 failed, 2 usage, 3 unreadable input, 4 verification failed, 5 compiler unusable,
6 some of several matrices failed.)";

struct Options {
  CommonOptions common;
  tune::ProblemOptions problem;
  std::vector<std::string> matrices;
  std::string plan_file;
  std::string effort = "normal";
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

bool parse(int argc, char** argv, Options& options) {
  CLI::App app("Times a tuned plan, fixed_csr and the installed libraries on the same matrices.", kProgram);
  app.footer(kExamples);
  app.add_option("MATRIX", options.matrices, "Matrix Market or FROSTT files, plain or gzipped");
  tune::add_problem_options(app, options.problem);
  app.add_option("--plan", options.plan_file, "Time this plan of waco-tune instead of tuning")
      ->excludes("--schedule");
  app.add_option("--effort", options.effort, "Of tuning and timing: quick, normal, full")
      ->check(CLI::IsMember({"quick", "normal", "full"}))
      ->capture_default_str();
  app.add_option("--peers", options.peers, "Libraries or contestants that take part, or none (default: all)")
      ->delimiter(',');
  app.add_flag("--list-peers", options.list_peers, "List the libraries known, and which were found");
  app.add_flag("--jsonl", options.jsonl, "Print one record a line on stdout");
  auto* html = app.add_option("--html", options.html_file, "Write a self-contained page");
  app.add_option("-o,--output", options.record_file, "Append the records to this JSON Lines file");
  auto* report = app.add_subcommand("report", "Summarise records written with -o");
  report->add_option("FILE", options.report_files, "Files of records")->required();
  report->add_option("--html", options.html_file, html->get_description());
  report->add_flag("--markdown", options.markdown, "Print Markdown tables with every matrix");
  add_common_options(app, kProgram, options.common);
  options.command = command_text(argc, argv);
  if (!parse_command_line(app, argc, argv, options.common)) return false;
  options.report = report->parsed();
  if (!options.report && !options.list_peers && options.matrices.empty())
    throw UsageError(fmt::format("MATRIX is required (see {} --help)", kProgram));
  if (options.report && !options.matrices.empty())
    throw UsageError("report takes files of records; name them after it");
  return true;
}

/// The problem and, with --plan or --schedule, the points that are timed instead of searching.
tune::ChosenProblem choose_problem(const Options& options) {
  if (options.plan_file.empty()) return tune::choose_problem(options.problem);
  const tune::Plan plan = tune::read_plan(options.plan_file);
  if (plan.parts.size() != 1)
    throw UsageError(fmt::format("{}: has {} parts; one is supported", options.plan_file, plan.parts.size()));
  tune::ProblemOptions problem = options.problem;
  problem.schedules = {schedule::to_text(plan.parts[0])};
  return tune::choose_problem(problem);
}

ContestOptions contest_options(const Options& options, const tune::ChosenProblem& chosen) {
  ContestOptions contest;
  contest.tuning.problem = chosen.problem;
  contest.tuning.points = chosen.points;
  contest.tuning.threads = options.common.threads;
  contest.tuning.compiler = options.common.compiler;
  contest.tuning.seed = options.common.seed;
  contest.tuning.effort = *tune::parse_effort(options.effort);
  contest.peers = choose_peers(all_libraries(), options.peers);
  return contest;
}

void print(const std::string& text) {
  fmt::print("{}", text);
  if (std::fflush(stdout) != 0) throw EnvironmentError("stdout can't be written");
}

/// A whole run over several matrices.
class Run {
 public:
  Run(const Options& options, const StopToken& stop)
      : options_(options), stop_(stop), arena_(contest_options(options, choose_problem(options))) {
    if (!options.record_file.empty()) file_.emplace(options.record_file, describe_machine(""));
  }

  ExitCode take() {
    size_t num_failed = 0;
    ExitCode last = ExitCode::kDone;
    for (const std::string& path : options_.matrices) {
      if (stop_()) break;
      const int code = guarded_main(kProgram, [&] { return one(path); });
      if (code == static_cast<int>(ExitCode::kCompiler)) return ExitCode::kCompiler;
      if (code != 0) last = static_cast<ExitCode>(code);
      num_failed += code != 0 ? 1 : 0;
    }
    finish();
    if (options_.matrices.size() == 1) return last;
    if (num_failed > 0) spdlog::warn("{} of {} matrices failed", num_failed, options_.matrices.size());
    return num_failed > 0 || stop_() ? ExitCode::kPartial : ExitCode::kDone;
  }

 private:
  ExitCode one(const std::string& path) {
    matrix::ReadOptions reading;
    reading.threads = arena_.options().tuning.threads;
    matrix::ReadResult input = matrix::read_tensor(path, reading);
    const tune::TuneOptions& tuning = arena_.options().tuning;
    if (file_ &&
        file_->holds(matrix::pattern_hash(input.tensor), input.tensor.name, tuning.problem, tuning.threads)) {
      spdlog::info("{}: is in {} already, skipped", path, options_.record_file);
      return ExitCode::kDone;
    }
    spdlog::info("{}: {}, {} nonzeros", path, fmt::join(input.tensor.dims, " x "),
                 input.tensor.num_nonzeros());
    Record record = arena_.hold(std::move(input.tensor), stop_);
    const nlohmann::ordered_json line = to_json(record, options_.command);
    if (options_.jsonl) print(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    if (!told_ceilings_) say(to_table(arena_.ceilings()) + "\n");
    told_ceilings_ = true;
    say(to_table(record) + "\n");
    const Entry* waco = record.find(kWaco);
    const bool verified = waco != nullptr && waco->ok();
    if (file_)
      file_->append(line, std::move(record));
    else
      records_.push_back(std::move(record));
    return verified ? ExitCode::kDone : ExitCode::kVerification;
  }

  void finish() {
    const std::vector<Record>& records = file_ ? file_->records() : records_;
    if (records.size() > 1)
      for (const auto& group : by_problem(records)) say(to_table(summarize(group)));
    if (options_.html_file.empty()) return;
    write_file_atomically(options_.html_file, html_report(records));
    spdlog::info("wrote {}", options_.html_file);
  }

  /// For people: on stdout, unless that carries records.
  void say(const std::string& text) const {
    if (!options_.jsonl) return print(text);
    if (!options_.common.quiet) fmt::print(stderr, "{}", text);
  }

  const Options& options_;
  StopToken stop_;
  Arena arena_;
  std::optional<RecordFile> file_;
  std::vector<Record> records_;  ///< without a file
  bool told_ceilings_ = false;
};

ExitCode report(const Options& options) {
  const std::vector<Record> records = read_records(options.report_files);
  if (options.markdown)
    print(markdown_report(records));
  else
    for (const auto& group : by_problem(records)) print(to_table(summarize(group)));
  if (records.empty()) spdlog::warn("no record");
  if (!options.html_file.empty()) write_file_atomically(options.html_file, html_report(records));
  return ExitCode::kDone;
}

ExitCode run(Options& options, char** argv, const StopToken& stop) {
  if (options.list_peers) {
    print(to_table(all_libraries()));
    return ExitCode::kDone;
  }
  if (options.report) return report(options);
  if (options.common.threads == 0) options.common.threads = usable_threads();
  restart_with_pinned_threads(options.common.threads, argv);
  return Run(options, stop).take();
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main(kProgram, [&] {
    release_initial_thread();
    const StopToken stop = stop_on_signals();
    Options options;
    return parse(argc, argv, options) ? run(options, argv, stop) : ExitCode::kDone;
  });
}
