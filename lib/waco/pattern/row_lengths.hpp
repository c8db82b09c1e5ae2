// Lengths of all rows (slices of mode 0) in one pass over the row coordinates, summed up in a histogram.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "waco/matrix/sparse_tensor.hpp"
#include "waco/pattern/feature_list.hpp"

namespace waco::pattern {

struct RowLengths {
  static constexpr int64_t kCounted = 4096;
  static constexpr int64_t kWindow = 4096;
  static constexpr std::array<int64_t, 2> kChunks{32, 128};

  int64_t num_rows = 0;
  int64_t num_nonzeros = 0;
  std::vector<int64_t> num_of_length;      ///< [kCounted]: rows by length; [0] are the empty ones
  std::vector<int64_t> longer;             ///< lengths from kCounted on, longest first
  int64_t num_changes = 0;                 ///< rows whose length differs from that of the row before
  std::array<int64_t, 2> longest_chunk{};  ///< most nonzeros in an aligned group of kChunks rows
  /// Lengths in sampled windows of kWindow consecutive rows (all of them when there are few).
  std::vector<std::vector<int32_t>> windows;
  /// First nonzero of each of 64 equal parts of the rows, and the end.
  std::array<int64_t, 65> part_begin{};

  int64_t num_empty() const { return num_of_length[0]; }
  int64_t longest() const;
  /// Calls use(length, number of rows) for every length there is, longest first, 0 last.
  template <typename Use>
  void for_each_length(Use use) const {
    for (const int64_t length : longer) use(length, int64_t{1});
    for (int64_t length = kCounted - 1; length >= 0; --length)
      if (num_of_length[static_cast<size_t>(length)] > 0)
        use(length, num_of_length[static_cast<size_t>(length)]);
  }
};

RowLengths measure_row_lengths(const matrix::SparseTensor& tensor, int threads);

/// Moments, quantiles, concentration, balance of equal cuts, padding of vectors and of slices. `what` begins
/// the names.
void add_row_length_features(const RowLengths& lengths, const std::string& what, int threads,
                             FeatureList& features);

}  // namespace waco::pattern
