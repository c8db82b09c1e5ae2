// Opening the model that is asked for, or the best default one that works.
#include "waco/tune/model_options.hpp"

#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <utility>

#include "waco/base/error.hpp"
#include "waco/base/machine.hpp"
#include "waco/search/named.hpp"
#include "waco/tune/model_places.hpp"

namespace waco::tune {
namespace {

std::string repair_of(const ModelPlace& place, schedule::Op op) {
  if (!is_users(place)) return "install WACO again";
  return fmt::format("run waco-tune --calibrate --op {}, or delete the folder {}", schedule::name(op),
                     place.model.string());
}

/// Null, and a line that says why, when the model is not for this problem; `next` is what ranks then.
std::shared_ptr<const search::Learned> open_default(const ModelPlace& place, const schedule::Problem& problem,
                                                    int threads, const char* next) {
  try {
    auto learned = search::Learned::open(place.model, place.index, threads);
    if (learned->model.op() != problem.op)
      throw InputError(place.model.string(), 0,
                       fmt::format("is a model of {}", schedule::name(learned->model.op())));
    if (learned->has_seen(problem.rhs)) return learned;
    spdlog::info("{}: was not trained on a dense size like {}; {} ranks", place.model.string(), problem.rhs,
                 next);
  } catch (const Error& fault) {
    spdlog::warn("{}; {} ranks instead (to repair it, {})", fault.what(), next, repair_of(place, problem.op));
  }
  return nullptr;
}

}  // namespace

void add_model_options(CLI::App& app, ModelOptions& options) {
  app.add_option("--model", options.model,
                 "Rank by this learned model, a folder, or by the fittest of a folder of models; none: "
                 "closed-form (default: the built-in one)");
  app.add_option("--index", options.index, "Its index, made by waco-index (default: that in its folder)")
      ->needs("--model");
  app.add_option("--search", options.search,
                 "How points are found: exact or anns (with an index), neighbours, tpe, bandit, random")
      ->check(CLI::IsMember(search::search_names()));
}

void choose_model(const ModelOptions& options, TuneOptions& tuning) {
  const int threads = tuning.threads > 0 ? tuning.threads : usable_threads();
  tuning.learned = nullptr;
  if (options.model != "none") {
    const schedule::Op op = tuning.problem.op;
    const bool is_named = !options.model.empty();
    const std::optional<ModelPlace> model = is_named ? model_in(options.model) : std::nullopt;
    std::vector<ModelPlace> places;
    if (!model) places = is_named ? models_of(op, options.model) : find_models(op);
    if (is_named && places.empty()) {  // opening says what is wrong with a folder that holds nothing
      const std::string index = options.index.empty() && model ? model->index.string() : options.index;
      tuning.learned = search::Learned::open(options.model, index, threads);
    }
    for (size_t n = 0; n < places.size() && !tuning.learned; ++n)
      tuning.learned = open_default(places[n], tuning.problem, threads,
                                    n + 1 < places.size() ? "the next model" : "the closed-form model");
  }
  const bool indexed = tuning.learned && tuning.learned->index;
  tuning.search = !options.search.empty() ? options.search : indexed ? "exact" : "neighbours";
}

}  // namespace waco::tune
