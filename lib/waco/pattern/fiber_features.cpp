// Cells of many shapes are counted in each panel by hashed keys; fibers by comparing neighbours.
#include "waco/pattern/fiber_features.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "waco/base/parallel.hpp"
#include "waco/pattern/distinct_keys.hpp"
#include "waco/pattern/stamp_set.hpp"

namespace waco::pattern {
namespace {

constexpr int64_t kPanelNonzeros = 4096;
constexpr int64_t kMostPanels = 16;
constexpr int kSeenBits = 15;
constexpr int kLeftOut = 63;  // as a shift: every coordinate becomes 0
constexpr std::array<int64_t, 6> kFiberGaps{1, 4, 16, 256, 4096, INT64_MAX};

/// Cells of 2^shift in each mode.
struct NamedCells {
  const char* name;
  std::array<int, 3> shift;
};
constexpr std::array<NamedCells, 33> kCells{{
    {"slices", {0, kLeftOut, kLeftOut}},
    {"fibers", {0, 0, kLeftOut}},
    {"fibers_1", {0, kLeftOut, 0}},
    {"fibers_2rows", {1, 0, kLeftOut}},
    {"fibers_4rows", {2, 0, kLeftOut}},
    {"fibers_8rows", {3, 0, kLeftOut}},
    {"fibers_1_8rows", {3, kLeftOut, 0}},
    {"entries_2rows", {1, 0, 0}},
    {"entries_4rows", {2, 0, 0}},
    {"entries_8rows", {3, 0, 0}},
    {"entries_16rows", {4, 0, 0}},
    {"entries_2inner", {0, 0, 1}},
    {"entries_4inner", {0, 0, 2}},
    {"entries_16inner", {0, 0, 4}},
    {"entries_2middle", {0, 1, 0}},
    {"entries_4middle", {0, 2, 0}},
    {"middle_16", {0, 4, kLeftOut}},
    {"middle_256", {0, 8, kLeftOut}},
    {"middle_4096", {0, 12, kLeftOut}},
    {"inner_16", {0, kLeftOut, 4}},
    {"inner_256", {0, kLeftOut, 8}},
    {"inner_4096", {0, kLeftOut, 12}},
    {"blocks_2", {1, 1, 1}},
    {"blocks_4", {2, 2, 2}},
    {"blocks_8", {3, 3, 3}},
    {"blocks_16", {4, 4, 4}},
    {"blocks_32", {5, 5, 5}},
    {"blocks_64", {6, 6, 6}},
    {"blocks_128", {7, 7, 7}},
    {"blocks_256", {8, 8, 8}},
    {"blocks_1024", {10, 10, 10}},
    {"blocks_4096", {12, 12, 12}},
    {"blocks_16384", {14, 14, 14}},
}};

/// What was found in one panel, or in all of them.
struct FiberCounts {
  std::array<int64_t, kCells.size()> cells{};
  std::array<int64_t, kFiberGaps.size()> middle_gaps{}, inner_gaps{};
  std::array<int64_t, 16> fibers_of_bits{};  ///< fibers by bit_width(length) - 1
  int64_t nonzeros = 0;
  double squared_lengths = 0;  ///< of fibers
  int64_t longest_fiber = 0;

  void operator+=(const FiberCounts& other) {
    for (size_t c = 0; c < cells.size(); ++c) cells[c] += other.cells[c];
    for (size_t g = 0; g < kFiberGaps.size(); ++g) {
      middle_gaps[g] += other.middle_gaps[g];
      inner_gaps[g] += other.inner_gaps[g];
    }
    for (size_t b = 0; b < fibers_of_bits.size(); ++b) fibers_of_bits[b] += other.fibers_of_bits[b];
    nonzeros += other.nonzeros;
    squared_lengths += other.squared_lengths;
    longest_fiber = std::max(longest_fiber, other.longest_fiber);
  }
};

size_t gap_bin(int64_t gap) {
  size_t bin = 0;
  while (gap > kFiberGaps[bin]) ++bin;
  return bin;
}

class FiberCounter {
 public:
  explicit FiberCounter(const matrix::SparseTensor& tensor) : tensor_(tensor) {}

  FiberCounts count(int64_t begin, int64_t end) {
    FiberCounts counts;
    counts.nonzeros = end - begin;
    for (size_t c = 0; c < kCells.size(); ++c) counts.cells[c] = count_cells(kCells[c].shift, begin, end);
    count_fibers(begin, end, counts);
    return counts;
  }

 private:
  int64_t count_cells(const std::array<int, 3>& shift, int64_t begin, int64_t end) {
    const int64_t *i = tensor_.coords[0].data(), *k = tensor_.coords[1].data(), *l = tensor_.coords[2].data();
    seen_.restart();
    int64_t found = 0;
    for (int64_t n = begin; n < end; ++n) {
      const auto middle = static_cast<uint64_t>(k[n] >> shift[1]),
                 inner = static_cast<uint64_t>(l[n] >> shift[2]);
      const uint64_t item = hash_key((middle << 32) + inner + 1);
      found += seen_.insert(make_key(i[n] >> shift[0], static_cast<int64_t>(item >> 16)));
    }
    return found;
  }

