// Inputs and kernel maps of the convolutional extractors.
#include "waco/model/conv/conv_networks.hpp"

#include <algorithm>
#include <cmath>

#include "waco/base/error.hpp"
#include "waco/model/learned/extractor.hpp"

namespace waco::model {

int64_t max_sites_of(const TensorFile& weights) {
  // A file may hold anything; a limit out of range would otherwise surface as a broken promise deep inside.
  const float limit = weights.get("extractor.max_sites", {1}).data[0];
  if (!(limit >= 64 && limit <= 1e9f))
    throw InputError("weights", 0, fmt::format("extractor.max_sites is {}, not between 64 and 1e9", limit));
  return static_cast<int64_t>(limit);
}

std::vector<float> shape_inputs(const matrix::SparseTensor& tensor) {
  std::vector<float> inputs = shape_features(tensor.dims, tensor.num_nonzeros());
  std::rotate(inputs.begin() + 2, inputs.begin() + 3, inputs.end());  // the nonzeros go last
  return inputs;
}

const DenseConvSize& dense_conv_size(int order) {
  static const DenseConvSize flat{256, {1, 16, 32, 32, 32, 32, 32}, 4 * 4 * 32};
  static const DenseConvSize solid{32, {1, 16, 32, 32, 32}, 2 * 2 * 2 * 32};
  return order == 2 ? flat : solid;
}

std::vector<float> pattern_image(const matrix::SparseTensor& tensor, int side) {
  const int order = tensor.order();
  int64_t cells = 1;
  for (int m = 0; m < order; ++m) cells *= side;
  std::vector<float> image(cells, 0.0f);
  std::vector<int64_t> counts(cells, 0);
  for (int64_t n = 0; n < tensor.num_nonzeros(); ++n) {
    int64_t cell = 0;
    for (int m = 0; m < order; ++m)
      cell = cell * side + static_cast<int64_t>(static_cast<__int128>(tensor.coords[m][n]) * side /
                                                std::max<int64_t>(tensor.dims[m], side));
    ++counts[cell];
  }
  for (int64_t c = 0; c < cells; ++c) image[c] = std::log1p(static_cast<float>(counts[c]));
  return image;
}

std::vector<KernelMap> grid_maps(int order, int threads) {
  const DenseConvSize& size = dense_conv_size(order);
  Sites sites = full_grid(order, size.side);
  std::vector<KernelMap> maps;
  for (size_t layer = 1; layer < size.channels.size(); ++layer) {
    Sites next = halved(sites, threads);
    maps.push_back(make_kernel_map(sites, next, 3, 2, threads));
    sites = std::move(next);
  }
  WACO_ASSERT(maps.back().num_out * size.channels.back() == size.features);
  return maps;
}

}  // namespace waco::model
