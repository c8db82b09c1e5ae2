// The retrieval half with a pattern folded in: from embeddings to costs, in blocks that stay in L1.
#pragma once

#include <cstdint>
#include <vector>

#include "waco/model/learned/dense.hpp"

namespace waco::model {

/// Tensors of the retrieval half as they are in the file.
struct RetrievalWeights {
  Dense pattern, schedule, product;  ///< to the hidden layer
  Dense fc, out;

  RetrievalWeights() = default;
  RetrievalWeights(const TensorFile& file, int pattern_size, int embedding_size);
};

class Retrieval {
 public:
  static constexpr int kBlock = 48;  ///< embeddings

  Retrieval(const RetrievalWeights& weights, const std::vector<float>& pattern);

  int hidden_size() const { return first_.padded; }  ///< padded
  int embedding_size() const { return first_.inputs; }

  struct Scratch {
    std::vector<float> hidden;  ///< [kBlock, hidden_size()], of the latest block
    std::vector<float> narrow;
  };
  /// Costs of up to kBlock embeddings [count, E]; their hidden layers stay in the scratch.
  void costs(const float* embeddings, int count, float* costs, Scratch& scratch) const;

 private:
  Dense first_;  ///< schedule + product * diag(p), with all of the pattern's part as bias
  Dense fc_;
  std::vector<float> out_;  ///< [fc_.padded]
  float out_bias_ = 0;
};

}  // namespace waco::model
