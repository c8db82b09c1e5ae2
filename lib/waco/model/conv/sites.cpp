// Building, halving and packing sets of sites.
#include "waco/model/conv/sites.hpp"

#include <omp.h>

#include <algorithm>
#include <bit>

#include "waco/base/error.hpp"

namespace waco::model {
namespace {

constexpr uint64_t kMargin = 4;  ///< how far windows around the last site of an odd extent reach, and more

}  // namespace

SiteLayout make_site_layout(const std::vector<int64_t>& dims) {
  WACO_ASSERT(dims.size() == 2 || dims.size() == 3);
  SiteLayout layout;
  layout.order = static_cast<int>(dims.size());
  std::array<int, 3> bits{};
  const auto fit = [&](int m) {
    const auto last = static_cast<uint64_t>(std::max<int64_t>(dims[m] - 1, 0));
    bits[m] = std::bit_width((last >> layout.dropped_bits[m]) + kMargin);
  };
  for (int m = 0; m < layout.order; ++m) fit(m);
  while (bits[0] + bits[1] + bits[2] > 63) {
    const auto longest = static_cast<int>(std::max_element(bits.begin(), bits.end()) - bits.begin());
    ++layout.dropped_bits[longest];
    fit(longest);
  }
  int shift = 0;
  for (int m = layout.order - 1; m >= 0; --m) {
    layout.shift[m] = shift;
    layout.mask[m] = (uint64_t{1} << bits[m]) - 1;
    shift += bits[m];
  }
  return layout;
}

namespace {

constexpr int64_t kPanels = 64;

uint64_t key_of(const matrix::SparseTensor& tensor, const SiteLayout& layout, int64_t n) {
  uint64_t key = 0;
  for (int m = 0; m < layout.order; ++m)
    key |= (static_cast<uint64_t>(tensor.coords[m][n]) >> layout.dropped_bits[m]) << layout.shift[m];
  return key;
}

/// `key` with the coordinate of `mode` halved.
uint64_t halve_mode(uint64_t key, const SiteLayout& layout, int mode) {
  const uint64_t field = layout.mask[mode] << layout.shift[mode];
  return (key & ~field) | (((key & field) >> 1) & field);
}

/// Bits of `key` that two sites share when they fall together in all modes up to `mode`, that one halved.
uint64_t group_mask(const SiteLayout& layout, int mode) {
  return ~uint64_t{0} << layout.shift[mode] << 1;
}

/// Appends the sites of [begin, end), whole groups of `mode`, with that mode halved. A group is at most two
/// sorted runs, of even and of odd coordinates, which are merged.
void halve_range(const uint64_t* keys, int64_t begin, int64_t end, const SiteLayout& layout, int mode,
                 std::vector<uint64_t>& out) {
  const uint64_t group = group_mask(layout, mode), odd = uint64_t{1} << layout.shift[mode];
  int64_t at = begin;
  while (at < end) {
    const uint64_t prefix = keys[at] & group;
    int64_t middle = at;
    while (middle < end && (keys[middle] & (group | odd)) == prefix) ++middle;
    int64_t stop = middle;
    while (stop < end && (keys[stop] & group) == prefix) ++stop;
    int64_t a = at, b = middle;
    while (a < middle && b < stop) {
      const uint64_t even_key = keys[a], odd_key = keys[b] ^ odd;
      out.push_back(halve_mode(std::min(even_key, odd_key), layout, mode));
      a += even_key <= odd_key;
      b += odd_key <= even_key;
    }
    for (; a < middle; ++a) out.push_back(halve_mode(keys[a], layout, mode));
    for (; b < stop; ++b) out.push_back(halve_mode(keys[b], layout, mode));
    at = stop;
  }
}

/// Halves one mode of all sites; those of later modes are halved already. Ranges end where groups do, so the
/// result doesn't depend on their number.
std::vector<uint64_t> halve_one_mode(const std::vector<uint64_t>& keys, const SiteLayout& layout, int mode,
                                     int threads) {
  const auto count = static_cast<int64_t>(keys.size());
  const uint64_t group = group_mask(layout, mode);
  std::vector<int64_t> bounds(threads + 1, count);
  bounds[0] = 0;
  for (int t = 1; t < threads; ++t) {
    int64_t at = std::max(count * t / threads, bounds[t - 1]);
    while (at > 0 && at < count && (keys[at] & group) == (keys[at - 1] & group)) ++at;
    bounds[t] = at;
  }
  std::vector<std::vector<uint64_t>> parts(threads);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    parts[t].reserve(bounds[t + 1] - bounds[t]);
    halve_range(keys.data(), bounds[t], bounds[t + 1], layout, mode, parts[t]);
  }
  for (int t = 1; t < threads; ++t) parts[0].insert(parts[0].end(), parts[t].begin(), parts[t].end());
  return std::move(parts[0]);
}

}  // namespace

