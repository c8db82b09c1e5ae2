// waco-train: learns a cost model from datasets, and judges one.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "waco/base/artifact.hpp"
#include "waco/base/command_line.hpp"
#include "waco/base/file_replacement.hpp"
#include "waco/base/files.hpp"
#include "waco/base/machine.hpp"
#include "waco/base/signals.hpp"
#include "waco/train/memory.hpp"
#include "waco/train/report.hpp"
#include "waco/train/training.hpp"

namespace {

using namespace waco;

constexpr const char* kProgram = "waco-train";
constexpr double kHighestLearningRate = 1;  ///< beyond it weights soon are no numbers

constexpr const char* kExamples = R"(Examples:
  waco-train spmv.jsonl.gz --matrices matrices/ -o models/spmv
  waco-train spmv.jsonl.gz --matrices list.txt --extractor waconet --epochs 20 -o models/spmv-waconet
  waco-train spmv.jsonl.gz --matrices matrices/ --plot curves.html --json -o models/spmv > report.json
  waco-train mine.jsonl --matrices mine/ --init models/spmv -o models/spmv-mine
  waco-train evaluate models/spmv other.jsonl.gz --matrices matrices/

A run that was ended by a signal or by --time-limit leaves its best weights; with --resume the same command
continues it.

Exit codes: 0 done, or ended by a signal with a model written; 1 failed, 2 usage, 3 unreadable input.)";

struct Options {
  CommonOptions common;
  std::vector<std::string> datasets;
  std::vector<std::string> matrices;
  std::string output;
  std::string extractor = "pyramid";
  std::string loss = "rank";
  std::optional<int> epochs;
  std::optional<double> learning_rate;
  std::optional<int> patience;
  std::vector<std::string> settings;
  std::optional<uint64_t> split_seed;
  double validation_share = 0.2;
  double time_limit_s = 0;
  bool resume = false;
  std::string init;
  bool freeze_embeddings = false;
  std::string plot;
  bool json = false;

  std::string model;  ///< to evaluate
  bool all = false;
  bool evaluate_given = false;
  std::string command;
};

void add_data_options(CLI::App& app, Options& options) {
  app.add_option("--matrices", options.matrices,
                 "Where the datasets' matrices are: a folder, file, or list with one of these a line; may be "
                 "repeated")
      ->allow_extra_args(false);
  app.add_flag("--json", options.json, "Print the report on stdout, one document");
  app.add_option("--split", options.split_seed,
                 "Divide originals anew, by this seed, not as the records say");
  app.add_option("--validation-share", options.validation_share, "Share of originals judged on, with --split")
      ->needs("--split")
      ->check(number_from(0.0, 0.9))
      ->capture_default_str();
}

bool parse(int argc, char** argv, Options& options) {
  CLI::App app("Learns from datasets which formats and schedules are fast on which patterns.", kProgram);
  app.footer(kExamples);
  app.add_option("DATASET", options.datasets, "Datasets of one op, plain or gzipped");
  app.add_option("-o,--output", options.output, "The model folder to write");
  app.add_option("--extractor", options.extractor,
                 "What looks at patterns: pyramid, human, dense_conv, minkowski, waconet")
      ->capture_default_str();
  app.add_option("--loss", options.loss, "rank (pairwise hinge) or l2 (squared error of log times)")
      ->check(CLI::IsMember({"rank", "l2"}))
      ->capture_default_str();
  app.add_option("--epochs", options.epochs,
                 "Passes over the training matrices (default: by extractor and --init)")
      ->check(CLI::Range(1, 100000));
  app.add_option("--lr", options.learning_rate, "Highest learning rate (default: by extractor and --init)")
      ->check(positive_number_to(kHighestLearningRate));
  app.add_option("--patience", options.patience,
                 "Stop after so many epochs without a better validation; 0: never (default: by extractor)")
      ->check(CLI::Range(0, 100000));
  app.add_option("--set", options.settings,
                 "NAME=NUMBER: another value for a number of the training settings")
      ->allow_extra_args(false);
  app.add_option("--time-limit", options.time_limit_s, "Seconds after which training ends")
      ->check(positive_number());
  app.add_flag("--resume", options.resume, "Continue the run that the model folder has a checkpoint of");
  app.add_option("--init", options.init, "Start from the weights of this model folder");
  app.add_flag("--freeze-embeddings", options.freeze_embeddings,
               "Train only the predictor; patterns and points are embedded as the --init model does")
      ->needs("--init");
  app.add_option("--plot", options.plot, "Write curves over the epochs, an HTML page");
  add_data_options(app, options);
  CLI::App* evaluate = app.add_subcommand("evaluate", "Judge a model on the validation matrices of datasets");
  evaluate->add_option("MODEL", options.model, "A model folder")->required();
  evaluate->add_option("DATASET", options.datasets, "Datasets of its op")->required();
  evaluate->add_flag("--all", options.all, "Judge on training matrices too");
  add_data_options(*evaluate, options);
  for (CLI::App* command : {&app, evaluate}) {
    add_common_options(*command, kProgram, options.common);
    command->remove_option(command->get_option("--compiler"));  // nothing is compiled
  }
  app.require_subcommand(0, 1);
  options.command = command_text(argc, argv);
  if (!parse_command_line(app, argc, argv, options.common)) return false;
  options.evaluate_given = evaluate->parsed();
  refuse_options_before_command(app);
  return true;
}

