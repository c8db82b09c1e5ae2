// waco-collect: measures points on many matrices and keeps the times as a dataset; joins and describes
// datasets.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "waco/base/artifact.hpp"
#include "waco/base/command_line.hpp"
#include "waco/base/counted.hpp"
#include "waco/base/machine.hpp"
#include "waco/base/signals.hpp"
#include "waco/collect/collector.hpp"
#include "waco/dataset/agreement.hpp"
#include "waco/dataset/merge.hpp"
#include "waco/dataset/summary.hpp"
#include "waco/tune/model_options.hpp"
#include "waco/tune/problem_options.hpp"

namespace {

using namespace waco;

constexpr const char* kProgram = "waco-collect";
constexpr const char* kExamples = R"(Examples:
  waco-collect --synthetic 6 --op spmv --per-matrix 20 --seed 7 -o data.jsonl
  waco-collect matrices/ --augment 2 --op spmm --rhs 256 -o spmm.jsonl
  waco-collect matrices/ --op spmv --per-matrix 15 --model models/spmv -o second.jsonl
  waco-collect graphs/ --schedule "spmv f32 | A: k:U i:C | loop: k i | par: k balanced x2" -o graphs.jsonl
  waco-collect --list train.txt --op sddmm --shard 0/4 -o data.jsonl   (writes data.0-of-4.jsonl)
  waco-collect merge data.*-of-4.jsonl -o data.jsonl.gz
  waco-collect info data.jsonl.gz
  waco-collect info first.jsonl --against second.jsonl

A run that was ended in any way is continued by the same command.

Exit codes: 0 done, or the time limit was met; 1 failed, 2 usage, 3 unreadable input,
5 compiler unusable, 6 some matrices could not be used, 7 stopped by a signal, with all records kept.)";

struct Options {
  CommonOptions common;
  tune::ProblemOptions problem;
  matrix::InputOptions inputs;
  int per_matrix = 100;
  bool clustered = false;
  int num_copies = 0;
  double censor_ratio = 4;
  double validation_share = 0.2;
  double max_fill = schedule::kMaxFill;
  double time_limit_s = 0;
  std::string model;
  std::string shard;
  std::string output;

  std::vector<std::string> merged;
  bool allow_different_machines = false;

  std::string dataset;
  std::string against;
  bool json = false;

  bool summarize_samples = false;
  bool merge_given = false;
  bool info_given = false;
  std::string command;
};

