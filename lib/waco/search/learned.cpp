// Opening a model with its index, and asking it of one pattern.
#include "waco/search/learned.hpp"

#include <chrono>

#include "waco/base/clock.hpp"
#include "waco/base/files.hpp"

namespace waco::search {

bool Learned::has_seen(int64_t rhs) const {
  for (const nlohmann::json& seen : model.manifest().value("rhs", nlohmann::json::array()))
    if (seen.is_number_integer() && 2 * rhs >= seen.get<int64_t>() && rhs <= 2 * seen.get<int64_t>())
      return true;
  return false;
}

std::shared_ptr<const Learned> Learned::open(const std::filesystem::path& model,
                                             const std::filesystem::path& index, int threads) {
  const auto start = std::chrono::steady_clock::now();
  auto learned = std::make_shared<Learned>(Learned{model::LearnedModel::load(model), std::nullopt, model});
  if (!index.empty())
    learned->index.emplace(
        index::Index::open(index, {learned->model, model}, threads, cache_folder_if_any()));
  learned->load_s = seconds_since(start);
  return learned;
}

LearnedLookup::LearnedLookup(const Learned& learned, const model::PatternEmbedding& pattern,
                             const schedule::Problem& problem, model::ClosedFormModel& closed_form,
                             int threads)
    : costs(learned.model, pattern, problem, closed_form, threads, model::kClosedFormShare),
      retriever_(learned.model, pattern) {
  if (learned.index) query_.emplace(Query{*learned.index, retriever_, threads});
}

}  // namespace waco::search
