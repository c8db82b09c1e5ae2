// Puts the features of matrices and tensors together.
#include "waco/pattern/pattern_features.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>

#include "waco/base/error.hpp"
#include "waco/pattern/block_features.hpp"
#include "waco/pattern/feature_list.hpp"
#include "waco/pattern/fiber_features.hpp"
#include "waco/pattern/row_lengths.hpp"
#include "waco/pattern/spread_features.hpp"

namespace waco::pattern {
namespace {

void add_size_features(const matrix::SparseTensor& tensor, FeatureList& features) {
  const auto nonzeros = static_cast<double>(tensor.num_nonzeros());
  double log_cells = 0;
  features.add("nonzeros", std::log2(1 + nonzeros));
  for (int mode = 0; mode < tensor.order(); ++mode) {
    const auto dim = static_cast<double>(tensor.dims[static_cast<size_t>(mode)]);
    features.add(fmt::format("dim{}", mode), std::log2(std::max(1.0, dim)));
    features.add(fmt::format("nonzeros_per_{}", mode), std::log2((1 + nonzeros) / std::max(1.0, dim)));
    log_cells += std::log2(std::max(1.0, dim));
  }
  features.add("density", std::log2(1 + nonzeros) - log_cells);
}

FeatureList compute(const matrix::SparseTensor& tensor, int threads) {
  WACO_ASSERT(tensor.order() == 2 || tensor.order() == 3);
  FeatureList features;
  add_size_features(tensor, features);
  add_row_length_features(measure_row_lengths(tensor, threads), "rows", threads, features);
  if (tensor.order() == 2) {
    add_block_features(tensor, threads, features);
    add_spread_features(tensor, threads, features);
  } else {
    add_fiber_features(tensor, threads, features);
    add_tensor_spread_features(tensor, threads, features);
  }
  return features;
}

/// Names do not depend on the pattern: those of an empty one.
std::vector<std::string> names_of(int order) {
  matrix::SparseTensor empty;
  empty.dims.assign(static_cast<size_t>(order), 1);
  empty.coords.resize(static_cast<size_t>(order));
  return compute(empty, 1).names();
}

}  // namespace

const std::vector<std::string>& feature_names(int order) {
  WACO_ASSERT(order == 2 || order == 3);
  static const std::vector<std::string> kMatrices = names_of(2), kTensors = names_of(3);
  return order == 2 ? kMatrices : kTensors;
}

std::vector<float> pattern_features(const matrix::SparseTensor& tensor, int threads) {
  return compute(tensor, std::max(1, threads)).values();
}

const std::vector<float>& LazyFeatures::features() {
  if (!features_) features_ = pattern_features(tensor_, omp_get_max_threads());
  return *features_;
}

}  // namespace waco::pattern
