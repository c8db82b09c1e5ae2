// Sets of integer coordinates in 2-D and 3-D, where sparse convolutions have their values: sorted 64-bit
// keys, one a site. Sorted order makes hashing needless: neighbours are found by merging (kernel_map.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "waco/matrix/sparse_tensor.hpp"

namespace waco::model {

/// How coordinates are packed in a key, first mode in the highest bits, so that keys sort as coordinates do.
/// Every mode has room for coordinates up to its extent + 3, which windows around the last site may reach.
struct SiteLayout {
  int order = 2;                   ///< 2 or 3
  std::array<int, 3> shift{};      ///< [order] lowest bit of a mode; that of the last mode is 0
  std::array<uint64_t, 3> mask{};  ///< [order] of a coordinate before shifting
  std::array<int, 3>
      dropped_bits{};  ///< [order] low bits of coordinates left out where 64 bits don't suffice

  int64_t coordinate(uint64_t key, int mode) const {
    return static_cast<int64_t>((key >> shift[mode]) & mask[mode]);
  }
};

/// The layout for extents of `dims` [order]. Modes too long for 64 bits together lose low bits, the longest
/// first.
SiteLayout make_site_layout(const std::vector<int64_t>& dims);

struct Sites {
  SiteLayout layout;
  std::vector<uint64_t> keys;  ///< sorted, distinct

  int64_t size() const { return static_cast<int64_t>(keys.size()); }
};

/// The nonzeros of `tensor`. Of more than `max_sites` (at least 64), that many in 64 panels of consecutive
/// nonzeros, evenly spread: local structure stays, coarse levels see gaps.
Sites sites_of(const matrix::SparseTensor& tensor, int64_t max_sites);

/// Sites of a convolution of stride 2: floor(c / 2), for every site c, without duplicates.
Sites halved(const Sites& sites, int threads);

/// All sites of a square or cube of `side`, in row-major order.
Sites full_grid(int order, int64_t side);

/// Sites as differences of consecutive keys in as few bytes as they need.
class PackedSites {
 public:
  PackedSites() = default;
  explicit PackedSites(const Sites& sites);
  Sites unpack() const;
  int64_t bytes() const { return static_cast<int64_t>(bytes_.capacity()); }
  int64_t size() const { return size_; }

 private:
  SiteLayout layout_;
  int64_t size_ = 0;
  std::vector<uint8_t> bytes_;  ///< 7 bits a byte, low bits first, the high bit set in all but the last
};

}  // namespace waco::model
