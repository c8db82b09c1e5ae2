// What tuning without measuring costs: tune_perf --op spmv FILE...
//   in runs of fixed_csr: features, search, and packing the plan that is found
//   the whole program, from its start to its end, over reading the file
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "stopwatch.hpp"
#include "waco/base/command_line.hpp"
#include "waco/base/machine.hpp"
#include "waco/base/process.hpp"
#include "waco/base/program.hpp"
#include "waco/matrix/read.hpp"
#include "waco/measure/session.hpp"
#include "waco/schedule/super_schedule.hpp"

using namespace waco;
using namespace waco::perf;
using nlohmann::json;

namespace {

constexpr double kLimit_s = 3600;  // of one run of a program

struct Options {
  CommonOptions common;
  std::vector<std::string> matrices;
  std::string op = "spmv";
  std::string effort = "none";
  int runs = 5;
  bool only_read = false;
};

/// One run of the program; times in milliseconds.
struct Run {
  double wall = 0;
  json document;
  double stage(const char* name) const { return 1e3 * document.at("stages_s").at(name).get<double>(); }
};

/// What a program beside this one prints, run on the threads and with the compiler of this one.
std::string output_of(const std::string& program, const std::vector<std::string>& own_arguments,
                      const Options& options) {
  std::vector<std::string> arguments{(program_folder() / program).string(), "--threads",
                                     std::to_string(options.common.threads)};
  if (!options.common.compiler.empty())
    arguments.insert(arguments.end(), {"--compiler", options.common.compiler});
  arguments.insert(arguments.end(), own_arguments.begin(), own_arguments.end());
  const RunResult result = run_process(arguments, {.timeout_s = kLimit_s});
  if (result.timed_out) throw EnvironmentError(fmt::format("{} ran for more than {} s", program, kLimit_s));
  if (!result.ok()) throw EnvironmentError(fmt::format("{}: {}", fmt::join(arguments, " "), result.err));
  return result.out;
}

Run run_once(const Options& options, const std::string& matrix) {
  Run run;
  std::string out;
  run.wall =
      1e3 * seconds_of([&] {
        out = output_of("waco-tune", {matrix, "--op", options.op, "--effort", options.effort, "--json", "-q"},
                        options);
      });
  run.document = json::parse(out);
  return run;
}

/// The median one by wall time, after one that fills caches.
Run median_run(const Options& options, const std::string& matrix) {
  run_once(options, matrix);
  std::vector<Run> runs;
  for (int n = 0; n < options.runs; ++n) runs.push_back(run_once(options, matrix));
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.wall < b.wall; });
  return runs[runs.size() / 2];
}

/// Milliseconds of reading the file, with nothing beside it. In the program the model is opened meanwhile.
double reading_ms(const Options& options, const std::string& matrix) {
  matrix::ReadOptions reading;
  reading.threads = options.common.threads;
  matrix::ReadResult result;
  return 1e3 * seconds_of([&] { result = matrix::read_tensor(matrix, reading); });
}

/// The median of processes that read and do nothing else: memory comes fresh from the system in each, as it
/// does for a program that reads once.
double median_reading_ms(const Options& options, const std::string& matrix) {
  std::vector<double> times;
  for (int n = 0; n < options.runs; ++n)
    times.push_back(std::stod(output_of("tune_perf", {"--only-read", matrix}, options)));
  return measure::estimate_median(times).median;
}

struct Cost {
  double runs = 0;   ///< of fixed_csr
  double reads = 0;  ///< of the file
};

Cost report(const Options& options, const std::string& matrix) {
  const Run run = median_run(options, matrix);
  const schedule::SuperSchedule plan = schedule::parse(run.document.at("best").at("plan").get<std::string>());
  const matrix::SparseTensor tensor = matrix::read_tensor(matrix, {}).tensor;
  measure::MeasureOptions measuring;
  measuring.threads = options.common.threads;
  measuring.compiler = options.common.compiler;
  measure::Session session(tensor, plan.problem, measuring);
  const double csr = session.baseline().median_ns() * 1e-6;
  std::vector<double> packs;
  measure::Measurement packed;
  for (int n = 0; n < options.runs; ++n) {
    packed = session.measure({plan}).at(0);
    packs.push_back(static_cast<double>(packed.pack_ns) * 1e-6);
  }
  const double pack = measure::estimate_median(packs).median;
  const double read = median_reading_ms(options, matrix);
  const double features = run.stage("features"), search = run.stage("search");
  const Cost cost{(features + search + pack) / csr, run.wall / read};
  fmt::print(
      "| {} | {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.3f} | {:.0f} | {:.2f} | "
      "{:.2f} |\n",
      tensor.name, tensor.num_nonzeros(), run.wall, read, run.stage("load"), run.stage("machine"), features,
      search, pack, csr, cost.runs, cost.reads, packed.ok() ? packed.speedup.median : 0.0);
  std::fflush(stdout);
  return cost;
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main("tune_perf", [&] {
    Options options;
    CLI::App app("Prints what tuning costs, in runs of fixed_csr and in readings of the file", "tune_perf");
    app.add_option("MATRIX", options.matrices)->required();
    app.add_option("--op", options.op)->capture_default_str();
    app.add_option("--effort", options.effort)->capture_default_str();
    app.add_option("--runs", options.runs)->capture_default_str()->check(CLI::PositiveNumber);
    app.add_flag("--only-read", options.only_read, "Print the milliseconds of reading the first file");
    add_common_options(app, "tune_perf", options.common);
    if (!parse_command_line(app, argc, argv, options.common)) return ExitCode::kDone;
    if (options.common.threads == 0) options.common.threads = usable_threads();
    if (options.only_read) {
      fmt::print("{}\n", reading_ms(options, options.matrices[0]));
      return ExitCode::kDone;
    }
    fmt::print(
        "| matrix | nonzeros | run | read | load | machine | features | search | convert | `fixed_csr` | "
        "runs of "
        "`fixed_csr` | run over read | speedup |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    Cost logs;
    for (const std::string& matrix : options.matrices) {
      const Cost cost = report(options, matrix);
      logs.runs += std::log(cost.runs);
      logs.reads += std::log(cost.reads);
    }
    const auto count = static_cast<double>(options.matrices.size());
    fmt::print("geometric means: {:.0f} runs, {:.2f} reads\n", std::exp(logs.runs / count),
               std::exp(logs.reads / count));
    return ExitCode::kDone;
  });
}
