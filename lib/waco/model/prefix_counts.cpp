// Counting distinct coordinate tuples: exactly where that is cheap, else from panels of rows or a sample of
// tuples.
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>

#include "waco/base/parallel.hpp"
#include "waco/model/pattern_profile.hpp"

namespace waco::model {

namespace {

constexpr int64_t kPanelNonzeros = 50000;  // counted per question
constexpr int64_t kMatrixPanels = 16;
constexpr int64_t kTensorPanels = 4;     // slices of the first mode are long: fewer panels hold more of them
constexpr double kTrustedSample = 1000;  // distinct tuples of a sample large enough to be scaled up
constexpr int64_t kExactNonzeros = 2 * kPanelNonzeros;
constexpr int64_t kWorthThreads = 1 << 17;  // nonzeros

uint64_t mix(uint64_t h, uint64_t coordinate) {
  h = (h ^ coordinate) * 0x9e3779b97f4a7c15ull;
  return h ^ (h >> 29);
}

/// An open-addressing set of 64-bit hashes in memory that outlives it, so that the next set finds its pages
/// mapped.
class HashSet {
 public:
  HashSet(std::vector<uint64_t>& slots, size_t expected) : slots_(slots) {
    slots_.assign(std::bit_ceil(expected * 2 + 16), 0);
  }
  void insert(uint64_t hash) {
    hash |= 1;
    size_t at = place(hash);
    while (slots_[at] != 0 && slots_[at] != hash) at = (at + 1) & (slots_.size() - 1);
    if (slots_[at] == hash) return;
    slots_[at] = hash;
    if (++size_ * 4 > slots_.size() * 3) grow();
  }
  double size() const { return static_cast<double>(size_); }

 private:
  size_t place(uint64_t hash) const { return (hash >> 20) & (slots_.size() - 1); }
  void grow() {
    std::vector<uint64_t> old(slots_.size() * 2, 0);
    old.swap(slots_);
    for (const uint64_t hash : old) {
      if (hash == 0) continue;
      size_t at = place(hash);
      while (slots_[at] != 0) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = hash;
    }
  }

  std::vector<uint64_t>& slots_;
  size_t size_ = 0;
};

/// Hashes the cells that coordinates are in; powers of two are shifted.
class TupleHash {
 public:
  TupleHash(const std::array<std::span<const int64_t>, 3>& coords, const CellShape& cell, int order) {
    for (int m = 0; m < order; m++) {
      if (cell[m] == 0) continue;
      const auto granule = static_cast<uint32_t>(std::min<int64_t>(cell[m], INT32_MAX));
      parts_.push_back(
          {coords[m].data(), granule, std::has_single_bit(granule) ? std::countr_zero(granule) : -1});
    }
  }
  uint64_t operator()(int64_t n) const {
    uint64_t h = 0x1234567;
    for (const Part& part : parts_) {
      const auto c = static_cast<uint32_t>(part.coords[n]);
      h = mix(h, part.shift >= 0 ? c >> part.shift : c / part.granule);
    }
    return mix(h, 0x51ed27);
  }

 private:
  struct Part {
    const int64_t* coords;
    uint32_t granule;
    int shift;
  };
  std::vector<Part> parts_;
};

}  // namespace

void PatternProfile::choose_panels() {
  const int64_t nnz = static_cast<int64_t>(coords_[0].size());
  const int64_t rows = static_cast<int64_t>(row_pointers_.size()) - 1;
  if (nnz <= kExactNonzeros) {
    panels_ = {{0, nnz}};
    return;
  }
  const int64_t num_panels = order_ == 2 ? kMatrixPanels : kTensorPanels;
  int64_t end_row = 0;
  for (int64_t p = 0; p < num_panels; p++) {
    const int64_t at = nnz / num_panels * p;
    int64_t row = std::max<int64_t>(coords_[0][static_cast<size_t>(at)], end_row);
    const int64_t begin_row = row;
    while (row < rows && row_pointers_[row] - row_pointers_[begin_row] < kPanelNonzeros / num_panels) row++;
    if (row_pointers_[row] == row_pointers_[begin_row]) continue;
    panels_.push_back({row_pointers_[begin_row], row_pointers_[row]});
    end_row = row;
  }
}

/// Panels at the same places that are cut between granules of rows, at least as long; none when they would
/// hold much of the pattern.
std::vector<PatternProfile::Panel> PatternProfile::whole_panels(int64_t granule) const {
  constexpr int64_t kMostNonzeros = 4 * kPanelNonzeros;
  if (granule == 1) return panels_;
  const int64_t rows = static_cast<int64_t>(row_pointers_.size()) - 1;
  std::vector<Panel> panels;
  int64_t end_row = 0, nonzeros = 0;
  for (const Panel& panel : panels_) {
    const int64_t begin_row =
        std::max(end_row, coords_[0][static_cast<size_t>(panel.begin)] / granule * granule);
    const int64_t wanted = panel.end - panel.begin;
    for (end_row = begin_row; end_row < rows && row_pointers_[end_row] - row_pointers_[begin_row] < wanted;)
      end_row = std::min(rows, end_row + granule);
    if (end_row == begin_row) continue;
    panels.push_back({row_pointers_[begin_row], row_pointers_[end_row]});
    nonzeros += panels.back().end - panels.back().begin;
    if (nonzeros > kMostNonzeros) return {};
  }
  return panels;
}

double PatternProfile::count_in_panels(const CellShape& cell, const std::vector<Panel>& panels) const {
  const TupleHash hash(coords_, cell, order_);
  // Panel by panel, so that the set stays in a near cache; panels share no tuples.
  double count = 0, nonzeros = 0;
  for (const Panel& panel : panels) {
    nonzeros += static_cast<double>(panel.end - panel.begin);
    HashSet seen(hash_slots_, static_cast<size_t>(panel.end - panel.begin));
    for (int64_t n = panel.begin; n < panel.end; n++) seen.insert(hash(n));
    count += seen.size();
  }
  return count * num_nonzeros() / std::max(1.0, nonzeros);
}

double PatternProfile::count_one_mode(int mode, int64_t granule) {
  const std::vector<int64_t>& pointers = slice_pointers(mode);
  const auto slices = static_cast<int64_t>(pointers.size()) - 1;
  int64_t count = 0;
  for (int64_t begin = 0; begin < slices; begin += granule) {
    const int64_t end = granule < slices - begin ? begin + granule : slices;
    count += pointers[static_cast<size_t>(begin)] != pointers[static_cast<size_t>(end)] ? 1 : 0;
  }
  return static_cast<double>(count);
}

double PatternProfile::count_everywhere(const CellShape& cell) const {
  const TupleHash hash(coords_, cell, order_);
  const int64_t nnz = static_cast<int64_t>(coords_[0].size());
  // Tuples are sampled by their hash, so that all occurrences of one are kept or dropped together.
  const uint64_t keep_one_in =
      std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(1, nnz / kPanelNonzeros)));
  const int64_t room = 2 * (nnz / static_cast<int64_t>(keep_one_in)) + 512;
  int64_t kept = 0;
  HashSet sampled(hash_slots_, static_cast<size_t>(room));
  for (int64_t n = 0; n < nnz && kept <= room; n++) {
    const uint64_t h = hash(n);
    // By its last bytes first: the set is addressed by others.
    if ((__builtin_bswap64(h) & (keep_one_in - 1)) != 0) continue;
    kept++;
    sampled.insert(h);
  }
  const double found = sampled.size();
  if (keep_one_in == 1 || (kept <= room && found > kTrustedSample))
    return found * static_cast<double>(keep_one_in);
  HashSet all(hash_slots_, static_cast<size_t>(4 * kTrustedSample));
  for (int64_t n = 0; n < nnz; n++) all.insert(hash(n));
  return all.size();
}

