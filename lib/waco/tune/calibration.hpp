// Fitting a built-in model to this machine: a few minutes of measurements, then a fine-tuned copy in the
// user's data folder. The measuring and the learning are done by waco-collect, waco-train and waco-index, as
// child processes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "waco/base/signals.hpp"
#include "waco/schedule/op.hpp"
#include "waco/tune/model_places.hpp"

namespace waco::tune {

struct CalibrationOptions {
  schedule::Op op = schedule::Op::kSpmv;
  ModelPlace start;                   ///< the model to fit, and its index
  std::vector<std::string> matrices;  ///< files, folders and
  std::vector<std::string> lists;     ///< lists to measure on; without any the built-in corpus
  std::string type;                   ///< to measure; empty: those that the model was trained on
  std::optional<int64_t> rhs;         ///< the same
  double minutes = 5;                 ///< of measuring
  int threads = 0;                    ///< 0: all that this process may use
  std::string compiler;               ///< empty: $CXX or the system's
  bool quiet = false;
};

/// How well a model ranks this machine's measurements on matrices that it was not trained on.
struct CalibrationScore {
  double right_pairs = 0;  ///< share of the pairs of points in the right order
  double regret = 1;       ///< time of the first point over the best measured, geometric mean
};

struct CalibrationResult {
  int64_t num_records = 0;     ///< measured so far, those of earlier runs too
  int64_t num_validation = 0;  ///< matrices judged on
  CalibrationScore before, after;
  std::optional<CalibrationScore> own;  ///< of the user's model that was there before
  bool replaced = false;                ///< false: the new model was no better, and what was there stays
  std::filesystem::path model;          ///< the user's model folder of the op
  std::filesystem::path kept;           ///< where what was replaced is now; empty when there was nothing
};

/// Measures for the given time, or until the corpus is done; with that and what earlier calls measured
/// fine-tunes `start`, the predictor alone or, where that is clearly better, the whole network; puts it in
/// the place of the user's model in one step if it ranks this machine's validation matrices better than
/// `start` and than the user's model. What was there is kept under another name. Measurements are
/// kept: after any interruption the same call goes on, and the user's model is the old one until the new one
/// is complete.
///
/// Throws EnvironmentError when a program fails (with exit code kCompiler when the compiler is of no use),
/// when `stop` ended it, when too little was measured to judge by, or while another calibration of the op
/// runs.
CalibrationResult calibrate(const CalibrationOptions& options, const StopToken& stop);

/// Throws EnvironmentError when a program that calibrating needs is missing.
void check_can_calibrate();

/// The ops of built-in models, or the one that is named; of a `model` folder its own. Throws UsageError when
/// there is none.
std::vector<schedule::Op> ops_to_calibrate(const std::string& op, const std::filesystem::path& model);

/// The op's built-in model, or that in the folder `model` when it is not empty. Throws UsageError when there
/// is none.
ModelPlace calibration_start(schedule::Op op, const std::filesystem::path& model);

/// What became of it, for people.
std::string to_text(schedule::Op op, const CalibrationResult& result);

}  // namespace waco::tune
