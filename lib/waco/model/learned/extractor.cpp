// The extractors that need no convolution, and the choice among all of them.
#include "waco/model/learned/extractor.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "waco/base/error.hpp"
#include "waco/model/conv/conv_extractors.hpp"
#include "waco/model/learned/dense.hpp"

namespace waco::model {
namespace {

/// Features of the pattern as they are.
class Pyramid : public Extractor {
 public:
  Pyramid(int order, const TensorFile& weights)
      : order_(order), input_(weights, "features", static_cast<int>(pattern::feature_names(order).size())) {}

  std::vector<float> extract(pattern::LazyFeatures& pattern) const override {
    WACO_ASSERT(pattern.tensor().order() == order_);
    std::vector<float> features = pattern.features();
    input_.apply(features.data(), features.data());
    return features;
  }
  int size() const override { return input_.size(); }

 private:
  int order_;
  Standardisation input_;
};

/// What a person would look at first.
class Human : public Extractor {
 public:
  Human(int order, const TensorFile& weights) : order_(order), input_(weights, "features", order + 1) {}

  std::vector<float> extract(pattern::LazyFeatures& pattern) const override {
    const matrix::SparseTensor& tensor = pattern.tensor();
    WACO_ASSERT(tensor.order() == order_);
    std::vector<float> features = shape_features(tensor.dims, tensor.num_nonzeros());
    input_.apply(features.data(), features.data());
    return features;
  }
  int size() const override { return input_.size(); }

 private:
  int order_;
  Standardisation input_;
};

}  // namespace

std::vector<float> shape_features(const std::vector<int64_t>& dims, int64_t num_nonzeros) {
  std::vector<int64_t> sizes{dims[0], dims[1], num_nonzeros};
  if (dims.size() == 3) sizes.push_back(dims[2]);
  std::vector<float> features;
  for (const int64_t size : sizes)
    features.push_back(static_cast<float>(std::log2(static_cast<double>(std::max<int64_t>(1, size)))));
  return features;
}

const std::vector<std::string>& extractor_names() {
  static const std::vector<std::string> kNames{"pyramid", "human", "dense_conv", "minkowski", "waconet"};
  return kNames;
}

std::unique_ptr<Extractor> make_extractor(std::string_view name, int order, const TensorFile& weights) {
  const std::vector<std::string>& names = extractor_names();
  if (std::find(names.begin(), names.end(), name) == names.end())
    throw UsageError(fmt::format("no extractor is called {}; there are {}", name, fmt::join(names, ", ")));
  if (name == "pyramid") return std::make_unique<Pyramid>(order, weights);
  if (name == "human") return std::make_unique<Human>(order, weights);
  return make_conv_extractor(name, order, weights);
}

}  // namespace waco::model