Sites sites_of(const matrix::SparseTensor& tensor, int64_t max_sites) {
  WACO_ASSERT(max_sites >= kPanels);
  Sites sites{make_site_layout(tensor.dims), {}};
  const int64_t nonzeros = tensor.num_nonzeros();
  const bool all = nonzeros <= max_sites;
  const int64_t panels = all ? 1 : kPanels;
  sites.keys.reserve(std::min(nonzeros, max_sites));
  for (int64_t p = 0; p < panels; ++p) {
    const int64_t begin = nonzeros / panels * p;
    const int64_t end = all ? nonzeros : begin + max_sites / panels;
    for (int64_t n = begin; n < end; ++n) sites.keys.push_back(key_of(tensor, sites.layout, n));
  }
  if (sites.layout.dropped_bits != std::array<int, 3>{}) {
    std::sort(sites.keys.begin(), sites.keys.end());
    sites.keys.erase(std::unique(sites.keys.begin(), sites.keys.end()), sites.keys.end());
  }
  return sites;
}

Sites halved(const Sites& sites, int threads) {
  Sites out{sites.layout, {}};
  threads = std::max(1, static_cast<int>(std::min<int64_t>(threads, sites.size() / 4096)));
  const std::vector<uint64_t>* keys = &sites.keys;
  for (int mode = sites.layout.order - 1; mode >= 0; --mode) {
    out.keys = halve_one_mode(*keys, sites.layout, mode, threads);
    keys = &out.keys;
  }
  return out;
}

Sites full_grid(int order, int64_t side) {
  Sites sites{make_site_layout(std::vector<int64_t>(order, side)), {}};
  const int64_t count = order == 2 ? side * side : side * side * side;
  for (int64_t n = 0; n < count; ++n) {
    uint64_t key = 0;
    int64_t rest = n;
    for (int m = order - 1; m >= 0; --m, rest /= side)
      key |= static_cast<uint64_t>(rest % side) << sites.layout.shift[m];
    sites.keys.push_back(key);
  }
  return sites;
}

PackedSites::PackedSites(const Sites& sites) : layout_(sites.layout), size_(sites.size()) {
  bytes_.reserve(sites.keys.size() * 3);
  uint64_t last = 0;
  for (const uint64_t key : sites.keys) {
    uint64_t step = key - last;
    for (; step >= 128; step >>= 7) bytes_.push_back(static_cast<uint8_t>(step | 128));
    bytes_.push_back(static_cast<uint8_t>(step));
    last = key;
  }
  bytes_.shrink_to_fit();
}

Sites PackedSites::unpack() const {
  Sites sites{layout_, {}};
  sites.keys.resize(static_cast<size_t>(size_));
  const uint8_t* at = bytes_.data();
  uint64_t key = 0;
  for (uint64_t& out : sites.keys) {
    uint64_t step = 0;
    for (int shift = 0;; shift += 7) {
      const uint8_t byte = *at++;
      step |= static_cast<uint64_t>(byte & 127) << shift;
      if (byte < 128) break;
    }
    out = key += step;
  }
  return sites;
}

}  // namespace waco::model
