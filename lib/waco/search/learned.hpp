// A learned model and its index: read once, then looked up by one pattern after another.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "waco/index/index.hpp"
#include "waco/model/learned/learned_model.hpp"
#include "waco/search/index_search.hpp"

namespace waco::search {

/// Read once and shared by all matrices of a run.
struct Learned {
  model::LearnedModel model;
  std::optional<index::Index> index;  ///< of the model, for this machine's threads
  std::filesystem::path folder;       ///< that the model was read from

  double load_s = 0;  ///< seconds that reading took

  /// Whether the model was trained on a dense index of about this size: within a factor of two.
  bool has_seen(int64_t rhs) const;

  /// Reads the model, and the index unless that path is empty; what the index lacks is made and cached.
  /// Throws InputError when one of them can't be used, or they do not belong together.
  static std::shared_ptr<const Learned> open(const std::filesystem::path& model,
                                             const std::filesystem::path& index, int threads);
};

/// A learned model on one pattern and problem: what a search ranks points by.
class LearnedLookup {
 public:
  /// Keeps references to `learned` and `closed_form`, which is of the same pattern. Costs of `costs` are
  /// those of both models, blended.
  LearnedLookup(const Learned& learned, const model::PatternEmbedding& pattern,
                const schedule::Problem& problem, model::ClosedFormModel& closed_form, int threads);
  LearnedLookup(const LearnedLookup&) = delete;
  LearnedLookup& operator=(const LearnedLookup&) = delete;

  model::LearnedCostModel costs;
  /// What a search asks of the index; null without one.
  const Query* query() const { return query_ ? &*query_ : nullptr; }

 private:
  model::Retriever retriever_;
  std::optional<Query> query_;
};

}  // namespace waco::search
