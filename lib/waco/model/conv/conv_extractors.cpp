// The three networks share their ends: features of the convolutions and a branch for the shape go through two
// fully connected layers.
#include "waco/model/conv/conv_extractors.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>

#include "waco/base/error.hpp"
#include "waco/model/conv/conv_networks.hpp"
#include "waco/model/conv/convolution.hpp"
#include "waco/model/learned/dense.hpp"

namespace waco::model {
namespace {

std::vector<float> apply(const Dense& layer, const std::vector<float>& x, bool relu) {
  std::vector<float> y(static_cast<size_t>(layer.padded));
  layer.apply(x.data(), layer.inputs, 1, y.data());
  if (relu) dense_kernels().relu(y.data(), layer.padded);
  y.resize(static_cast<size_t>(layer.outputs));
  return y;
}

class ConvExtractor : public Extractor {
 public:
  ConvExtractor(const TensorFile& file, int order, int num_features)
      : order_(order),
        input_(file, "features", order + 1),
        shape1_(file, "extractor.shape.fc1", kShapeHidden, order + 1),
        shape2_(file, "extractor.shape.fc2", kShapeSize, kShapeHidden),
        head1_(file, "extractor.fc1", kHeadHidden, num_features + kShapeSize),
        head2_(file, "extractor.fc2", kConvOut, kHeadHidden) {
    max_sites_ = max_sites_of(file);
  }

  std::vector<float> extract(pattern::LazyFeatures& pattern) const override {
    const matrix::SparseTensor& tensor = pattern.tensor();
    WACO_ASSERT(tensor.order() == order_);
    std::vector<float> x = features(tensor, omp_get_max_threads());
    std::vector<float> shape = shape_inputs(tensor);
    input_.apply(shape.data(), shape.data());
    shape = apply(shape2_, apply(shape1_, shape, true), false);
    x.insert(x.end(), shape.begin(), shape.end());
    return apply(head2_, apply(head1_, x, true), false);
  }
  int size() const override { return kConvOut; }

 protected:
  /// What the convolutions see [num_features].
  virtual std::vector<float> features(const matrix::SparseTensor& tensor, int threads) const = 0;

  int order_;
  int64_t max_sites_ = 0;

 private:
  Standardisation input_;
  Dense shape1_, shape2_, head1_, head2_;
};

std::vector<float> conv_weight(const TensorFile& file, const std::string& name, std::vector<int64_t> shape) {
  return file.get("extractor." + name + ".weight", shape).data;
}

class WacoNet : public ConvExtractor {
 public:
  WacoNet(const TensorFile& file, int order)
      : ConvExtractor(file, order, (kStridedLayers + 1) * kConvChannels) {
    first_ = conv_weight(file, "conv0", {window_size(order, kWindowWidth), kConvChannels});
    for (int n = 1; n <= kStridedLayers; ++n)
      layers_.push_back(
          conv_weight(file, fmt::format("conv{}", n), {window_size(order, 3), kConvChannels, kConvChannels}));
  }

 protected:
  std::vector<float> features(const matrix::SparseTensor& tensor, int threads) const override {
    constexpr int kC = kConvChannels;
    Sites sites = sites_of(tensor, max_sites_);
    std::vector<float> means((kStridedLayers + 1) * kC);
    std::vector<float> x(sites.size() * kC), y;
    convolve_windows(make_window_map(sites, kWindowWidth, threads), first_.data(), kC, true, x.data(),
                     threads);
    column_means(x.data(), sites.size(), kC, means.data(), threads);
    for (int n = 0; n < kStridedLayers; ++n) {
      Sites coarse = halved(sites, threads);
      y.resize(coarse.size() * kC);
      convolve(make_kernel_map(sites, coarse, 3, 2, threads), x.data(), layers_[n].data(), kC, kC, true,
               y.data(), threads);
      column_means(y.data(), coarse.size(), kC, &means[(n + 1) * kC], threads);
      std::swap(x, y);
      sites = std::move(coarse);
    }
    return means;
  }

 private:
  std::vector<float> first_;                ///< [windows, channels]
  std::vector<std::vector<float>> layers_;  ///< [offsets, channels, channels] each
};

class Minkowski : public ConvExtractor {
 public:
  Minkowski(const TensorFile& file, int order) : ConvExtractor(file, order, kConvChannels) {
    stem_ = conv_weight(file, "stem", {window_size(order, kWindowWidth), kConvChannels});
    for (int n = 0; n < 2 * kResidualBlocks; ++n)
      layers_.push_back(conv_weight(file, fmt::format("block{}.conv{}", n / 2, n % 2),
                                    {window_size(order, 3), kConvChannels, kConvChannels}));
  }

 protected:
  std::vector<float> features(const matrix::SparseTensor& tensor, int threads) const override {
    constexpr int kC = kConvChannels;
    const Sites sites = sites_of(tensor, max_sites_);
    std::vector<float> x(sites.size() * kC), hidden(x.size()), y(x.size()), means(kC);
    convolve_windows(make_window_map(sites, kWindowWidth, threads), stem_.data(), kC, true, x.data(),
                     threads);
    const KernelMap map = make_kernel_map(sites, sites, 3, 1, threads);
    for (int b = 0; b < kResidualBlocks; ++b) {
      convolve(map, x.data(), layers_[2 * b].data(), kC, kC, true, hidden.data(), threads);
      convolve(map, hidden.data(), layers_[2 * b + 1].data(), kC, kC, false, y.data(), threads);
      for (size_t n = 0; n < x.size(); ++n) x[n] = std::max(x[n] + y[n], 0.0f);
    }
    column_means(x.data(), sites.size(), kC, means.data(), threads);
    return means;
  }

 private:
  std::vector<float> stem_;                 ///< [windows, channels]
  std::vector<std::vector<float>> layers_;  ///< two a block, [offsets, channels, channels] each
};

class DenseConv : public ConvExtractor {
 public:
  DenseConv(const TensorFile& file, int order)
      : ConvExtractor(file, order, dense_conv_size(order).features),
        maps_(grid_maps(order, omp_get_max_threads())) {
    const std::vector<int>& channels = dense_conv_size(order).channels;
    for (size_t n = 0; n + 1 < channels.size(); ++n)
      layers_.push_back(
          conv_weight(file, fmt::format("conv{}", n), {window_size(order, 3), channels[n], channels[n + 1]}));
  }

 protected:
  std::vector<float> features(const matrix::SparseTensor& tensor, int threads) const override {
    const DenseConvSize& size = dense_conv_size(order_);
    std::vector<float> x = pattern_image(tensor, size.side), y;
    for (size_t n = 0; n < layers_.size(); ++n) {
      y.resize(maps_[n].num_out * size.channels[n + 1]);
      convolve(maps_[n], x.data(), layers_[n].data(), size.channels[n], size.channels[n + 1], true, y.data(),
               threads);
      std::swap(x, y);
    }
    return x;
  }

 private:
  std::vector<KernelMap> maps_;
  std::vector<std::vector<float>> layers_;  ///< [offsets, channels in, channels out] each
};

}  // namespace

std::unique_ptr<Extractor> make_conv_extractor(std::string_view name, int order, const TensorFile& weights) {
  WACO_ASSERT(order == 2 || order == 3);
  if (name == "waconet") return std::make_unique<WacoNet>(weights, order);
  if (name == "minkowski") return std::make_unique<Minkowski>(weights, order);
  if (name == "dense_conv") return std::make_unique<DenseConv>(weights, order);
  throw UsageError(fmt::format("no convolutional extractor is called '{}'", name));
}

}  // namespace waco::model
