// Folds a pattern into the first layer, then scores embeddings block by block.
#include <algorithm>

#include "waco/base/error.hpp"
#include "waco/model/learned/learned_model.hpp"
#include "waco/model/learned/model_weights.hpp"
#include "waco/model/learned/retrieval.hpp"

namespace waco::model {

RetrievalWeights::RetrievalWeights(const TensorFile& file, int pattern_size, int embedding_size)
    : pattern(file, "retrieve.pattern", -1, pattern_size),
      schedule(file, "retrieve.schedule", pattern.outputs, embedding_size, false),
      product(file, "retrieve.product", pattern.outputs, embedding_size, false),
      fc(file, "retrieve.fc", -1, pattern.outputs),
      out(file, "retrieve.out", 1, fc.outputs) {}

Retrieval::Retrieval(const RetrievalWeights& weights, const std::vector<float>& pattern)
    : first_(weights.schedule),
      fc_(weights.fc),
      out_(static_cast<size_t>(weights.fc.padded), 0.0f),
      out_bias_(weights.out.bias[0]) {
  WACO_ASSERT(static_cast<int>(pattern.size()) == weights.pattern.inputs);
  weights.pattern.apply(pattern.data(), weights.pattern.inputs, 1, first_.bias.data());
  for (int e = 0; e < first_.inputs; ++e)
    for (int h = 0; h < first_.padded; ++h)
      first_.weight[e * first_.padded + h] +=
          weights.product.weight[e * first_.padded + h] * pattern[static_cast<size_t>(e)];
  for (int n = 0; n < fc_.outputs; ++n)
    out_[static_cast<size_t>(n)] = weights.out.weight[n * weights.out.padded];
}

void Retrieval::costs(const float* embeddings, int count, float* costs, Scratch& scratch) const {
  const DenseKernels& kernels = dense_kernels();
  scratch.hidden.resize(static_cast<size_t>(kBlock * first_.padded));
  scratch.narrow.resize(static_cast<size_t>(kBlock * fc_.padded));
  float *hidden = scratch.hidden.data(), *narrow = scratch.narrow.data();
  first_.apply(embeddings, first_.inputs, count, hidden);
  kernels.relu(hidden, count * first_.padded);
  fc_.apply(hidden, first_.padded, count, narrow);
  kernels.relu(narrow, count * fc_.padded);
  for (int n = 0; n < count; ++n)
    costs[n] = out_bias_ + kernels.dot(narrow + n * fc_.padded, out_.data(), fc_.padded);
}

struct Retriever::Folded : Retrieval {
  using Retrieval::Retrieval;
};

Retriever::Retriever(const LearnedModel& model, const PatternEmbedding& pattern)
    : folded_(std::make_unique<Folded>(model.weights().retrieval, pattern.p)) {}
Retriever::~Retriever() = default;
Retriever::Retriever(Retriever&&) noexcept = default;

void Retriever::costs(const float* embeddings, int64_t count, float* costs, int threads) const {
  const Folded& net = *folded_;
  constexpr int64_t kBlock = Retrieval::kBlock;
  const int64_t num_blocks = (count + kBlock - 1) / kBlock;
#pragma omp parallel num_threads(threads) if (threads > 1 && num_blocks > 16)
  {
    Retrieval::Scratch scratch;
#pragma omp for schedule(static)
    for (int64_t block = 0; block < num_blocks; ++block) {
      const int64_t begin = block * kBlock;
      net.costs(embeddings + begin * net.embedding_size(), static_cast<int>(std::min(kBlock, count - begin)),
                costs + begin, scratch);
    }
  }
}

float Retriever::cost(const float* embedding) const {
  thread_local Retrieval::Scratch scratch;
  float cost = 0;
  folded_->costs(embedding, 1, &cost, scratch);
  return cost;
}

}  // namespace waco::model
