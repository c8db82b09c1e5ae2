// Which input site meets which output site under which weight of a sparse convolution. Coordinates and
// strides are those of MinkowskiEngine: an output o sees the inputs o * stride + d for -radius <= d <= radius
// in every mode.
#pragma once

#include <cstdint>
#include <vector>

#include "waco/model/conv/sites.hpp"

namespace waco::model {

/// Pairs of input and output, in blocks of consecutive outputs, so that a thread owns what it writes; within
/// a block by offset, within an offset by output. Offsets count windows in row-major order.
struct KernelMap {
  static constexpr int kBlock = 256;  ///< outputs a block

  int64_t num_in = 0, num_out = 0;
  int num_offsets = 0;
  std::vector<int64_t> segments;  ///< [num_blocks() * num_offsets + 1] first pair of a block and offset
  std::vector<int32_t> in;        ///< [pairs] input site
  std::vector<uint8_t> out;       ///< [pairs] output site within its block

  int64_t num_blocks() const { return (num_out + kBlock - 1) / kBlock; }
  int64_t num_pairs() const { return static_cast<int64_t>(in.size()); }
};

/// Weights of a window: width to the power of order.
int window_size(int order, int width);

/// `width` 3 or 5 (odd); `stride` 1 (out: in itself) or 2 (out: halved(in)).
KernelMap make_kernel_map(const Sites& in, const Sites& out, int width, int stride, int threads);

/// The map of the gradient: inputs and outputs exchanged, the same offsets.
KernelMap transposed(const KernelMap& map, int threads);

/// Which cells of its window are occupied, for each site: all that the first convolution sees of a binary
/// pattern.
struct WindowMap {
  int num_offsets = 0;
  std::vector<int64_t> first;    ///< [sites + 1]
  std::vector<uint8_t> offsets;  ///< [first.back()] occupied offsets, ascending

  int64_t num_sites() const { return static_cast<int64_t>(first.size()) - 1; }
};

/// Stride 1; `width` 3 or 5.
WindowMap make_window_map(const Sites& sites, int width, int threads);

}  // namespace waco::model
