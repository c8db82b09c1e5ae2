// What tuning without measuring costs: tune_perf --op spmv FILE...
//   in runs of fixed_csr: features, search, and packing the plan that is found
//   the whole program, from its start to its end, over reading the file
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "waco/base/command_line.hpp"
#include "waco/base/process.hpp"
#include "waco/base/program.hpp"
#include "waco/matrix/read.hpp"
#include "waco/measure/session.hpp"
#include "waco/schedule/super_schedule.hpp"

using namespace waco;
using nlohmann::json;

namespace {

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

Run run_once(const Options& options, const std::string& matrix) {
  const std::string program = (program_folder() / "waco-tune").string();
  const auto start = std::chrono::steady_clock::now();
  const RunResult result =
      run_process({program, matrix, "--op", options.op, "--effort", options.effort, "--json", "-q"});
  Run run;
  run.wall = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  if (!result.ok()) throw EnvironmentError(fmt::format("{}: {}", matrix, result.err));
  run.document = json::parse(result.out);
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
  const auto start = std::chrono::steady_clock::now();
  const matrix::ReadResult result = matrix::read_tensor(matrix, reading);
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// The median of processes that read and do nothing else: memory comes fresh from the system in each, as it
/// does for a program that reads once.
double median_reading_ms(const Options& options, const std::string& matrix) {
  const std::string program = (program_folder() / "tune_perf").string();
  std::vector<double> times;
  for (int n = 0; n < options.runs; ++n) {
    const RunResult result = run_process({program, "--only-read", matrix});
    if (!result.ok()) throw EnvironmentError(fmt::format("{}: {}", matrix, result.err));
    times.push_back(std::stod(result.out));
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
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
  std::sort(packs.begin(), packs.end());
  const double pack = packs[packs.size() / 2];
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
