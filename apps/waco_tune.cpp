// waco-tune: finds, measures and verifies the best format and schedule for a sparse matrix or tensor.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdio>

#include "apps/tune/jobs.hpp"
#include "apps/tune/options.hpp"
#include "waco/base/signals.hpp"
#include "waco/tune/calibration.hpp"
#include "waco/tune/kernel_pack.hpp"

namespace {

using namespace waco;
using namespace waco::apps;

ExitCode calibrate_models(const Options& options, const StopToken& stop) {
  for (const schedule::Op op : tune::ops_to_calibrate(options.problem.op, options.ranking.model)) {
    tune::CalibrationOptions calibration;
    calibration.op = op;
    calibration.start = tune::calibration_start(op, options.ranking.model);
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
  if (options.prepare == 0 && options.single()) return tune_one(options, chosen, stop);
  const tune::TuneOptions tuning = tune_options(options, chosen);
  if (options.prepare > 0) return prepare(options, tuning, stop);
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
