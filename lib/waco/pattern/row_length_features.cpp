// Row lengths as features: how long, how unequal, and what that costs vectors, slices and threads.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "waco/base/parallel.hpp"
#include "waco/pattern/row_lengths.hpp"

namespace waco::pattern {
namespace {

constexpr std::array<int64_t, 4> kLanes{4, 8, 16, 32};
constexpr std::array<int64_t, 3> kSortWindows{1, 64, 4096};
constexpr int64_t kSortedRows = 1024;  // of a window, for short sorts

void add_shape(const RowLengths& lengths, const std::string& what, FeatureList& features) {
  const auto rows = static_cast<double>(lengths.num_rows);
  const auto nonzeros = static_cast<double>(lengths.num_nonzeros);
  const double mean = rows > 0 ? nonzeros / rows : 0;
  double squares = 0;
  lengths.for_each_length([&](int64_t length, int64_t count) {
    squares += static_cast<double>(count) * (static_cast<double>(length) - mean) *
               (static_cast<double>(length) - mean);
  });
  const double deviation = rows > 0 ? std::sqrt(squares / rows) : 0;
  features.add(what + "_length_cv", std::log2(1 + (mean > 0 ? deviation / mean : 0)));
  features.add_log_ratio(what + "_length_max_to_mean", static_cast<double>(lengths.longest()), mean);
  features.add_share(what + "_empty", static_cast<double>(lengths.num_empty()), rows);
  features.add_share(what + "_length_changes", static_cast<double>(lengths.num_changes), rows);
}

/// Lengths that a share of the rows do not exceed.
void add_quantiles(const RowLengths& lengths, const std::string& what, FeatureList& features) {
  std::vector<std::pair<int64_t, int64_t>> ascending;
  lengths.for_each_length([&](int64_t length, int64_t count) { ascending.emplace_back(length, count); });
  std::reverse(ascending.begin(), ascending.end());
  for (const int percent : {5, 25, 50, 75, 95, 99}) {
    const double wanted = static_cast<double>(lengths.num_rows) * percent / 100;
    int64_t seen = 0, quantile = 0;
    for (const auto& [length, count] : ascending) {
      quantile = length;
      seen += count;
      if (static_cast<double>(seen) >= wanted) break;
    }
    features.add(fmt::format("{}_length_q{}", what, percent), std::log2(1 + static_cast<double>(quantile)));
  }
  for (const int64_t limit : {1, 2, 4, 8, 16, 32}) {
    int64_t short_rows = 0;
    for (int64_t length = 1; length <= limit; ++length)
      short_rows += lengths.num_of_length[static_cast<size_t>(length)];
    features.add_share(fmt::format("{}_length_to_{}", what, limit), static_cast<double>(short_rows),
                       static_cast<double>(lengths.num_rows));
  }
}

/// Share of the nonzeros in the longest rows.
void add_concentration(const RowLengths& lengths, const std::string& what, FeatureList& features) {
  for (const double share : {0.001, 0.01, 0.1}) {
    double left = std::max(1.0, share * static_cast<double>(lengths.num_rows)), nonzeros = 0;
    lengths.for_each_length([&](int64_t length, int64_t count) {
      const double taken = std::min(left, static_cast<double>(count));
      nonzeros += taken * static_cast<double>(length);
      left -= taken;
    });
    features.add_share(fmt::format("{}_longest_{}", what, share), nonzeros,
                       static_cast<double>(lengths.num_nonzeros));
  }
}

/// Most nonzeros of equal parts of the rows, over the mean.
void add_balance(const RowLengths& lengths, const std::string& what, FeatureList& features) {
  const auto nonzeros = static_cast<double>(lengths.num_nonzeros);
  for (const size_t parts : {2, 4, 16, 64}) {
    int64_t most = 0;
    for (size_t part = 0; part < 64; part += 64 / parts)
      most = std::max(most, lengths.part_begin[part + 64 / parts] - lengths.part_begin[part]);
    features.add_log_ratio(fmt::format("{}_imbalance_{}", what, parts),
                           static_cast<double>(most) * static_cast<double>(parts), nonzeros);
  }
  for (size_t c = 0; c < RowLengths::kChunks.size(); ++c) {
    const auto most = static_cast<double>(lengths.longest_chunk[c]);
    const double chunks =
        std::max(1.0, static_cast<double>(lengths.num_rows) / static_cast<double>(RowLengths::kChunks[c]));
    features.add_log_ratio(fmt::format("{}_chunk_{}_max_to_mean", what, RowLengths::kChunks[c]),
                           most * chunks, nonzeros);
    features.add_log_ratio(fmt::format("{}_chunk_{}_share", what, RowLengths::kChunks[c]), most, nonzeros);
  }
}

/// Every row rounded up to whole vectors.
void add_vector_padding(const RowLengths& lengths, const std::string& what, FeatureList& features) {
  for (const int64_t lanes : {2, 4, 8, 16}) {
    double padded = 0;
    lengths.for_each_length([&](int64_t length, int64_t count) {
      padded += static_cast<double>(count) * static_cast<double>((length + lanes - 1) / lanes * lanes);
    });
    features.add_log_ratio(fmt::format("{}_padded_{}", what, lanes), padded,
                           static_cast<double>(lengths.num_nonzeros));
  }
}

/// Sum of the slices' widths, lanes included.
int64_t padded_slices(const int32_t* lengths, int64_t rows, int64_t lanes) {
  int64_t sum = 0;
  for (int64_t row = 0; row < rows; row += lanes)
    sum += lanes * *std::max_element(lengths + row, lengths + std::min(rows, row + lanes));
  return sum;
}

/// Values stored by slices of all kLanes, in one window of rows: [kSortWindows][kLanes], and its nonzeros.
struct WindowPadding {
  std::array<std::array<int64_t, kLanes.size()>, kSortWindows.size()> stored{};
  std::array<int64_t, kSortWindows.size()> nonzeros{};
};

WindowPadding pad_window(std::vector<int32_t> lengths) {
  WindowPadding result;
  for (size_t s = 0; s < kSortWindows.size(); ++s) {
    const auto size = static_cast<int64_t>(lengths.size());
    // Sorting in short windows first leaves a full sort of the same rows right.
    const int64_t rows = kSortWindows[s] == 64 ? std::min(size, kSortedRows) : size;
    for (int64_t begin = 0; kSortWindows[s] > 1 && begin < rows; begin += kSortWindows[s])
      std::sort(lengths.begin() + begin, lengths.begin() + std::min(rows, begin + kSortWindows[s]),
                std::greater<>());
    for (size_t l = 0; l < kLanes.size(); ++l)
      result.stored[s][l] = padded_slices(lengths.data(), rows, kLanes[l]);
    for (int64_t row = 0; row < rows; ++row) result.nonzeros[s] += lengths[static_cast<size_t>(row)];
  }
  return result;
}

/// ELL and SELL-C-sigma storage over nonzeros, for sampled windows; sorted as a whole, exactly.
void add_slice_padding(const RowLengths& lengths, const std::string& what, int threads,
                       FeatureList& features) {
  std::vector<WindowPadding> windows(lengths.windows.size());
  for_each_parallel(static_cast<int64_t>(windows.size()), threads, [&](int64_t w) {
    windows[static_cast<size_t>(w)] = pad_window(lengths.windows[static_cast<size_t>(w)]);
  });
  for (size_t l = 0; l < kLanes.size(); ++l) {
    for (size_t s = 0; s < kSortWindows.size(); ++s) {
      double stored = 0, nonzeros = 0;
      for (const WindowPadding& window : windows) {
        stored += static_cast<double>(window.stored[s][l]);
        nonzeros += static_cast<double>(window.nonzeros[s]);
      }
      features.add_log_ratio(fmt::format("{}_slices_{}_sort_{}", what, kLanes[l], kSortWindows[s]), stored,
                             nonzeros);
    }
    double stored = 0;
    int64_t at = 0;  // rows so far, longest first; a slice is as wide as its first row
    lengths.for_each_length([&](int64_t length, int64_t count) {
      if (length == 0) return;
      const int64_t slices = (at + count + kLanes[l] - 1) / kLanes[l] - (at + kLanes[l] - 1) / kLanes[l];
      stored += static_cast<double>(slices * kLanes[l]) * static_cast<double>(length);
      at += count;
    });
    features.add_log_ratio(fmt::format("{}_slices_{}_sort_all", what, kLanes[l]), stored,
                           static_cast<double>(lengths.num_nonzeros));
  }
}

}  // namespace

void add_row_length_features(const RowLengths& lengths, const std::string& what, int threads,
                             FeatureList& features) {
  add_shape(lengths, what, features);
  add_quantiles(lengths, what, features);
  add_concentration(lengths, what, features);
  add_balance(lengths, what, features);
  add_vector_padding(lengths, what, features);
  add_slice_padding(lengths, what, threads, features);
}

}  // namespace waco::pattern
