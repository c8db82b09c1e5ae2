// waco-tune: finds, measures and verifies the best format and schedule for a sparse matrix or tensor.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "waco/base/command_line.hpp"
#include "waco/base/files.hpp"
#include "waco/base/machine.hpp"
#include "waco/base/shard.hpp"
#include "waco/base/signals.hpp"
#include "waco/base/version.hpp"
#include "waco/matrix/inputs.hpp"
#include "waco/matrix/read.hpp"
#include "waco/search/named.hpp"
#include "waco/tune/calibration.hpp"
#include "waco/tune/emit.hpp"
#include "waco/tune/kernel_pack.hpp"
#include "waco/tune/model_places.hpp"
#include "waco/tune/plan_file.hpp"
#include "waco/tune/problem_options.hpp"
#include "waco/tune/result_file.hpp"
#include "waco/tune/tune.hpp"

namespace {

using namespace waco;

constexpr const char* kProgram = "waco-tune";
constexpr auto kReplace = nlohmann::json::error_handler_t::replace;  // file names need not be UTF-8
constexpr const char* kExamples = R"(Examples:
  waco-tune mesh.mtx --op spmm --rhs 32
  waco-tune mesh.mtx.gz --op spmv --type f64 -o plan.json --emit kernel.cpp
  waco-tune tensor.tns --op mttkrp --json | jq .best
  waco-tune mesh.mtx --schedule "spmv f32 | A: i:U k:C | loop: i k | par: i static x2"
  zcat big.mtx.gz | waco-tune - --op sddmm --effort quick --budget 30
  waco-tune --list matrices.txt --op spmv -o results.jsonl       (run again, it does what is missing)
  waco-tune --calibrate --op spmv --minutes 5
  waco-tune --prepare 300 --op spmv          (compiles ahead what later runs will most likely measure)

Exit codes: 0 done, 1 failed, 2 usage, 3 unreadable input, 4 verification failed, 5 compiler unusable,
6 some of several matrices failed.)";

struct Options {
  CommonOptions common;
  tune::ProblemOptions problem;
  matrix::InputOptions inputs;
  std::string shard;
  std::string effort;
  std::optional<int64_t> calls;
  std::optional<int> top;
  std::optional<double> budget_s;
  double max_fill = 20;
  std::string model;
  std::string index;
  std::string search;
  std::string space = "all";
  std::string plan_file;
  std::string kernel_file;
  bool calibrate = false;
  double minutes = 5;
  bool check = false;
  int prepare = 0;
  bool json = false;
  bool jsonl = false;
  std::string command;

  /// One file, which is not looked for in folders or lists.
  bool single() const {
    return inputs.lists.empty() && inputs.paths.size() == 1 &&
           !std::filesystem::is_directory(inputs.paths[0]);
  }
};

bool parse(int argc, char** argv, Options& options) {
  CLI::App app(
      "Finds the storage format and loop schedule that make a sparse operation fastest on this machine.",
      kProgram);
  app.footer(kExamples);
  app.add_option("MATRIX", options.inputs.paths,
                 "Matrix Market or FROSTT files, plain or gzipped, or folders of them; - is stdin");
  app.add_option("--list", options.inputs.lists, "File with an input a line; - is stdin");
  app.add_option("--shard", options.shard,
                 "Part of the list to do, such as 0/4; by default the Slurm array task's");
  tune::add_problem_options(app, options.problem);
  app.add_option("--top", options.top, "Candidates to measure (default: 10; quick 4, full 24)")
      ->check(CLI::Range(1, 1000));
  app.add_option("--effort", options.effort,
                 "none (rank only: nothing is compiled or run), quick, normal, full (default: normal, or by "
                 "--calls)")
      ->check(CLI::IsMember({"none", "quick", "normal", "full"}));
  app.add_flag("--check", options.check,
               "With --effort none: compile the first point all the same and check its result");
  app.add_option("--prepare", options.prepare,
                 "Instead of tuning, compile so many kernels that are often among the best")
      ->check(CLI::Range(1, 100000));
  app.add_option("--calls", options.calls,
                 "How often the kernel will run: chooses the effort, and CSR unless a plan pays")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 60));
  app.add_option("--budget", options.budget_s, "Seconds after which no new work starts")
      ->check(CLI::PositiveNumber);
  app.add_option("--max-fill", options.max_fill, "Values a format may store per nonzero")
      ->check(CLI::Range(1.0, 1e6))
      ->capture_default_str();
  app.add_option("--model", options.model,
                 "Rank by this learned model, a folder; none: closed-form (default: the built-in one)");
  app.add_option("--index", options.index, "The model's index, a folder made by waco-index")
      ->needs("--model");
  app.add_option("--search", options.search,
                 "How points are found: exact or anns (with --index), neighbours, tpe, bandit, random")
      ->check(CLI::IsMember(search::search_names()));
  app.add_option("--space", options.space,
                 "What of a point varies: all; format, each with its default schedule; schedule, over CSR")
      ->check(CLI::IsMember({"all", "format", "schedule"}))
      ->excludes(app.get_option("--schedule"))
      ->capture_default_str();
  app.add_option("-o,--output", options.plan_file,
                 "Write the plan, a JSON document; of several matrices JSON Lines, continued when there");
  app.add_option("--emit", options.kernel_file, "Write the best kernel, one self-contained C++ file");
  auto* calibrate =
      app.add_flag("--calibrate", options.calibrate,
                   "Measure for some minutes and fit the built-in model (of --op, or of every op) "
                   "to this machine");
  app.add_option("--minutes", options.minutes, "Of measuring for each op that is calibrated")
      ->needs(calibrate)
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  auto* json = app.add_flag("--json", options.json, "Print the plan document on stdout");
  app.add_flag("--jsonl", options.jsonl, "Print one document a line on stdout")->excludes(json);
  add_common_options(app, kProgram, options.common);
  options.command = command_text(argc, argv);
  if (!parse_command_line(app, argc, argv, options.common)) return false;
  if (options.calibrate) return true;
  const bool any_inputs = !options.inputs.paths.empty() || !options.inputs.lists.empty();
  if (options.prepare > 0 && any_inputs) throw UsageError("--prepare takes no matrix");
  if (options.prepare == 0 && !any_inputs)
    throw UsageError("name a matrix, or --list a file that does (--help tells more)");
  if (!options.single() && (options.json || !options.kernel_file.empty()))
    throw UsageError("--json and --emit take one matrix; for several use --jsonl and -o");
  if (options.single() && !options.shard.empty())
    throw UsageError("--shard takes a --list or several matrices");
  return true;
}

