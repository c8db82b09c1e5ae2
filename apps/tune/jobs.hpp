// Tuning the inputs that were named.
#pragma once

#include "apps/tune/options.hpp"
#include "waco/base/error.hpp"
#include "waco/base/signals.hpp"

namespace waco::apps {

/// Tunes the one input, which is read while the model is opened; writes and prints what was asked for.
ExitCode tune_one(const Options& options, const tune::ChosenProblem& chosen, const StopToken& stop);

/// Tunes every input that has no result yet; one that fails is reported and the rest goes on, unless
/// the fault is of the machine.
ExitCode tune_several(const Options& options, const tune::TuneOptions& tuning, const StopToken& stop);

}  // namespace waco::apps
