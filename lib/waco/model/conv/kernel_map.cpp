// Building kernel maps by merging: outputs in order ask for input windows in order, so for each row of the
// window a cursor walks the sorted inputs once.
#include "waco/model/conv/kernel_map.hpp"

#include <algorithm>
#include <array>
#include <memory>

#include "waco/base/error.hpp"

namespace waco::model {
namespace {

constexpr int kMaxOffsets = 125;

/// Where a window lies, seen from an output site: one row of it along the last mode.
struct WindowRow {
  std::array<int64_t, 2> shift{};  ///< in all modes but the last
};

std::vector<WindowRow> window_rows(int order, int width) {
  const int radius = width / 2;
  std::vector<WindowRow> rows;
  for (int a = -radius; a <= radius; ++a) {
    if (order == 2) rows.push_back({{a, 0}});
    for (int b = -radius; order == 3 && b <= radius; ++b) rows.push_back({{a, b}});
  }
  return rows;
}

/// Calls found(offset, input, output) for each pair of the outputs [begin, end), row of the window by row.
template <class Found>
void for_each_pair(const Sites& in, const Sites& out, int width, int stride, int64_t begin, int64_t end,
                   const Found& found) {
  const SiteLayout& layout = in.layout;
  const int order = layout.order, radius = width / 2;
  const uint64_t* keys = in.keys.data();
  const int64_t count = in.size();
  int offset = 0;
  for (const WindowRow& row : window_rows(order, width)) {
    int64_t cursor = -1;
    for (int64_t o = begin; o < end; ++o) {
      const uint64_t key = out.keys[o];
      uint64_t base = 0;  // key of the row's first site, were its last coordinate 0
      bool outside = false;
      for (int m = 0; m + 1 < order; ++m) {
        const int64_t c = layout.coordinate(key, m) * stride + row.shift[m];
        outside |= c < 0;
        base |= static_cast<uint64_t>(c) << layout.shift[m];
      }
      if (outside) continue;
      const int64_t centre = static_cast<int64_t>(key & layout.mask[order - 1]) * stride;
      const uint64_t low = base + static_cast<uint64_t>(std::max<int64_t>(centre - radius, 0));
      const uint64_t high = base + static_cast<uint64_t>(centre + radius);
      if (cursor < 0) cursor = std::lower_bound(keys, keys + count, low) - keys;
      while (cursor < count && keys[cursor] < low) ++cursor;
      const uint64_t zero = base + static_cast<uint64_t>(centre);  // the middle of the row
      for (int64_t at = cursor; at < count && keys[at] <= high; ++at)
        found(offset + radius + static_cast<int>(static_cast<int64_t>(keys[at] - zero)),
              static_cast<int32_t>(at), o);
    }
    offset += width;
  }
}

/// Pairs of consecutive blocks, made by one thread.
struct MapPart {
  std::vector<int64_t> counts;  ///< [blocks * offsets]
  std::vector<int32_t> in;
  std::vector<uint8_t> out;
};

/// One block's pairs sorted by offset; an offset has at most one pair an output.
struct BlockScratch {
  int32_t in[kMaxOffsets][KernelMap::kBlock];
  uint8_t out[kMaxOffsets][KernelMap::kBlock];
  int count[kMaxOffsets];

  void flush(int offsets, MapPart& part) {
    for (int k = 0; k < offsets; ++k) {
      part.counts.push_back(count[k]);
      part.in.insert(part.in.end(), in[k], in[k] + count[k]);
      part.out.insert(part.out.end(), out[k], out[k] + count[k]);
    }
  }
};

KernelMap joined(std::vector<MapPart> parts, KernelMap map) {
  map.segments.reserve(map.num_blocks() * map.num_offsets + 1);
  map.segments.push_back(0);
  for (const MapPart& part : parts)
    for (const int64_t count : part.counts) map.segments.push_back(map.segments.back() + count);
  if (parts.size() == 1) {
    map.in = std::move(parts[0].in);
    map.out = std::move(parts[0].out);
    return map;
  }
  map.in.reserve(map.segments.back());
  map.out.reserve(map.segments.back());
  for (const MapPart& part : parts) {
    map.in.insert(map.in.end(), part.in.begin(), part.in.end());
    map.out.insert(map.out.end(), part.out.begin(), part.out.end());
  }
  return map;
}

int threads_for(int64_t blocks, int threads) {
  return static_cast<int>(std::clamp<int64_t>(blocks / 8, 1, std::max(threads, 1)));
}

}  // namespace

int window_size(int order, int width) {
  return order == 2 ? width * width : width * width * width;
}

KernelMap make_kernel_map(const Sites& in, const Sites& out, int width, int stride, int threads) {
  WACO_ASSERT((width == 3 || width == 5) && (stride == 1 || stride == 2));
  WACO_ASSERT(in.size() <= INT32_MAX);
  KernelMap map;
  map.num_in = in.size();
  map.num_out = out.size();
  map.num_offsets = window_size(in.layout.order, width);
  const int64_t blocks = map.num_blocks();
  threads = threads_for(blocks, threads);
  std::vector<MapPart> parts(threads);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    const auto scratch = std::make_unique<BlockScratch>();
    for (int64_t b = blocks * t / threads; b < blocks * (t + 1) / threads; ++b) {
      const int64_t begin = b * KernelMap::kBlock, end = std::min(begin + KernelMap::kBlock, map.num_out);
      std::fill_n(scratch->count, map.num_offsets, 0);
      for_each_pair(in, out, width, stride, begin, end, [&](int offset, int32_t input, int64_t output) {
        const int n = scratch->count[offset]++;
        scratch->in[offset][n] = input;
        scratch->out[offset][n] = static_cast<uint8_t>(output - begin);
      });
      scratch->flush(map.num_offsets, parts[t]);
    }
  }
  return joined(std::move(parts), std::move(map));
}

