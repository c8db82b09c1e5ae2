// waco-tune: finds, measures and verifies the best format and schedule for a sparse matrix or tensor.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "waco/base/command_line.hpp"
#include "waco/base/files.hpp"
#include "waco/base/signals.hpp"
#include "waco/base/version.hpp"
#include "waco/matrix/read.hpp"
#include "waco/tune/emit.hpp"
#include "waco/tune/plan_file.hpp"
#include "waco/tune/problem_options.hpp"
#include "waco/tune/tune.hpp"

namespace {

using namespace waco;

constexpr const char* kProgram = "waco-tune";
constexpr const char* kExamples = R"(Examples:
  waco-tune mesh.mtx --op spmm --rhs 32
  waco-tune mesh.mtx.gz --op spmv --type f64 -o plan.json --emit kernel.cpp
  waco-tune tensor.tns --op mttkrp --json | jq .best
  waco-tune mesh.mtx --schedule "spmv f32 | A: i:U k:C | loop: i k | par: i static x2"
  zcat big.mtx.gz | waco-tune - --op sddmm --effort quick --budget 30

Exit codes: 0 done, 1 failed, 2 usage, 3 unreadable input, 4 verification failed, 5 compiler unusable,
6 some of several matrices failed.)";

struct Options {
  CommonOptions common;
  tune::ProblemOptions problem;
  std::vector<std::string> matrices;
  std::string effort = "normal";
  std::optional<int> top;
  std::optional<double> budget_s;
  double max_fill = 20;
  std::string plan_file;
  std::string kernel_file;
  bool json = false;
  bool jsonl = false;
  std::string command;
};

bool parse(int argc, char** argv, Options& options) {
  CLI::App app(
      "Finds the storage format and loop schedule that make a sparse operation fastest on this machine.",
      kProgram);
  app.footer(kExamples);
  app.add_option("MATRIX", options.matrices, "Matrix Market or FROSTT file, plain or gzipped; - is stdin")
      ->required();
  tune::add_problem_options(app, options.problem);
  app.add_option("--top", options.top, "Candidates to measure (default: 10; quick 4, full 24)")
      ->check(CLI::Range(1, 1000));
  app.add_option("--effort", options.effort, "none (rank and check, no timing), quick, normal, full")
      ->check(CLI::IsMember({"none", "quick", "normal", "full"}))
      ->capture_default_str();
  app.add_option("--budget", options.budget_s, "Seconds after which no new work starts")
      ->check(CLI::PositiveNumber);
  app.add_option("--max-fill", options.max_fill, "Values a format may store per nonzero")
      ->check(CLI::Range(1.0, 1e6))
      ->capture_default_str();
  app.add_option("-o,--output", options.plan_file, "Write the plan, a JSON document");
  app.add_option("--emit", options.kernel_file, "Write the best kernel, one self-contained C++ file");
  auto* json = app.add_flag("--json", options.json, "Print the plan document on stdout");
  app.add_flag("--jsonl", options.jsonl, "Print one document a line on stdout")->excludes(json);
  add_common_options(app, kProgram, options.common);
  options.command = command_text(argc, argv);
  if (!parse_command_line(app, argc, argv, options.common)) return false;
  if (options.matrices.size() > 1 &&
      (options.json || !options.plan_file.empty() || !options.kernel_file.empty()))
    throw UsageError("--json, -o and --emit take one matrix; for several use --jsonl");
  return true;
}

tune::TuneOptions tune_options(const Options& options, const tune::ChosenProblem& chosen) {
  tune::TuneOptions result;
  result.problem = chosen.problem;
  result.points = chosen.points;
  result.threads = options.common.threads;
  result.compiler = options.common.compiler;
  result.seed = options.common.seed;
  result.effort = *tune::parse_effort(options.effort);
  result.top = options.top;
  result.max_fill = options.max_fill;
  result.budget_s = options.budget_s;
  return result;
}

