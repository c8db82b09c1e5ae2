// A model folder in memory, layer by layer.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "waco/model/learned/dense.hpp"
#include "waco/model/learned/embedder.hpp"
#include "waco/model/learned/extractor.hpp"
#include "waco/model/learned/learned_model.hpp"
#include "waco/model/learned/retrieval.hpp"

namespace waco::model {

/// The half that looks at the closed-form model's terms.
struct CorrectionWeights {
  Standardisation terms;
  Dense term_layer, hidden_layer, out;
  float slope = 0;
  float calibration[2] = {0, 1};  ///< offset and slope

  CorrectionWeights(const TensorFile& file, int hidden_size);
};

struct LearnedModel::Weights {
  nlohmann::json manifest;
  Experience experience;
  std::string hash;
  schedule::Op op;
  std::unique_ptr<Extractor> extractor;
  Standardisation problem;
  Dense pattern1, pattern2;
  Embedder embedder;
  RetrievalWeights retrieval;
  CorrectionWeights correction;

  /// Throws InputError naming a missing or misshapen tensor.
  Weights(nlohmann::json manifest, std::string hash, schedule::Op op, std::string_view extractor,
          const TensorFile& file);
};

}  // namespace waco::model