KernelMap transposed(const KernelMap& map, int threads) {
  KernelMap result;
  result.num_in = map.num_out;
  result.num_out = map.num_in;
  result.num_offsets = map.num_offsets;
  const int64_t offsets = map.num_offsets;
  std::vector<int64_t> next(result.num_blocks() * offsets + 1, 0);
  // Inputs of one offset ascend with its outputs, so filling in the order of the map leaves segments sorted.
  // Each thread takes every n-th offset: it writes to segments of those only.
  const int num_threads = map.num_pairs() < 65536 ? 1 : std::max(threads, 1);
  const auto for_each = [&](int64_t k, const auto& visit) {
    for (int64_t b = 0; b < map.num_blocks(); ++b)
      for (int64_t n = map.segments[b * offsets + k]; n < map.segments[b * offsets + k + 1]; ++n)
        visit(map.in[n], static_cast<int32_t>(b * KernelMap::kBlock + map.out[n]));
  };
#pragma omp parallel for num_threads(num_threads) schedule(dynamic, 1)
  for (int64_t k = 0; k < offsets; ++k)
    for_each(k, [&](int32_t in, int32_t) { ++next[in / KernelMap::kBlock * offsets + k + 1]; });
  for (size_t s = 1; s < next.size(); ++s) next[s] += next[s - 1];
  result.segments = next;
  result.in.resize(map.in.size());
  result.out.resize(map.out.size());
#pragma omp parallel for num_threads(num_threads) schedule(dynamic, 1)
  for (int64_t k = 0; k < offsets; ++k)
    for_each(k, [&](int32_t in, int32_t out) {
      const int64_t at = next[in / KernelMap::kBlock * offsets + k]++;
      result.in[at] = out;
      result.out[at] = static_cast<uint8_t>(in % KernelMap::kBlock);
    });
  return result;
}

WindowMap make_window_map(const Sites& sites, int width, int threads) {
  WACO_ASSERT(width == 3 || width == 5);
  constexpr int kBlock = KernelMap::kBlock;
  const int64_t blocks = (sites.size() + kBlock - 1) / kBlock;
  threads = threads_for(blocks, threads);
  WindowMap map;
  map.num_offsets = window_size(sites.layout.order, width);
  map.first.assign(sites.size() + 1, 0);
  std::vector<std::vector<uint8_t>> parts(threads);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    std::vector<uint8_t> scratch(kBlock * kMaxOffsets);
    for (int64_t b = blocks * t / threads; b < blocks * (t + 1) / threads; ++b) {
      const int64_t begin = b * kBlock, end = std::min(begin + kBlock, sites.size());
      for_each_pair(sites, sites, width, 1, begin, end, [&](int offset, int32_t, int64_t site) {
        scratch[(site - begin) * kMaxOffsets + map.first[site + 1]++] = static_cast<uint8_t>(offset);
      });
      for (int64_t s = begin; s < end; ++s) {
        const auto row = scratch.begin() + (s - begin) * kMaxOffsets;
        parts[t].insert(parts[t].end(), row, row + map.first[s + 1]);
      }
    }
  }
  for (int64_t s = 0; s < sites.size(); ++s) map.first[s + 1] += map.first[s];
  map.offsets = std::move(parts[0]);
  for (int t = 1; t < threads; ++t) map.offsets.insert(map.offsets.end(), parts[t].begin(), parts[t].end());
  return map;
}

}  // namespace waco::model