void add_collect_options(CLI::App& app, Options& options) {
  app.add_option("INPUT", options.inputs.paths, "Matrices or tensors, and folders that hold them");
  app.add_option("--list", options.inputs.lists, "File with an input a line; - is stdin")
      ->allow_extra_args(false);
  app.add_option("--synthetic", options.inputs.num_synthetic, "Generate so many matrices of all families")
      ->check(CLI::Range(1, 1000000));
  app.add_option("--augment", options.num_copies, "Reshaped copies of every matrix")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  tune::add_problem_options(app, options.problem);
  app.add_flag("--clustered", options.clustered,
               "Measure points that cluster the rows of matrices, and fixed_csr");
  app.add_option("--per-matrix", options.per_matrix, "Records of each matrix")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--censor", options.censor_ratio,
                 "Stop points slower than this many times fixed_csr after their first run (0: never)")
      ->check(number_from(0.0, 1e6))
      ->capture_default_str();
  app.add_option("--validation-share", options.validation_share, "Share of originals kept for validation")
      ->check(number_from(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--max-fill", options.max_fill, "Values a format may store per nonzero")
      ->check(number_from(1.0, 1e6))
      ->capture_default_str();
  app.add_option(
      "--model", options.model,
      "Measure what this learned model, a folder, or the best-fitting of a folder of models, ranks "
      "first, and what the closed-form model does, so that it can learn where it errs (default: "
      "none)");
  app.add_option("--time-limit", options.time_limit_s, "Seconds after which no new work starts")
      ->check(positive_number());
  app.add_option(
      "--shard", options.shard,
      "INDEX/COUNT: do one of COUNT equal parts (default: that of a task of a Slurm array, or of a step)");
  app.add_option("-o,--output", options.output, "The dataset, JSON Lines; continued when it is there");
}

bool parse(int argc, char** argv, Options& options) {
  CLI::App app("Measures formats and schedules on many matrices and keeps the times as a dataset.", kProgram);
  app.footer(kExamples);
  add_collect_options(app, options);
  CLI::App* merge = app.add_subcommand("merge", "Join datasets");
  merge->add_option("DATASET", options.merged, "Datasets, plain or gzipped")->required();
  merge->add_option("-o,--output", options.output, "The result; gzipped when its name ends in .gz")
      ->required();
  merge->add_flag("--allow-different-machines", options.allow_different_machines,
                  "Mix machines, and keep the machine of each record");
  merge->add_flag("--summarize-samples", options.summarize_samples,
                  "Of the samples of each record keep the median and the ends of its interval");
  CLI::App* info = app.add_subcommand("info", "Describe a dataset");
  info->add_option("DATASET", options.dataset, "A dataset, plain or gzipped")->required();
  info->add_option("--against", options.against,
                   "Compare with a dataset of the same points measured again: how often order differs");
  info->add_flag("--json", options.json, "Print one JSON document");
  for (CLI::App* command : {&app, merge, info}) add_common_options(*command, kProgram, options.common);
  app.require_subcommand(0, 1);
  options.command = command_text(argc, argv);
  if (!parse_command_line(app, argc, argv, options.common)) return false;
  refuse_options_before_command(app);
  options.merge_given = merge->parsed();
  options.info_given = info->parsed();
  return true;
}

ExitCode run_merge(const Options& options) {
  const std::vector<std::filesystem::path> inputs(options.merged.begin(), options.merged.end());
  const dataset::MergeSummary summary =
      dataset::merge_datasets(inputs, options.output,
                              {.allow_different_machines = options.allow_different_machines,
                               .summarize_samples = options.summarize_samples,
                               .created_by = created_by(kProgram, options.command)});
  log_written(options.output, fmt::format(": {} of {}", counted(summary.num_records, "record"),
                                          counted(inputs.size(), "dataset")));
  if (summary.num_repeated > 0)
    spdlog::warn("{} left out: an earlier dataset has the same points",
                 counted(summary.num_repeated, "record"));
  if (summary.num_renamed > 0)
    spdlog::warn("{} left out: an earlier dataset has the matrix under another name",
                 counted(summary.num_renamed, "record"));
  if (summary.num_resplit > 0)
    spdlog::warn("{} changed sides: an earlier dataset has the original on the other side of the split",
                 counted(summary.num_resplit, "record"));
  return ExitCode::kDone;
}

ExitCode run_info(const Options& options) {
  const dataset::Dataset first = dataset::load_dataset(options.dataset);
  const dataset::Summary summary = dataset::summarize(first.records);
  nlohmann::ordered_json document = to_json(summary);
  std::string text = to_text(summary);
  if (!options.against.empty()) {
    dataset::Dataset other = dataset::load_dataset(options.against);
    const size_t num_records = other.records.size();
    const std::vector<dataset::Record> second =
        dataset::records_on_machines_of(first.header, std::move(other));
    if (second.size() < num_records)
      spdlog::warn("{}: {} of other machines or compilers left out of the comparison", options.against,
                   counted(num_records - second.size(), "record"));
    for (const dataset::Order order : {dataset::Order::kTime, dataset::Order::kRatio}) {
      const dataset::Agreement agreement = dataset::compare(first.records, second, order);
      const char* key = order == dataset::Order::kTime ? "against" : "against_by_ratio";
      document[key] = to_json(agreement);
      text += to_text(agreement, order);
    }
  }
  print_to_stdout(options.json ? artifact_text(document) : text);
  return ExitCode::kDone;
}

/// Null when points of all strata are to be measured.
std::shared_ptr<const search::Learned> open_model(const Options& options,
                                                  const collect::CollectOptions& collecting) {
  if (options.model.empty() || options.model == "none") return nullptr;
  const int threads = threads_or_all(collecting.threads);
  auto learned =
      tune::open_model({.model = options.model, .index = {}, .search = {}}, collecting.problem, threads, "");
  if (!learned) throw InputError(options.model, 0, "holds no model for this op and dense size");
  if (learned->model.op() != collecting.problem.op)
    throw UsageError(fmt::format("{} is a model of {}", options.model, schedule::name(learned->model.op())));
  return learned;
}

collect::CollectOptions collect_options(const Options& options) {
  if (options.output.empty()) throw UsageError("-o is required: the dataset to write or continue");
  if (std::filesystem::path(options.output).extension() == ".gz")
    throw UsageError("a dataset is collected uncompressed; 'waco-collect merge' writes .gz");
  collect::CollectOptions result;
  result.inputs = options.inputs;
  const tune::ChosenProblem chosen = tune::choose_problem(options.problem);
  result.problem = chosen.problem;
  result.asked = chosen.points;
  result.clustered = options.clustered;
  if (options.clustered && schedule::sparse_order(chosen.problem.op) != 2)
    throw UsageError("--clustered: only rows of matrices are clustered");
  for (const schedule::SuperSchedule& point : result.asked) {
    if (point.format.skewed())
      throw UsageError(fmt::format("{}: is skewed, which no model learns from", schedule::to_text(point)));
    if (point.format.cluster_window > 0)
      throw UsageError(
          fmt::format("{}: has a window of clustered rows, which --clustered chooses for each matrix",
                      schedule::to_text(point)));
    if (point.format.clustered() && !options.clustered)
      throw UsageError(fmt::format("{}: clusters rows, which all points do (--clustered) or none",
                                   schedule::to_text(point)));
  }
  const size_t num_schedules = result.asked.size();
  if (num_schedules >= static_cast<size_t>(options.per_matrix))
    throw UsageError(fmt::format("--per-matrix {} has no room for fixed_csr and {}", options.per_matrix,
                                 counted(num_schedules, "schedule")));
  result.threads = options.common.threads;
  result.compiler = options.common.compiler;
  result.seed = options.common.seed;
  result.per_matrix = options.per_matrix;
  result.num_copies = options.num_copies;
  result.censor_ratio = options.censor_ratio;
  result.validation_share = options.validation_share;
  result.max_fill = options.max_fill;
  result.learned = open_model(options, result);
  result.shard = choose_shard(options.shard);
  result.output = options.output;
  if (result.shard.count > 1) result.output = shard_path(options.output, result.shard);
  result.created_by = created_by(kProgram, options.command);
  return result;
}

ExitCode run_collect(const Options& options, const StopToken& signals) {
  const StopToken stop = options.time_limit_s > 0 ? signals.with_budget(options.time_limit_s) : signals;
  const collect::CollectOptions collecting = collect_options(options);
  const collect::CollectSummary summary = collect::collect(collecting, stop);
  spdlog::info("{}: {}, {} of them new in {:.1f} s ({:.1f}/s), {} failed; {} complete{}",
               collecting.output.string(), counted(summary.num_before + summary.num_records, "record"),
               summary.num_records, summary.seconds,
               static_cast<double>(summary.num_records) / std::max(summary.seconds, 1e-3), summary.num_failed,
               counted(summary.num_matrices, "matrix", "matrices"),
               summary.num_in_good_order > 0
                   ? fmt::format(", {} left out for rows in a good order", summary.num_in_good_order)
                   : "");
  if (summary.num_disturbed > 0)
    spdlog::warn("{} disturbed by other work on the processors, and left out by training",
                 counted(summary.num_disturbed, "record"));
  if (summary.stopped) {
    spdlog::warn("stopped ({}); the same command continues", stop.reason());
    return signals.stop_requested() ? ExitCode::kStopped : ExitCode::kDone;
  }
  if (summary.num_in_good_order > 0 && summary.num_before + summary.num_records == 0)
    spdlog::warn("nothing to measure: the rows of no matrix are worth clustering");
  if (summary.num_unreadable == 0) return ExitCode::kDone;
  spdlog::warn("{} of the matrices could not be used", summary.num_unreadable);
  // A shard is a part: that its few matrices are all unusable says little of the list.
  return summary.num_matrices + summary.num_in_good_order > 0 || collecting.shard.count > 1
             ? ExitCode::kPartial
             : ExitCode::kInput;
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main(kProgram, [&] {
    const StopToken stop = stop_on_signals();
    Options options;
    if (!parse(argc, argv, options)) return ExitCode::kDone;
    if (options.merge_given) return run_merge(options);
    if (options.info_given) return run_info(options);
    return run_collect(options, stop);
  });
}
