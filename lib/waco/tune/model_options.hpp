// The command-line options that say what ranks points, and the choice of model, index and search by them.
#pragma once

#include <memory>
#include <string>
#include <string_view>

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

/// The learned model that is to rank points of a problem on so many threads. Of the default models, or those
/// in a folder that is named, it is the first of the op that can be read and has seen dense operands of about
/// this size; what is wrong with one that can't be read is told in one line. Null where none is left: `last`,
/// which those lines name unless it is empty, ranks then. A model that is named itself is taken whatever it
/// has seen, of another op too.
///
/// Throws InputError when a model that was named, or its index, can't be used; UsageError for an index that
/// is not of one model.
std::shared_ptr<const search::Learned> open_model(const ModelOptions& options,
                                                  const schedule::Problem& problem, int threads,
                                                  std::string_view last);

/// Throws what choose_model() would, as far as that is seen in a moment: a model or index that is named and
/// missing, a model of another op, a search without its index. Weights and vertices are not read.
void check_model_options(const ModelOptions& options, schedule::Op op);

/// Sets `learned` and `search` of `tuning`, by its problem and threads. Throws as open_model() and
/// check_ranking().
void choose_model(const ModelOptions& options, TuneOptions& tuning);

}  // namespace waco::tune
