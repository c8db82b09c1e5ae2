// Retrieval and correction together: what searches rank points by.
#include <algorithm>
#include <cmath>

#include "waco/base/error.hpp"
#include "waco/model/learned/cost_features.hpp"
#include "waco/model/learned/learned_model.hpp"
#include "waco/model/learned/model_weights.hpp"
#include "waco/model/learned/retrieval.hpp"

namespace waco::model {
namespace {

constexpr double kMostLog = 60;  // keeps predicted ratios finite and positive

}  // namespace

struct LearnedCostModel::State {
  const LearnedModel& model;
  Retrieval retrieval;
  schedule::Problem problem;
  ClosedFormModel& closed_form;
  CostTerms csr;
  int max_threads;
  double closed_form_share;

  /// `hidden` [retrieval.hidden_size()] and `retrieved` of the point.
  double predict(const schedule::SuperSchedule& point, const float* hidden, float retrieved) const {
    const CorrectionWeights& w = model.weights().correction;
    WACO_ASSERT(point.problem == problem);
    std::vector<float> terms = cost_features(closed_form.terms(point), csr);
    const float unscaled = terms[0];
    w.terms.apply(terms.data(), terms.data());
    std::vector<float> corrections(static_cast<size_t>(w.term_layer.padded));
    w.term_layer.apply(terms.data(), w.term_layer.inputs, 1, corrections.data());
    dense_kernels().multiply(hidden, w.hidden_layer.inputs, 1, w.hidden_layer.inputs,
                             w.hidden_layer.weight.data(), w.hidden_layer.padded, corrections.data());
    double cost = retrieved + static_cast<double>(w.slope) * unscaled + w.out.bias[0];
    for (int n = 0; n < w.out.inputs; ++n)
      cost += static_cast<double>(w.out.weight[n * w.out.padded]) *
              std::max(0.0f, corrections[static_cast<size_t>(n)]);
    const double learned = w.calibration[0] + w.calibration[1] * cost;
    const double log = learned + closed_form_share * (static_cast<double>(unscaled) - learned);
    return std::exp2(std::clamp(log, -kMostLog, kMostLog));
  }
};

LearnedCostModel::LearnedCostModel(const LearnedModel& model, const PatternEmbedding& pattern,
                                   const schedule::Problem& problem, ClosedFormModel& closed_form,
                                   int max_threads, double closed_form_share)
    : state_(new State{model, Retrieval(model.weights().retrieval, pattern.p), problem, closed_form,
                       closed_form.terms(schedule::csr_point(problem, max_threads)), max_threads,
                       closed_form_share}) {
  WACO_ASSERT(problem.op == model.op());
}

LearnedCostModel::~LearnedCostModel() = default;

std::vector<double> LearnedCostModel::costs(std::span<const schedule::SuperSchedule> points) {
  const std::vector<float> embeddings = state_->model.embed_schedules(points, state_->max_threads);
  return costs(points, embeddings.data());
}

std::vector<double> LearnedCostModel::costs(std::span<const schedule::SuperSchedule> points,
                                            const float* embeddings) {
  std::vector<double> result(points.size());
  Retrieval::Scratch scratch;
  float retrieved[Retrieval::kBlock];
  const Retrieval& retrieval = state_->retrieval;
  for (size_t begin = 0; begin < points.size(); begin += Retrieval::kBlock) {
    const size_t count = std::min<size_t>(Retrieval::kBlock, points.size() - begin);
    retrieval.costs(embeddings + begin * static_cast<size_t>(retrieval.embedding_size()),
                    static_cast<int>(count), retrieved, scratch);
    for (size_t n = 0; n < count; ++n)
      result[begin + n] = state_->predict(
          points[begin + n], scratch.hidden.data() + n * static_cast<size_t>(retrieval.hidden_size()),
          retrieved[n]);
  }
  return result;
}

}  // namespace waco::model