void print_document(const std::string& text) {
  fmt::print("{}\n", text);
  if (std::fflush(stdout) != 0) throw EnvironmentError("stdout can't be written");
}

void write(const Options& options, const matrix::SparseTensor& tensor, const tune::TuneResult& result) {
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;  // file names need not be UTF-8
  const nlohmann::ordered_json document = tune::plan_document(result, kProgram, options.command);
  if (!options.plan_file.empty()) {
    write_file_atomically(options.plan_file, document.dump(2, ' ', false, kReplace) + "\n");
    spdlog::info("wrote {}", options.plan_file);
  }
  if (!options.kernel_file.empty() && result.best && result.best->verified) {
    write_file_atomically(options.kernel_file, tune::emit_best(tensor, result, version_line(kProgram)));
    spdlog::info("wrote {}", options.kernel_file);
  }
  if (options.json) print_document(document.dump(2, ' ', false, kReplace));
  if (options.jsonl) print_document(document.dump(-1, ' ', false, kReplace));
  if (!options.common.quiet) fmt::print(stderr, "{}", tune::to_table(result));
}

/// A given point that is wrong is the answer to the question asked; a searched one is merely not the winner.
ExitCode exit_code(const tune::TuneResult& result, bool points_given) {
  bool any_ok = !points_given;
  for (const tune::Candidate& candidate : result.candidates) {
    const measure::Status status = candidate.measurement.status;
    if (points_given && candidate.measured &&
        (status == measure::Status::kWrong || status == measure::Status::kCrash ||
         status == measure::Status::kTimeout))
      return ExitCode::kVerification;
    any_ok = any_ok || candidate.measurement.ok();
  }
  if (result.best && result.best->verified) return any_ok ? ExitCode::kDone : ExitCode::kFailed;
  return result.complete ? ExitCode::kVerification : ExitCode::kFailed;
}

ExitCode tune_one(const Options& options, const std::string& path, const tune::TuneOptions& tuning,
                  const StopToken& stop) {
  const auto start = std::chrono::steady_clock::now();
  matrix::ReadOptions reading;
  reading.threads = options.common.threads;
  const matrix::ReadResult input = matrix::read_tensor(path, reading);
  const double read_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (const std::string& note : input.notes) spdlog::info("{}: {}", path, note);
  spdlog::info("{}: {}, {} nonzeros, read in {:.2f} s", path, fmt::join(input.tensor.dims, " x "),
               input.tensor.num_nonzeros(), read_s);
  tune::TuneResult result = tune::tune(input.tensor, tuning, stop);
  result.seconds.read = read_s;
  result.seconds.total += read_s;
  write(options, input.tensor, result);
  return exit_code(result, !tuning.points.empty());
}

/// Every matrix; one that fails is reported and the rest goes on.
ExitCode tune_several(const Options& options, const tune::TuneOptions& tuning, const StopToken& stop) {
  size_t num_failed = 0;
  for (const std::string& path : options.matrices) {
    if (stop.stop_requested()) return ExitCode::kPartial;
    const int code = guarded_main(kProgram, [&] { return tune_one(options, path, tuning, stop); });
    if (code == static_cast<int>(ExitCode::kCompiler)) return ExitCode::kCompiler;
    num_failed += code != 0 ? 1 : 0;
  }
  if (num_failed > 0) spdlog::warn("{} of {} matrices failed", num_failed, options.matrices.size());
  return num_failed > 0 ? ExitCode::kPartial : ExitCode::kDone;
}

ExitCode run(const Options& options, const StopToken& stop) {
  const tune::ChosenProblem chosen = tune::choose_problem(options.problem);
  const tune::TuneOptions tuning = tune_options(options, chosen);
  if (options.matrices.size() == 1) return tune_one(options, options.matrices[0], tuning, stop);
  return tune_several(options, tuning, stop);
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main(kProgram, [&] {
    const StopToken stop = stop_on_signals();
    Options options;
    return parse(argc, argv, options) ? run(options, stop) : ExitCode::kDone;
  });
}