/// Tiles of a matrix that are not empty, when tiles are large: group of rows after group of rows.
double PatternProfile::count_tiles(const CellShape& cell) {
  const int64_t rows = static_cast<int64_t>(row_pointers_.size()) - 1;
  const int64_t groups = (rows + cell[0] - 1) / cell[0];
  const int64_t tiles = (extents_[1] + cell[1] - 1) / cell[1];  // of a group
  const auto nnz = static_cast<int64_t>(coords_[0].size());
  if (tiles > nnz / groups) {
    const auto& curve = footprint({0, 1, 2}, 1, cell[1]);
    const double per_group = num_nonzeros() / static_cast<double>(groups);
    return std::min(num_nonzeros(), static_cast<double>(groups) * curve.distinct(per_group));
  }
  std::atomic<int64_t> count = 0;
  const auto count_group = [&](int64_t group, std::vector<uint8_t>& marks, auto tile_of) {
    std::fill(marks.begin(), marks.end(), uint8_t{0});
    const int64_t begin_row = group * cell[0], end_row = std::min(rows, begin_row + cell[0]);
    for (int64_t n = row_pointers_[static_cast<size_t>(begin_row)];
         n < row_pointers_[static_cast<size_t>(end_row)]; n++)
      marks[static_cast<size_t>(tile_of(coords_[1][static_cast<size_t>(n)]))] = 1;
    count += std::count(marks.begin(), marks.end(), uint8_t{1});
  };
  const auto granule = static_cast<uint32_t>(std::min<int64_t>(cell[1], INT32_MAX));
  for_each_parallel(
      groups, nnz > kWorthThreads ? omp_get_max_threads() : 1,
      [&] { return std::vector<uint8_t>(static_cast<size_t>(tiles)); },
      [&](int64_t group, std::vector<uint8_t>& marks) {
        if (std::has_single_bit(granule))
          count_group(group, marks, [shift = std::countr_zero(granule)](int64_t c) { return c >> shift; });
        else
          count_group(group, marks, [granule](int64_t c) { return static_cast<uint32_t>(c) / granule; });
      });
  return static_cast<double>(count);
}

double PatternProfile::compute_distinct(const CellShape& cell) {
  const bool all = std::count(cell.begin(), cell.begin() + order_, 1) == order_;
  if (all) return num_nonzeros();
  if (std::count(cell.begin(), cell.end(), 0) == 2) {
    const auto mode = std::find_if(cell.begin(), cell.end(), [](int64_t g) { return g != 0; });
    const auto m = static_cast<int>(mode - cell.begin());
    return has_slice_pointers(m) ? count_one_mode(m, *mode) : count_everywhere(cell);
  }
  if (cell[0] == 0 || panels_.size() <= 1) return count_everywhere(cell);
  if (const std::vector<Panel> panels = whole_panels(cell[0]); !panels.empty())
    return count_in_panels(cell, panels);
  return order_ == 2 ? count_tiles(cell) : count_everywhere(cell);
}

double PatternProfile::distinct(const CellShape& cell) {
  if (num_nonzeros() == 0) return 0;
  if (cell == CellShape{0, 0, 0}) return 1;
  const auto [entry, is_new] = distinct_.try_emplace(cell, 0.0);
  if (is_new) entry->second = compute_distinct(cell);
  return entry->second;
}

}  // namespace waco::model
