// Opening the model that is asked for, or the best default one that works.
#include "waco/tune/model_options.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "waco/base/clock.hpp"
#include "waco/base/error.hpp"
#include "waco/search/named.hpp"
#include "waco/tune/model_places.hpp"

namespace waco::tune {
namespace {

using Chosen = std::shared_ptr<search::Learned>;

/// A remedy in brackets; of a model that was named by its folder the fault itself says what there is.
std::string repair_of(const ModelPlace& place, schedule::Op op) {
  if (is_users(place))
    return fmt::format(" (to repair it, run waco-tune --calibrate --op {}, or delete the folder {})",
                       schedule::name(op), place.model.string());
  const std::vector<std::filesystem::path> own = model_folders();
  const bool installed = std::ranges::find(own, place.model.parent_path()) != own.end();
  return installed ? " (to repair it, install WACO again)" : "";
}

/// Null when the model is not for this problem: a line says why, with `next`, if anything, as what ranks
/// then; one that knows no such dense size goes to `unfit`.
Chosen open_default(const ModelPlace& place, const schedule::Problem& problem, int threads,
                    std::string_view next, std::vector<std::string>& unfit) {
  const std::string then = next.empty() ? "" : fmt::format("; {} ranks instead", next);
  try {
    Chosen learned = search::Learned::open(place.model);
    if (learned->model.op() != problem.op)
      throw InputError(place.model.string(), 0,
                       fmt::format("is a model of {}", schedule::name(learned->model.op())));
    if (learned->model.has_seen(problem.rhs)) {
      // Only now: what an index lacks takes time to make, and room in the cache.
      if (!place.index.empty()) learned->open_index(place.index, threads);
      return learned;
    }
    unfit.push_back(place.model.string());
  } catch (const Error& fault) {
    spdlog::warn("{}{}{}", fault.what(), then, repair_of(place, problem.op));
  }
  return nullptr;
}

/// Of machines less like this one than those, none is asked: each takes as long as the first.
constexpr size_t kMostOthers = 3;

/// Null when none of them is for this problem. Where the first that is comes from a machine unlike this one,
/// the next beside it give their opinions, too.
Chosen open_first(const std::vector<ModelPlace>& places, const schedule::Problem& problem, int threads,
                  std::string_view last) {
  Chosen learned;
  size_t next = 0;
  std::vector<std::string> unfit;
  while (next < places.size() && !learned) {
    const ModelPlace& place = places[next++];
    learned = open_default(place, problem, threads, next < places.size() ? "the next model" : last, unfit);
  }
  if (!unfit.empty()) {
    const std::string others = unfit.size() > 1 ? fmt::format(" and {} more", unfit.size() - 1) : "";
    const std::string instead = learned ? learned->folder.string() : std::string(last);
    spdlog::info("{}{}: not trained on a dense size like {}{}", unfit[0], others, problem.rhs,
                 instead.empty() ? "" : fmt::format("; {} ranks instead", instead));
  }
  if (!learned || places[next - 1].distance <= kUnlike) return learned;
  const auto start = std::chrono::steady_clock::now();
  for (; next < places.size() && learned->others.size() < kMostOthers; ++next) {
    const std::filesystem::path& other = places[next].model;
    if (other.parent_path() != learned->folder.parent_path()) break;
    try {
      auto model = model::LearnedModel::load(other);
      if (model.op() == problem.op && model.has_seen(problem.rhs))
        learned->others.push_back({std::move(model), other});
    } catch (const Error& fault) {
      spdlog::warn("{}{}", fault.what(), repair_of(places[next], problem.op));
    }
  }
  learned->load_s += seconds_since(start);
  return learned;
}

/// The models that may rank: the first that fits does.
struct Eligible {
  std::vector<ModelPlace> places;
  bool named = false;  ///< the only one was named itself, and is taken whatever it fits
};

/// Opens nothing.
Eligible eligible_models(const ModelOptions& options, schedule::Op op) {
  if (options.model == "none") {
    if (!options.index.empty()) throw UsageError("--index is for a learned model, and --model is none");
    return {};
  }
  if (options.model.empty()) return {find_models(op), false};
  if (std::optional<ModelPlace> place = model_in(options.model)) {
    if (!options.index.empty()) place->index = options.index;
    return {{*place}, true};
  }
  std::vector<ModelPlace> places = models_of(op, options.model);
  for (const schedule::Op other : schedule::kAllOps)
    if (places.empty() && !models_of(other, options.model).empty())
      throw InputError(options.model, 0, fmt::format("holds models, but none of {}", schedule::name(op)));
  // Opening says what is wrong with a folder that holds nothing.
  if (places.empty()) return {{ModelPlace{options.model, options.index}}, true};
  if (!options.index.empty())
    throw UsageError(fmt::format(
        "--index is for one model, and {} is a folder of models; name the model itself", options.model));
  return {std::move(places), false};
}

}  // namespace

void add_model_options(CLI::App& app, ModelOptions& options) {
  app.add_option("--model", options.model,
                 "Rank by this learned model, a folder, or by the best-fitting of a folder of models; none: "
                 "closed-form (default: the user's own, then the built-in ones)");
  app.add_option("--index", options.index, "Its index, made by waco-index (default: that in its folder)")
      ->needs("--model");
  app.add_option("--search", options.search,
                 "How points are found: exact or anns (with an index), neighbours, tpe, bandit, random")
      ->check(CLI::IsMember(search::search_names()));
}

std::shared_ptr<const search::Learned> open_model(const ModelOptions& options,
                                                  const schedule::Problem& problem, int threads,
                                                  std::string_view last) {
  const Eligible eligible = eligible_models(options, problem.op);
  if (options.model.empty() && eligible.places.empty())
    spdlog::warn("no model of {} was found beside this program{}", schedule::name(problem.op),
                 last.empty() ? "" : fmt::format("; {} ranks", last));
  if (!eligible.named) return open_first(eligible.places, problem, threads, last);
  const ModelPlace& named = eligible.places[0];
  return search::Learned::open(named.model, named.index, threads);
}

void check_model_options(const ModelOptions& options, schedule::Op op) {
  // Which of the default models ranks is seen when they are opened.
  if (options.model.empty() && !search::needs_index(options.search)) return;
  const auto [places, named] = eligible_models(options, op);
  std::optional<schedule::Op> op_of_model;
  if (named)
    op_of_model = schedule::parse_op(model::read_model_manifest(places[0].model).at("op").get<std::string>());
  const bool indexed =
      std::any_of(places.begin(), places.end(), [](const ModelPlace& place) { return !place.index.empty(); });
  check_ranking(op, options.search, op_of_model, indexed);
  if (named && indexed) index::Index::check_is_index(places[0].index);
}

void choose_model(const ModelOptions& options, TuneOptions& tuning) {
  tuning.learned = open_model(options, tuning.problem, tuning.num_threads(), "the closed-form model");
  const bool indexed = tuning.learned && tuning.learned->index;
  tuning.search = !options.search.empty() ? options.search : indexed ? "exact" : "neighbours";
  check_ranking(tuning);
}

}  // namespace waco::tune