  void count_fibers(int64_t begin, int64_t end, FiberCounts& counts) const {
    const std::vector<int64_t>&i = tensor_.coords[0], &k = tensor_.coords[1], &l = tensor_.coords[2];
    int64_t start = begin;
    for (int64_t n = begin + 1; n <= end; ++n) {
      const auto at = static_cast<size_t>(n);
      const bool same_slice = n < end && i[at] == i[at - 1];
      if (same_slice && k[at] == k[at - 1]) {
        ++counts.inner_gaps[gap_bin(l[at] - l[at - 1])];
        continue;
      }
      if (same_slice) ++counts.middle_gaps[gap_bin(k[at] - k[at - 1])];
      const int64_t length = n - start;
      const auto bits = static_cast<size_t>(std::bit_width(static_cast<uint64_t>(length)) - 1);
      ++counts.fibers_of_bits[std::min(bits, counts.fibers_of_bits.size() - 1)];
      counts.squared_lengths += static_cast<double>(length) * static_cast<double>(length);
      counts.longest_fiber = std::max(counts.longest_fiber, length);
      start = n;
    }
  }

  const matrix::SparseTensor& tensor_;
  StampSet seen_{kSeenBits};
};

/// Panels of about kPanelNonzeros that begin with a slice where slices are short, otherwise with a fiber.
std::vector<std::pair<int64_t, int64_t>> choose_panels(const matrix::SparseTensor& tensor) {
  const std::vector<int64_t>&i = tensor.coords[0], &k = tensor.coords[1];
  const int64_t nonzeros = tensor.num_nonzeros();
  const bool all = nonzeros <= kPanelNonzeros * kMostPanels;
  const auto starts_slice = [&](int64_t n) {
    return i[static_cast<size_t>(n)] != i[static_cast<size_t>(n - 1)];
  };
  const auto starts_fiber = [&](int64_t n) {
    return starts_slice(n) || k[static_cast<size_t>(n)] != k[static_cast<size_t>(n - 1)];
  };
  const auto boundary = [&](int64_t from) {
    const int64_t limit = std::min(nonzeros, from + kPanelNonzeros / 2);
    for (int64_t n = std::max<int64_t>(1, from); n < limit; ++n)
      if (starts_slice(n)) return n;
    for (int64_t n = std::max<int64_t>(1, from); n < limit; ++n)
      if (starts_fiber(n)) return n;
    return limit;
  };
  std::vector<std::pair<int64_t, int64_t>> panels;
  int64_t next = 0;
  for (int64_t p = 0; next < nonzeros && (all || p < kMostPanels); ++p) {
    const int64_t wanted = all ? next : std::max(next, nonzeros * p / kMostPanels);
    const int64_t begin = wanted == 0 || wanted == next ? wanted : boundary(wanted);
    next = begin + kPanelNonzeros >= nonzeros ? nonzeros : boundary(begin + kPanelNonzeros);
    if (begin < next) panels.emplace_back(begin, next);
  }
  return panels;
}

FiberCounts count_panels(const matrix::SparseTensor& tensor, int threads) {
  const auto panels = choose_panels(tensor);
  std::vector<FiberCounts> counts(panels.size());
  for_each_parallel(
      static_cast<int64_t>(panels.size()), threads, [&] { return FiberCounter(tensor); },
      [&](int64_t number, FiberCounter& counter) {
        const auto p = static_cast<size_t>(number);
        counts[p] = counter.count(panels[p].first, panels[p].second);
      });
  FiberCounts total;
  for (const FiberCounts& panel : counts) total += panel;
  return total;
}

}  // namespace

void add_fiber_features(const matrix::SparseTensor& tensor, int threads, FeatureList& features) {
  const FiberCounts counts = count_panels(tensor, threads);
  const auto nonzeros = static_cast<double>(counts.nonzeros);
  for (size_t c = 0; c < kCells.size(); ++c)
    features.add_log_ratio(kCells[c].name, static_cast<double>(counts.cells[c]), nonzeros);
  const auto fibers = static_cast<double>(counts.cells[1]);
  const double mean = fibers > 0 ? nonzeros / fibers : 0;
  const double variance = fibers > 0 ? std::max(0.0, counts.squared_lengths / fibers - mean * mean) : 0;
  features.add("fiber_length_cv", std::log2(1 + (mean > 0 ? std::sqrt(variance) / mean : 0)));
  features.add_log_ratio("fiber_length_max_to_mean", static_cast<double>(counts.longest_fiber), mean);
  for (size_t bits = 0; bits < 8; ++bits)
    features.add_share(fmt::format("fiber_length_bits_{}", bits),
                       static_cast<double>(counts.fibers_of_bits[bits]), fibers);
  for (size_t g = 0; g < kFiberGaps.size(); ++g) {
    const std::string limit =
        g + 1 < kFiberGaps.size() ? fmt::format("to_{}", kFiberGaps[g]) : std::string("longer");
    features.add_share("inner_gap_" + limit, static_cast<double>(counts.inner_gaps[g]), nonzeros);
    features.add_share("middle_gap_" + limit, static_cast<double>(counts.middle_gaps[g]), nonzeros);
  }
}

}  // namespace waco::pattern
