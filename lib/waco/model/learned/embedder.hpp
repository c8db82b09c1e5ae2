// The program embedder: from points to vectors that do not depend on any pattern.
#pragma once

#include <span>
#include <vector>

#include "waco/model/learned/dense.hpp"
#include "waco/schedule/encoding.hpp"

namespace waco::model {

class Embedder {
 public:
  /// Throws InputError naming a missing or misshapen tensor.
  Embedder(const TensorFile& file, schedule::Op op);

  int size() const { return fc2_.outputs; }  ///< E

  /// Embeddings [points.size(), E] of points of the op, in parallel.
  std::vector<float> embed(std::span<const schedule::SuperSchedule> points, int max_threads) const;

 private:
  struct Scratch;
  void embed_block(std::span<const schedule::SuperSchedule> points, int max_threads, Scratch& scratch,
                   float* embeddings) const;

  const schedule::EncodingLayout& layout_;
  Standardisation numbers_;
  /// First layer applied to relu(row) of every table, by field: [values, wide]. A lookup replaces most of the
  /// layer's work.
  std::vector<std::vector<float>> tables_;
  Dense levels_, loops_, number_layer_;
  Dense fc1_;  ///< its last 3 * 16 inputs: levels, loops, numbers
  Dense fc2_;
};

}  // namespace waco::model