/// Opens the model that is asked for, or else the one there is for the op, unless it has never seen dense
/// operands of about this size. None: the closed-form model ranks.
void choose_model(const Options& options, tune::TuneOptions& tuning) {
  tuning.search = options.search.empty() ? "neighbours" : options.search;
  if (options.model == "none") return;
  const bool given = !options.model.empty();
  const auto place =
      given ? tune::ModelPlace{options.model, options.index} : tune::find_model(tuning.problem.op);
  if (!place) return;
  const int threads = tuning.threads > 0 ? tuning.threads : usable_threads();
  auto learned = tune::Learned::open(place->model, place->index, threads);
  if (!given && !learned->has_seen(tuning.problem.rhs)) {
    spdlog::info("{}: was not trained on a dense size like {}; the closed-form model ranks",
                 place->model.string(), tuning.problem.rhs);
    return;
  }
  tuning.learned = std::move(learned);
  if (options.search.empty() && !place->index.empty()) tuning.search = "exact";
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
  result.top = options.top;
  result.max_fill = options.max_fill;
  result.subspace = *schedule::parse_subspace(options.space);
  result.budget_s = options.budget_s;
  choose_model(options, result);
  return result;
}

void print_document(const std::string& text) {
  fmt::print("{}\n", text);
  if (std::fflush(stdout) != 0) throw EnvironmentError("stdout can't be written");
}

void write(const Options& options, const matrix::SparseTensor& tensor, const tune::TuneResult& result) {
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
}

/// A given point that is wrong is the answer to the question asked; a searched one is merely not the winner.
ExitCode exit_code(const tune::TuneResult& result, bool points_given) {
  if (result.verdict && !result.verdict->chosen) return ExitCode::kDone;
  bool any_ok = !points_given;
  for (const tune::Candidate& candidate : result.candidates) {
    const measure::Status status = candidate.measurement.status;
    if (points_given && candidate.measured &&
        (status == measure::Status::kWrong || status == measure::Status::kCrash ||
         status == measure::Status::kTimeout))
      return ExitCode::kVerification;
    any_ok = any_ok || candidate.measurement.ok();
  }
  const bool answered = result.best && (result.best->verified || result.effort == tune::Effort::kNone);
  if (answered) return any_ok ? ExitCode::kDone : ExitCode::kFailed;
  return result.complete ? ExitCode::kVerification : ExitCode::kFailed;
}

struct Tuned {
  matrix::SparseTensor tensor;
  tune::TuneResult result;
};

Tuned tune_item(const Options& options, const matrix::CorpusItem& item, const tune::TuneOptions& tuning,
                const StopToken& stop) {
  const auto start = std::chrono::steady_clock::now();
  matrix::ReadOptions reading;
  reading.threads = options.common.threads;
  matrix::ReadResult input = matrix::read_item(item, reading);
  const double read_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (const std::string& note : input.notes) spdlog::info("{}: {}", item.source, note);
  spdlog::info("{}: {}, {} nonzeros, read in {:.2f} s", item.source, fmt::join(input.tensor.dims, " x "),
               input.tensor.num_nonzeros(), read_s);
  Tuned tuned{std::move(input.tensor), {}};
  tuned.result = tune::tune(tuned.tensor, tuning, stop);
  tuned.result.seconds.read = read_s;
  tuned.result.seconds.total += read_s + tuned.result.seconds.load;
  if (!options.common.quiet) fmt::print(stderr, "{}", tune::to_table(tuned.result));
  return tuned;
}