train::DataOptions data_options(const Options& options) {
  if (options.datasets.empty()) throw UsageError("name at least one dataset");
  train::DataOptions data;
  data.datasets.assign(options.datasets.begin(), options.datasets.end());
  data.matrices = options.matrices;
  if (options.split_seed) data.resplit = train::Resplit{*options.split_seed, options.validation_share};
  data.cache = cache_folder_if_any();
  data.threads = threads_or_all(options.common.threads);
  return data;
}

nlohmann::json settings(const Options& options) {
  nlohmann::json numbers = nlohmann::json::object();
  for (const std::string& text : options.settings) {
    const size_t equals = text.find('=');
    const std::string value = equals == std::string::npos ? "" : text.substr(equals + 1);
    size_t used = 0;
    double number = 0;
    try {
      number = std::stod(value, &used);
    } catch (const std::exception&) {
      used = std::string::npos;
    }
    if (value.empty() || used != value.size())
      throw UsageError(fmt::format("--set {}: is not of the form NAME=NUMBER", text));
    numbers[text.substr(0, equals)] = number;
  }
  return numbers;
}

train::TrainingOptions training_options(const Options& options) {
  if (options.output.empty()) throw UsageError("-o is required: the model folder to write");
  train::TrainingOptions result;
  result.data = data_options(options);
  result.output = options.output;
  result.extractor = options.extractor;
  result.loss = options.loss;
  result.epochs = options.epochs;
  result.learning_rate = options.learning_rate;
  result.patience = options.patience;
  result.tweaks = settings(options);
  result.seed = options.common.seed;
  result.resume = options.resume;
  result.init = options.init;
  result.freeze_embeddings = options.freeze_embeddings;
  result.created_by = created_by(kProgram, options.command);
  return result;
}

void print_json(const Options& options, const nlohmann::ordered_json& report) {
  if (options.json) print_to_stdout(artifact_text(report));
}

void print_report(const Options& options, const nlohmann::ordered_json& report) {
  if (!options.common.quiet) print_to_stderr(train::to_table(report));
  print_json(options, report);
}

ExitCode run_evaluate(const Options& options, const StopToken& stop) {
  print_report(options, train::run_evaluation(options.model, data_options(options), options.all, stop));
  return ExitCode::kDone;
}

/// Before hours of training are spent.
void check_outputs(const Options& options) {
  std::vector<std::string> inputs = options.datasets;
  inputs.insert(inputs.end(), options.matrices.begin(), options.matrices.end());
  // A training that is ended early could not go on from weights that are no longer there.
  if (!options.init.empty()) inputs.push_back(options.init);
  refuse_same_files(inputs,
                    {{"-o", options.output}, {"--plot", options.plot}, {"--json", options.json ? "-" : ""}});
  if (!options.plot.empty()) check_can_be_written(options.plot);
}

/// A page that can't be written does not take the report with it.
ExitCode plot(const Options& options, const nlohmann::ordered_json& report) {
  if (options.plot.empty()) return ExitCode::kDone;
  return guarded(kProgram,
                 [&] {
                   write_file_atomically(options.plot, train::curves_page(report));
                   log_written(options.plot);
                   return ExitCode::kDone;
                 })
      .code;
}

ExitCode run_train(const Options& options, StopToken stop) {
  const train::TrainingOptions training = training_options(options);
  check_outputs(options);
  if (options.time_limit_s > 0) stop = stop.with_budget(options.time_limit_s);
  const nlohmann::ordered_json report = train::run_training(training, stop);
  if (report.at("epochs").empty()) {
    spdlog::info("{} is complete, nothing is left to do; without --resume it is trained anew",
                 options.output);
    print_json(options, report);
    return ExitCode::kDone;
  }
  const ExitCode plotted = plot(options, report);
  print_report(options, report);
  spdlog::info("wrote {}", options.output);
  const std::string index = options.output + "/index";
  if (std::filesystem::exists(index))
    spdlog::warn("{1} is of the model that was there before; make it anew: waco-index {0} --from {1} -o {1}",
                 options.output, index);
  if (!report.at("complete").get<bool>()) spdlog::warn("stopped ({}); --resume continues", stop.reason());
  return plotted;
}

}  // namespace

int main(int argc, char** argv) {
  train::keep_freed_memory();
  return guarded_main(kProgram, [&] {
    const StopToken stop = stop_on_signals();
    Options options;
    if (!parse(argc, argv, options)) return ExitCode::kDone;
    return options.evaluate_given ? run_evaluate(options, stop) : run_train(options, stop);
  });
}
