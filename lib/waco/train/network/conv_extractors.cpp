// The convolutional extractors of model/conv/conv_extractors.cpp, to be trained: the same tensors, the same
// maps.
#include <fmt/format.h>
#include <torch/nn/modules/linear.h>
#include <torch/utils.h>

#include <cmath>

#include "waco/base/error.hpp"
#include "waco/model/conv/conv_networks.hpp"
#include "waco/train/network/conv_function.hpp"
#include "waco/train/network/extractor.hpp"

namespace waco::train {
namespace {

using model::kConvChannels;
using torch::Tensor;

struct PackedPattern : PreparedPattern {
  model::PackedSites sites;
};

struct ImagePattern : PreparedPattern {
  Tensor image;  ///< [cells, 1]
};

/// Both ends of the networks: the shape branch, and the fully connected layers that join it with the
/// convolutions.
class ConvTorchExtractor : public TorchExtractor {
 public:
  ConvTorchExtractor(int order, int64_t max_sites, int num_features) : order_(order), max_sites_(max_sites) {
    register_inputs(order + 1);
    // Stored with the weights, so that inference sees patterns as training did.
    register_buffer("max_sites", torch::full({1}, static_cast<float>(max_sites)));
    shape_ = register_module("shape", std::make_shared<torch::nn::Module>());
    shape1_ = shape_->register_module("fc1", torch::nn::Linear(order + 1, model::kShapeHidden));
    shape2_ = shape_->register_module("fc2", torch::nn::Linear(model::kShapeHidden, model::kShapeSize));
    head1_ = register_module("fc1", torch::nn::Linear(num_features + model::kShapeSize, model::kHeadHidden));
    head2_ = register_module("fc2", torch::nn::Linear(model::kHeadHidden, model::kConvOut));
  }

  Tensor forward(const std::vector<std::shared_ptr<const PreparedPattern>>& patterns) override {
    std::vector<Tensor> rows, inputs;
    for (const auto& pattern : patterns) {
      rows.push_back(features(*pattern));
      inputs.push_back(standardised(torch::tensor(pattern->inputs), input_mean_, input_scale_));
    }
    const Tensor shapes = shape2_(torch::relu(shape1_(torch::stack(inputs))));  // [patterns, kShapeSize]
    const Tensor joined =
        torch::cat({torch::stack(rows), shapes}, 1);  // [patterns, num_features + kShapeSize]
    return head2_(torch::relu(head1_(joined)));
  }
  int size() const override { return model::kConvOut; }

  std::shared_ptr<const PreparedPattern> prepare(const matrix::SparseTensor& tensor) const override {
    WACO_ASSERT(tensor.order() == order_);
    auto pattern = std::make_shared<PackedPattern>();
    pattern->sites = model::PackedSites(model::sites_of(tensor, max_sites_));
    pattern->inputs = model::shape_inputs(tensor);
    return pattern;
  }

 protected:
  /// What the convolutions see of a pattern [num_features].
  virtual Tensor features(const PreparedPattern& pattern) = 0;

  /// Normal, with the deviation that keeps the size of gradients (He, fan-out), as in the paper's artifact.
  Tensor conv_weight(torch::nn::Module& owner, const std::string& name, std::vector<int64_t> shape) {
    const double fan_out = static_cast<double>(shape.front() * shape.back());
    const auto child = owner.register_module(name, std::make_shared<torch::nn::Module>());
    return child->register_parameter("weight", torch::randn(shape) * std::sqrt(2 / fan_out));
  }

  int order_;
  int64_t max_sites_;

 private:
  std::shared_ptr<torch::nn::Module> shape_;
  torch::nn::Linear shape1_{nullptr}, shape2_{nullptr}, head1_{nullptr}, head2_{nullptr};
};

model::Sites sites_of(const PreparedPattern& pattern) {
  return dynamic_cast<const PackedPattern&>(pattern).sites.unpack();
}

std::shared_ptr<const model::WindowMap> window_of(const model::Sites& sites) {
  return std::make_shared<model::WindowMap>(
      model::make_window_map(sites, model::kWindowWidth, torch::get_num_threads()));
}

class WacoNet : public ConvTorchExtractor {
 public:
  WacoNet(int order, int64_t max_sites)
      : ConvTorchExtractor(order, max_sites, (model::kStridedLayers + 1) * kConvChannels) {
    first_ = conv_weight(*this, "conv0", {model::window_size(order, model::kWindowWidth), kConvChannels});
    for (int n = 1; n <= model::kStridedLayers; ++n)
      layers_.push_back(conv_weight(*this, fmt::format("conv{}", n),
                                    {model::window_size(order, 3), kConvChannels, kConvChannels}));
  }