ExitCode tune_one(const Options& options, const tune::TuneOptions& tuning, const StopToken& stop) {
  const Tuned tuned = tune_item(options, matrix::file_item(options.inputs.paths[0]), tuning, stop);
  write(options, tuned.tensor, tuned.result);
  return exit_code(tuned.result, !tuning.points.empty());
}

/// The inputs of this process, and where their results go.
struct Batch {
  std::vector<matrix::CorpusItem> items;
  std::unique_ptr<tune::ResultFile> file;  ///< null without -o
};

Batch gather(const Options& options, const tune::TuneOptions& tuning) {
  Shard shard;
  if (!options.shard.empty()) {
    shard = parse_shard(options.shard);
  } else if (const auto task = shard_of_array_task()) {
    shard = *task;
    spdlog::info("shard {}/{}, from the Slurm array task", shard.index, shard.count);
  }
  Batch batch;
  matrix::InputOptions inputs = options.inputs;
  inputs.missing_are_errors = false;  // but failures of one input
  const auto all =
      matrix::gather_items(inputs, schedule::sparse_order(tuning.problem.op), options.common.seed);
  for (size_t place = 0; place < all.size(); ++place)
    if (shard.owns(place)) batch.items.push_back(all[place]);
  if (options.plan_file.empty()) return batch;
  std::filesystem::path file = options.plan_file;
  if (shard.count > 1) file = shard_path(file, shard);
  batch.file = std::make_unique<tune::ResultFile>(file, describe_machine(tuning.compiler));
  return batch;
}

/// Every input that has no result yet; one that fails is reported and the rest goes on.
ExitCode tune_several(const Options& options, const tune::TuneOptions& tuning, const StopToken& stop) {
  Batch batch = gather(options, tuning);
  size_t number = 0, num_failed = 0, num_there = 0;
  for (const matrix::CorpusItem& item : batch.items) {
    ++number;
    if (batch.file && batch.file->holds(item.source, tuning)) {
      ++num_there;
      continue;
    }
    if (stop.stop_requested()) return ExitCode::kPartial;
    spdlog::info("[{}/{}] {}", number, batch.items.size(), item.source);
    tune::ListedResult listed{item.source, {}, nullptr};
    listed.outcome = guarded(kProgram, [&] {
      const Tuned tuned = tune_item(options, item, tuning, stop);
      listed.document = tune::plan_document(tuned.result, kProgram, options.command);
      return exit_code(tuned.result, !tuning.points.empty());
    });
    if (listed.outcome.code == ExitCode::kCompiler) return ExitCode::kCompiler;
    if (stop.stop_requested()) return ExitCode::kPartial;  // the next run does it whole
    num_failed += listed.outcome.code != ExitCode::kDone ? 1 : 0;
    const auto line = tune::listed_document(listed, tuning, kProgram, options.command);
    if (batch.file) batch.file->append(line);
    if (options.jsonl) print_document(line.dump(-1, ' ', false, kReplace));
  }
  spdlog::info("{} of {} inputs tuned, {} had a result already, {} failed",
               batch.items.size() - num_there - num_failed, batch.items.size(), num_there, num_failed);
  return num_failed > 0 ? ExitCode::kPartial : ExitCode::kDone;
}

ExitCode calibrate_models(const Options& options, const StopToken& stop) {
  for (const schedule::Op op : tune::ops_to_calibrate(options.problem.op, options.model)) {
    tune::CalibrationOptions calibration;
    calibration.op = op;
    calibration.start = tune::calibration_start(op, options.model);
    calibration.matrices = options.inputs.paths;
    calibration.lists = options.inputs.lists;
    calibration.minutes = options.minutes;
    calibration.threads = options.common.threads;
    calibration.compiler = options.common.compiler;
    calibration.quiet = options.common.quiet;
    const tune::CalibrationResult result = tune::calibrate(calibration, stop);
    if (!options.common.quiet) fmt::print(stderr, "{}", tune::to_text(op, result));
  }
  return ExitCode::kDone;
}

/// Fills the kernel cache; a run that is stopped is continued by the next.
ExitCode prepare(const Options& options, const tune::TuneOptions& tuning, const StopToken& stop) {
  tune::PackOptions pack;
  pack.num_kernels = options.prepare;
  pack.num_patterns = std::clamp(options.prepare / 4, 4, pack.num_patterns);
  const tune::PackReport report = tune::prepare_kernels(tuning, pack, stop);
  spdlog::info("{} kernels compiled in {:.1f} s, {} were there, {} failed; they take {:.1f} MB",
               report.num_compiled, report.compiling_s, report.num_there, report.num_failed,
               static_cast<double>(report.bytes) * 1e-6);
  return report.complete ? ExitCode::kDone : ExitCode::kPartial;
}

ExitCode run(const Options& options, const StopToken& stop) {
  if (options.calibrate) return calibrate_models(options, stop);
  const tune::ChosenProblem chosen = tune::choose_problem(options.problem);
  const tune::TuneOptions tuning = tune_options(options, chosen);
  if (options.prepare > 0) return prepare(options, tuning, stop);
  if (options.single()) return tune_one(options, tuning, stop);
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
