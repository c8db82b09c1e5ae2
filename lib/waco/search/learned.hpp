// A learned model and its index: read once, then looked up by one pattern after another.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "waco/index/index.hpp"
#include "waco/model/learned/learned_model.hpp"
#include "waco/search/index_search.hpp"

namespace waco::search {

/// A model whose opinion counts beside that of the first.
struct OtherModel {
  model::LearnedModel model;
  std::filesystem::path folder;
};

/// Read once and shared by all matrices of a run.
struct Learned {
  model::LearnedModel model;
  std::optional<index::Index> index;  ///< of the model, for this machine's threads
  std::filesystem::path folder;       ///< that the model was read from
  /// Those of further machines, where `model` is of one unlike this: there the mean of several errs less
  /// than any one.
  std::vector<OtherModel> others;

  double load_s = 0;  ///< seconds that reading took

  /// Of all the models, the first one's first, joined by "+".
  std::string hash() const;
  /// By which clustered points take longer than expected: the mean of what those say that know it.
  std::optional<double> clustered_cost(const schedule::Problem& problem) const;

  /// Reads the model, and the index unless that path is empty.
  static std::shared_ptr<Learned> open(const std::filesystem::path& model, const std::filesystem::path& index,
                                       int threads);
  /// Reads a model alone. Throws InputError when it can't be used.
  static std::shared_ptr<Learned> open(const std::filesystem::path& model);
  /// Reads the index of `model`; what it lacks is made and cached. Throws InputError when it can't be used,
  /// or is of another model.
  void open_index(const std::filesystem::path& folder, int threads);
};

/// The mean of what several models cost a point, as logarithms.
class MeanCostModel : public model::CostModel {
 public:
  /// At least one.
  explicit MeanCostModel(std::vector<std::unique_ptr<model::CostModel>> models);
  std::vector<double> costs(std::span<const schedule::SuperSchedule> points) override;

 private:
  std::vector<std::unique_ptr<model::CostModel>> models_;
};

/// A learned model on one pattern and problem: what a search ranks points by.
class LearnedLookup {
 public:
  /// Keeps references to `learned` and `closed_form`, which is of the same tensor.
  LearnedLookup(const Learned& learned, const matrix::SparseTensor& tensor, const schedule::Problem& problem,
                model::ClosedFormModel& closed_form, int threads);
  LearnedLookup(const LearnedLookup&) = delete;
  LearnedLookup& operator=(const LearnedLookup&) = delete;

  /// All learned models, blended with the closed-form one.
  model::CostModel& costs() { return costs_; }
  /// What a search asks of the index; null without one.
  const Query* query() const { return query_ ? &*query_ : nullptr; }

 private:
  LearnedLookup(const Learned& learned, pattern::LazyFeatures pattern, const schedule::Problem& problem,
                model::ClosedFormModel& closed_form, int threads);

  model::PatternEmbedding pattern_;  ///< by the first model
  MeanCostModel costs_;
  model::Retriever retriever_;
  std::optional<Query> query_;
};

}  // namespace waco::search