 protected:
  Tensor features(const PreparedPattern& pattern) override {
    const int threads = torch::get_num_threads();
    model::Sites sites = sites_of(pattern);
    ConvResult x = window_convolution(first_, window_of(sites));
    std::vector<Tensor> means = {x.mean};
    for (const Tensor& weight : layers_) {
      model::Sites coarse = model::halved(sites, threads);
      const auto map =
          std::make_shared<model::KernelMap>(model::make_kernel_map(sites, coarse, 3, 2, threads));
      x = sparse_convolution(x.values, weight, map, true);
      means.push_back(x.mean);
      sites = std::move(coarse);
    }
    return torch::cat(means);
  }

 private:
  Tensor first_;                ///< [windows, channels]
  std::vector<Tensor> layers_;  ///< [offsets, channels, channels] each
};

class Minkowski : public ConvTorchExtractor {
 public:
  Minkowski(int order, int64_t max_sites) : ConvTorchExtractor(order, max_sites, kConvChannels) {
    stem_ = conv_weight(*this, "stem", {model::window_size(order, model::kWindowWidth), kConvChannels});
    for (int b = 0; b < model::kResidualBlocks; ++b) {
      const auto block = register_module(fmt::format("block{}", b), std::make_shared<torch::nn::Module>());
      for (int n = 0; n < 2; ++n)
        layers_.push_back(conv_weight(*block, fmt::format("conv{}", n),
                                      {model::window_size(order, 3), kConvChannels, kConvChannels}));
    }
  }

 protected:
  Tensor features(const PreparedPattern& pattern) override {
    const model::Sites sites = sites_of(pattern);
    const auto map = std::make_shared<model::KernelMap>(
        model::make_kernel_map(sites, sites, 3, 1, torch::get_num_threads()));
    Tensor x = window_convolution(stem_, window_of(sites)).values;
    for (int b = 0; b < model::kResidualBlocks; ++b) {
      const Tensor hidden = sparse_convolution(x, layers_[2 * b], map, true).values;
      x = torch::relu(x + sparse_convolution(hidden, layers_[2 * b + 1], map, false).values);
    }
    return x.size(0) > 0 ? x.mean(0) : torch::zeros({kConvChannels});
  }

 private:
  Tensor stem_;                 ///< [windows, channels]
  std::vector<Tensor> layers_;  ///< two a block, [offsets, channels, channels] each
};

class DenseConv : public ConvTorchExtractor {
 public:
  DenseConv(int order, int64_t max_sites)
      : ConvTorchExtractor(order, max_sites, model::dense_conv_size(order).features) {
    const std::vector<int>& channels = model::dense_conv_size(order).channels;
    for (size_t n = 0; n + 1 < channels.size(); ++n)
      layers_.push_back(conv_weight(*this, fmt::format("conv{}", n),
                                    {model::window_size(order, 3), channels[n], channels[n + 1]}));
    for (model::KernelMap& map : model::grid_maps(order, torch::get_num_threads()))
      maps_.push_back(std::make_shared<model::KernelMap>(std::move(map)));
  }

  std::shared_ptr<const PreparedPattern> prepare(const matrix::SparseTensor& tensor) const override {
    auto pattern = std::make_shared<ImagePattern>();
    const std::vector<float> image = model::pattern_image(tensor, model::dense_conv_size(order_).side);
    pattern->image = torch::tensor(image).unsqueeze(1);
    pattern->inputs = model::shape_inputs(tensor);
    return pattern;
  }

 protected:
  Tensor features(const PreparedPattern& pattern) override {
    Tensor x = dynamic_cast<const ImagePattern&>(pattern).image;
    for (size_t n = 0; n < layers_.size(); ++n) x = sparse_convolution(x, layers_[n], maps_[n], true).values;
    return x.flatten();
  }

 private:
  std::vector<std::shared_ptr<const model::KernelMap>> maps_;
  std::vector<Tensor> layers_;  ///< [offsets, channels in, channels out] each
};

}  // namespace

std::shared_ptr<TorchExtractor> make_conv_torch_extractor(std::string_view name, int order,
                                                          int64_t max_sites) {
  WACO_ASSERT(order == 2 || order == 3);
  if (name == "waconet") return std::make_shared<WacoNet>(order, max_sites);
  if (name == "minkowski") return std::make_shared<Minkowski>(order, max_sites);
  if (name == "dense_conv") return std::make_shared<DenseConv>(order, max_sites);
  throw UsageError(fmt::format("no convolutional extractor is called '{}'", name));
}

}  // namespace waco::train
