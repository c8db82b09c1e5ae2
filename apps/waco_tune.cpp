// waco-tune: finds, measures and verifies the best format and schedule for a sparse matrix or tensor.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <vector>

#include "apps/tune/jobs.hpp"
#include "apps/tune/options.hpp"
#include "waco/base/command_line.hpp"
#include "waco/base/counted.hpp"
#include "waco/base/signals.hpp"
#include "waco/tune/calibration.hpp"
#include "waco/tune/kernel_pack.hpp"
#include "waco/tune/model_places.hpp"

namespace {

using namespace waco;
using namespace waco::apps;

void calibrate(const Options& options, schedule::Op op, const StopToken& stop) {
  tune::CalibrationOptions calibration;
  calibration.op = op;
  calibration.start = tune::calibration_start(op, options.ranking.model);
  calibration.matrices = options.inputs.paths;
  calibration.lists = options.inputs.lists;
  calibration.type = options.problem.type;
  calibration.rhs = options.problem.rhs;
  calibration.minutes = options.minutes;
  calibration.threads = options.common.threads;
  calibration.compiler = options.common.compiler;
  calibration.quiet = options.common.quiet;
  const tune::CalibrationResult result = tune::calibrate(calibration, stop);
  if (!options.common.quiet) print_to_stderr(tune::to_text(op, result));
}

/// Of several ops one that fails is reported, and the others go on.
ExitCode calibrate_models(const Options& options, const StopToken& stop) {
  const std::vector<schedule::Op> ops = tune::ops_to_calibrate(options.problem.op, options.ranking.model);
  tune::check_can_calibrate();
  ExitCode code = ExitCode::kDone;
  for (const schedule::Op op : ops) {
    if (ops.size() > 1) spdlog::info("{}:", schedule::name(op));
    const Outcome outcome = guarded(kProgram, [&] {
      calibrate(options, op, stop);
      return ExitCode::kDone;
    });
    if (outcome.code == ExitCode::kDone) continue;
    // A compiler that is of no use is of none to the other ops.
    const bool ends_all = stop.stop_requested() || outcome.code == ExitCode::kCompiler;
    if (ops.size() == 1 || ends_all) return outcome.code;
    code = ExitCode::kPartial;
  }
  return code;
}

/// Of one problem.
tune::PackReport prepare(const Options& options, const tune::TuneOptions& tuning, const StopToken& stop) {
  tune::PackOptions pack;
  pack.num_kernels = options.prepare;
  pack.num_patterns = std::clamp(options.prepare / 4, 4, pack.num_patterns);
  const tune::PackReport report = tune::prepare_kernels(tuning, pack, stop);
  spdlog::info("{} compiled in {:.1f} s, {} {} there, {} failed; {:.1f} MB in all",
               counted(report.num_compiled, "kernel"), report.compiling_s, report.num_there,
               report.num_there == 1 ? "was" : "were", report.num_failed,
               static_cast<double>(report.bytes) * 1e-6);
  if (report.num_failed > 0)
    spdlog::warn("{} of {} failed to compile{}, the first with: {}", report.num_failed,
                 counted(report.num_chosen, "kernel"),
                 report.machine_failed ? ", and the rest was not tried" : "", report.fault);
  return report;
}

/// The one that is asked for, or the usual ones; with a folder of models those that it holds a model for.
std::vector<schedule::Problem> problems_to_prepare(const tune::ProblemOptions& asked,
                                                   const std::string& model) {
  if (!asked.op.empty()) return {tune::choose_problem(asked).problem};
  if (asked.rhs) throw UsageError("--prepare takes --rhs with --op only");
  const bool named = !model.empty() && model != "none";
  if (named && tune::model_in(model))
    throw UsageError("--prepare takes a single model with --op only: it is for one op");
  const auto type = schedule::parse_value_type(asked.type).value_or(schedule::ValueType::kF32);
  std::vector<schedule::Problem> all = tune::usual_problems(type);
  if (!named) return all;
  const auto first_without = std::stable_partition(
      all.begin(), all.end(),
      [&](const schedule::Problem& problem) { return !tune::models_of(problem.op, model).empty(); });
  // Where all lack one, opening the folder says what is wrong with it.
  if (first_without == all.begin()) return all;
  for (auto problem = first_without; problem != all.end(); ++problem)
    spdlog::warn("{}: left out, as {} holds no model of it", schedule::to_text(*problem), model);
  all.erase(first_without, all.end());
  return all;
}

/// Fills the kernel cache; a run that is stopped, or in which some kernels failed, is continued by the next.
ExitCode prepare_all(const Options& options, const StopToken& stop) {
  bool all_there = true, any_there = false;
  for (const schedule::Problem& problem : problems_to_prepare(options.problem, options.ranking.model)) {
    if (stop.stop_requested()) return ExitCode::kStopped;
    spdlog::info("{}:", schedule::to_text(problem));
    tune::PackReport report;
    try {
      report = prepare(options, tune_options(options, {problem, {}}), stop);
    } catch (const Stopped&) {
      return ExitCode::kStopped;
    }
    all_there = all_there && report.complete;
    any_there = any_there || report.num_there + report.num_compiled > 0;
    if (report.machine_failed) return ExitCode::kFailed;
  }
  if (all_there) return ExitCode::kDone;
  if (stop.stop_requested()) return ExitCode::kStopped;
  return any_there ? ExitCode::kPartial : ExitCode::kFailed;
}

ExitCode run(const Options& options, const StopToken& stop) {
  if (options.calibrate) return calibrate_models(options, stop);
  if (options.prepare > 0) return prepare_all(options, stop);
  const tune::ChosenProblem chosen = tune::choose_problem(options.problem);
  if (options.single()) return tune_one(options, chosen, stop);
  const tune::TuneOptions tuning = tune_options(options, chosen);
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
