// Opening a model with its index, and asking it of one pattern.
#include "waco/search/learned.hpp"

#include <chrono>
#include <cmath>
#include <utility>

#include "waco/base/clock.hpp"
#include "waco/base/error.hpp"
#include "waco/base/files.hpp"

namespace waco::search {
namespace {

/// `first`: what the first model sees in the pattern.
MeanCostModel costs_of(const Learned& learned, const model::PatternEmbedding& first,
                       pattern::LazyFeatures& pattern, const schedule::Problem& problem,
                       model::ClosedFormModel& closed_form, int threads) {
  std::vector<std::unique_ptr<model::CostModel>> models;
  const auto add = [&](const model::LearnedModel& model, const model::PatternEmbedding& seen) {
    models.push_back(std::make_unique<model::LearnedCostModel>(model, seen, problem, closed_form, threads,
                                                               model::kClosedFormShare));
  };
  add(learned.model, first);
  for (const OtherModel& other : learned.others)
    add(other.model, other.model.embed_pattern(pattern, problem));
  return MeanCostModel(std::move(models));
}

}  // namespace

std::string Learned::hash() const {
  std::string hash = model.hash();
  for (const OtherModel& other : others) hash += "+" + other.model.hash();
  return hash;
}

std::optional<double> Learned::clustered_cost(const schedule::Problem& problem) const {
  double log_sum = 0, count = 0;
  const auto add = [&](const model::LearnedModel& one) {
    if (const std::optional<double> cost = one.experience().clustered_cost(problem))
      log_sum += std::log(*cost), count += 1;
  };
  add(model);
  for (const OtherModel& other : others) add(other.model);
  return count > 0 ? std::optional(std::exp(log_sum / count)) : std::nullopt;
}

std::shared_ptr<Learned> Learned::open(const std::filesystem::path& model, const std::filesystem::path& index,
                                       int threads) {
  std::shared_ptr<Learned> learned = open(model);
  if (!index.empty()) learned->open_index(index, threads);
  return learned;
}

std::shared_ptr<Learned> Learned::open(const std::filesystem::path& model) {
  const auto start = std::chrono::steady_clock::now();
  auto learned =
      std::make_shared<Learned>(Learned{model::LearnedModel::load(model), std::nullopt, model, {}});
  learned->load_s = seconds_since(start);
  return learned;
}

void Learned::open_index(const std::filesystem::path& place, int threads) {
  const auto start = std::chrono::steady_clock::now();
  index.emplace(index::Index::open(place, {model, folder}, threads, cache_folder_if_any()));
  load_s += seconds_since(start);
}

MeanCostModel::MeanCostModel(std::vector<std::unique_ptr<model::CostModel>> models)
    : models_(std::move(models)) {
  WACO_ASSERT(!models_.empty());
}

std::vector<double> MeanCostModel::costs(std::span<const schedule::SuperSchedule> points) {
  std::vector<double> mean = models_[0]->costs(points);
  if (models_.size() == 1) return mean;
  for (double& cost : mean) cost = std::log2(cost);
  for (size_t n = 1; n < models_.size(); ++n) {
    const std::vector<double> costs = models_[n]->costs(points);
    for (size_t point = 0; point < costs.size(); ++point) mean[point] += std::log2(costs[point]);
  }
  for (double& cost : mean) cost = std::exp2(cost / static_cast<double>(models_.size()));
  return mean;
}

LearnedLookup::LearnedLookup(const Learned& learned, const matrix::SparseTensor& tensor,
                             const schedule::Problem& problem, model::ClosedFormModel& closed_form,
                             int threads)
    : LearnedLookup(learned, pattern::LazyFeatures(tensor), problem, closed_form, threads) {}

LearnedLookup::LearnedLookup(const Learned& learned, pattern::LazyFeatures pattern,
                             const schedule::Problem& problem, model::ClosedFormModel& closed_form,
                             int threads)
    : pattern_(learned.model.embed_pattern(pattern, problem)),
      costs_(costs_of(learned, pattern_, pattern, problem, closed_form, threads)),
      retriever_(learned.model, pattern_) {
  if (learned.index) query_.emplace(Query{*learned.index, retriever_, threads});
}

}  // namespace waco::search
