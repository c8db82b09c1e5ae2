// The learned cost model without libtorch: a model folder read back and evaluated. The network is defined in
// docs/model.md. Results are the same bits for the same input on the same machine, whatever the number of
// threads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "waco/base/machine.hpp"
#include "waco/matrix/sparse_tensor.hpp"
#include "waco/model/closed_form.hpp"
#include "waco/model/cost_model.hpp"
#include "waco/model/learned/experience.hpp"
#include "waco/model/learned/tensor_file.hpp"
#include "waco/pattern/pattern_features.hpp"
#include "waco/schedule/super_schedule.hpp"

namespace waco::model {

/// Header of model.json, the manifest of a model folder.
inline constexpr const char* kModelFormat = "waco-model";
inline constexpr int kModelVersion = 1;

/// Of a cost that points are ranked by; the rest is the learned model's. The cheapest of many predictions is
/// often one that errs, and two models seldom err on the same point. Models of drawn records alone gain from
/// shares of 0.2 to 0.5 (the first point of SpMV on 24 unseen matrices 1.06 times as fast), those that
/// learned from what models rank first lose by more than 0.2.
inline constexpr double kClosedFormShare = 0.15;

/// model.json of a folder. Throws InputError when the folder holds no model, one of a newer version, or one
/// of another op, extractor or version of encoding, terms or features than this program has.
nlohmann::json read_model_manifest(const std::filesystem::path& folder);

/// Names of the originals that a manifest lists as "training_originals" or "validation_originals"; none where
/// it lists none, as those of older versions.
std::set<std::string> originals_in(const nlohmann::json& manifest, const char* key);
/// Its weights. Throws InputError too when they are not those that the manifest describes, or no numbers.
TensorFile read_model_weights(const std::filesystem::path& folder);

/// What a pattern looks like to the retrieval half, for one problem.
struct PatternEmbedding {
  std::vector<float> p;  ///< [P]
};

/// A model folder in memory. Immutable, so threads may share it.
class LearnedModel {
 public:
  /// Throws InputError when the folder holds no model, one of a newer version, another encoding version, or
  /// weights that its manifest does not describe.
  static LearnedModel load(const std::filesystem::path& folder);
  ~LearnedModel();
  LearnedModel(LearnedModel&&) noexcept;
  LearnedModel& operator=(LearnedModel&&) noexcept;

  schedule::Op op() const;
  const nlohmann::json& manifest() const;  ///< model.json
  /// Those whose records it learned from, as far as the manifest tells.
  std::vector<Machine> machines() const;
  /// What it says of the records that it learned from.
  const Experience& experience() const;
  /// Hash of weights and manifest, which an index names to be tied to this model.
  const std::string& hash() const;
  int embedding_size() const;  ///< E
  /// Whether it was trained on a dense index of about this size: within a factor of two.
  bool has_seen(int64_t rhs) const;

  /// Extractor and pattern layers. Requires a tensor of the op's order.
  PatternEmbedding embed_pattern(pattern::LazyFeatures& pattern, const schedule::Problem& problem) const;
  PatternEmbedding embed_pattern(const matrix::SparseTensor& tensor, const schedule::Problem& problem) const;

  /// Program embeddings [points.size(), E], row-major. `max_threads`: what the machine offers; a point's
  /// threads are seen relative to it. Points of the op; type and rhs play no part.
  std::vector<float> embed_schedules(std::span<const schedule::SuperSchedule> points, int max_threads) const;

  struct Weights;
  const Weights& weights() const { return *weights_; }

 private:
  explicit LearnedModel(std::unique_ptr<Weights> weights);
  std::unique_ptr<Weights> weights_;
};

/// The retrieval half for one pattern: everything that depends on the pattern is folded in once.
class Retriever {
 public:
  /// `model` must outlive it.
  Retriever(const LearnedModel& model, const PatternEmbedding& pattern);
  ~Retriever();
  Retriever(Retriever&&) noexcept;

  /// Costs (logarithms, before calibration) of `count` embeddings [count, E] into `costs` [count], in
  /// parallel by `threads`.
  void costs(const float* embeddings, int64_t count, float* costs, int threads = 1) const;
  float cost(const float* embedding) const;

 private:
  struct Folded;
  std::unique_ptr<Folded> folded_;
};

/// The whole model for one pattern, as every search uses it: retrieval and correction by the closed-form
/// terms. Costs are predicted time / time of fixed_csr: positive, and ratios of costs mean ratios of times.
class LearnedCostModel : public CostModel {
 public:
  /// `model` and `closed_form` (of the same pattern) must outlive it. `closed_form_share`: how much of a cost
  /// is the closed-form model's, as a weight of logarithms; 0 gives what was trained.
  LearnedCostModel(const LearnedModel& model, const PatternEmbedding& pattern,
                   const schedule::Problem& problem, ClosedFormModel& closed_form, int max_threads,
                   double closed_form_share = 0);
  ~LearnedCostModel() override;
  std::vector<double> costs(std::span<const schedule::SuperSchedule> points) override;
  /// The same where embeddings [points.size(), E] are at hand.
  std::vector<double> costs(std::span<const schedule::SuperSchedule> points, const float* embeddings);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace waco::model
