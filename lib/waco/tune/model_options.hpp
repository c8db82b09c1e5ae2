// The command-line options that say what ranks points, and the choice of model, index and search by them.
#pragma once

#include <string>

#include "waco/tune/tune.hpp"

namespace CLI {
class App;
}

namespace waco::tune {

/// As typed; empty when not given.
struct ModelOptions {
  std::string model;  ///< its folder, or one that holds models; "none": the closed-form model
  std::string index;
  std::string search;
};

/// Adds --model, --index and --search.
void add_model_options(CLI::App& app, ModelOptions& options);

/// Sets `learned` and `search` of `tuning`, by its problem and threads. Of the default models, or those in a
/// folder that is named, the first of the op ranks that can be read and has seen dense operands of about this
/// size; what is wrong with one that can't be read is told in one line. The closed-form model ranks where
/// none is left. A model that is named itself ranks whatever it has seen.
///
/// Throws InputError when a model that was named, or its index, can't be used; UsageError for an index that
/// is not of one model, and as check_ranking().
void choose_model(const ModelOptions& options, TuneOptions& tuning);

}  // namespace waco::tune
