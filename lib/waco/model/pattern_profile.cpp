// Row statistics, visit orders and footprints of a pattern.
#include "waco/model/pattern_profile.hpp"

#include <omp.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "waco/base/error.hpp"
#include "waco/base/parallel.hpp"

namespace waco::model {

namespace {

// Rows that slice widths are counted in; more are sampled, by whole windows, of which so many are looked at
// however large they are: rows of one end may be unlike those of the other.
constexpr int64_t kMaxSlicedRows = 1 << 16;
constexpr int64_t kFewestWindows = 8;

/// Beyond it a dimension is almost empty, and ranks stand for its coordinates: time and memory would go by
/// the dimension.
int64_t most_unranked(int64_t num_nonzeros) {
  return std::min<int64_t>(INT32_MAX, (1 << 24) + 64 * num_nonzeros);
}

/// Ranks of coordinates among the distinct ones, which keep what the counts need.
std::vector<int64_t> ranks_of(const std::vector<int64_t>& coords) {
  std::vector<int64_t> sorted = coords, ranks(coords.size());
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  for (size_t n = 0; n < coords.size(); n++)
    ranks[n] = std::lower_bound(sorted.begin(), sorted.end(), coords[n]) - sorted.begin();
  return ranks;
}

/// Replaces elements by their ranks when they are few among many; returns the number of elements.
int64_t compress(std::vector<int32_t>& trace, int64_t num_elements) {
  if (num_elements <= 8 * static_cast<int64_t>(trace.size()) + 4096) return num_elements;
  std::vector<int32_t> sorted = trace;
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  for (auto& e : trace)
    e = static_cast<int32_t>(std::lower_bound(sorted.begin(), sorted.end(), e) - sorted.begin());
  return static_cast<int64_t>(sorted.size());
}

/// Coordinates of a dimension that are counted one by one; beyond, it is almost empty.
int64_t most_counted(size_t num_nonzeros) {
  return 4 * static_cast<int64_t>(num_nonzeros) + 65536;
}

/// Stable sort of `permutation` by the coordinates of one mode.
void sort_by_mode(std::vector<int32_t>& permutation, std::span<const int64_t> coords, int64_t dim) {
  if (dim > most_counted(coords.size())) {
    std::stable_sort(permutation.begin(), permutation.end(), [&](int32_t a, int32_t b) {
      return coords[static_cast<size_t>(a)] < coords[static_cast<size_t>(b)];
    });
    return;
  }
  std::vector<int32_t> next(static_cast<size_t>(dim) + 1, 0);
  for (const int64_t c : coords) next[static_cast<size_t>(c) + 1]++;
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<int32_t> sorted(permutation.size());
  for (const int32_t n : permutation)
    sorted[static_cast<size_t>(next[static_cast<size_t>(coords[static_cast<size_t>(n)])]++)] = n;
  permutation.swap(sorted);
}

/// How many rows have each length: (length, rows), longest first. `histogram` is scratch.
std::vector<std::pair<int64_t, int64_t>> count_lengths(std::vector<int64_t>& lengths,
                                                       std::vector<int64_t>& histogram) {
  std::vector<std::pair<int64_t, int64_t>> counts;
  if (lengths.empty()) return counts;
  const int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  if (longest > 4 * static_cast<int64_t>(lengths.size()) + 64) {
    std::sort(lengths.begin(), lengths.end(), std::greater<>());
    for (const int64_t length : lengths) {
      if (counts.empty() || counts.back().first != length) counts.emplace_back(length, 0);
      ++counts.back().second;
    }
    return counts;
  }
  histogram.assign(static_cast<size_t>(longest) + 1, 0);
  for (const int64_t length : lengths) ++histogram[static_cast<size_t>(length)];
  for (int64_t length = longest; length >= 0; --length)
    if (histogram[static_cast<size_t>(length)] > 0)
      counts.emplace_back(length, histogram[static_cast<size_t>(length)]);
  return counts;
}

/// Sum of the longest rows of all slices of `lanes` rows, in order.
double slice_maxima(const std::vector<int64_t>& lengths, int64_t lanes) {
  double sum = 0;
  for (size_t at = 0; at < lengths.size(); at += static_cast<size_t>(lanes)) {
    const auto end =
        lengths.begin() + static_cast<int64_t>(std::min(lengths.size(), at + static_cast<size_t>(lanes)));
    sum += static_cast<double>(*std::max_element(lengths.begin() + static_cast<int64_t>(at), end));
  }
  return sum;
}

/// The same of rows sorted by length: every `lanes`-th of them.
double sorted_maxima(const std::vector<std::pair<int64_t, int64_t>>& counts, int64_t lanes) {
  double sum = 0;
  int64_t rank = 0;
  for (const auto& [length, rows] : counts) {
    const int64_t slices = (rank + rows + lanes - 1) / lanes - (rank + lanes - 1) / lanes;
    sum += static_cast<double>(length * slices);
    rank += rows;
  }
  return sum;
}

}  // namespace

PatternProfile::PatternProfile(const matrix::SparseTensor& tensor) : order_(tensor.order()) {
  WACO_ASSERT(order_ == 2 || order_ == 3);
  if (tensor.num_nonzeros() > kMostNonzeros)
    throw InputError(tensor.name, 0,
                     fmt::format("has {} nonzeros; schedules are ranked for at most {}",
                                 tensor.num_nonzeros(), kMostNonzeros));
  for (int m = 0; m < order_; m++) {
    dims_[m] = extents_[m] = tensor.dims[m];
    coords_[m] = tensor.coords[m];
    if (dims_[m] <= most_unranked(tensor.num_nonzeros())) continue;
    coords_[m] = ranks_[m] = ranks_of(tensor.coords[m]);
    extents_[m] = coords_[m].empty() ? 1 : *std::max_element(coords_[m].begin(), coords_[m].end()) + 1;
  }
  if (dims_[0] <= most_unranked(tensor.num_nonzeros())) {
    row_pointers_ = matrix::row_pointers(tensor);
  } else {
    row_pointers_.assign(static_cast<size_t>(coords_[0].empty() ? 0 : coords_[0].back() + 1) + 1, 0);
    for (const int64_t row : coords_[0]) row_pointers_[static_cast<size_t>(row) + 1]++;
    std::partial_sum(row_pointers_.begin(), row_pointers_.end(), row_pointers_.begin());
  }
  int64_t changes = 0, last = -1;
  for (size_t r = 0; r + 1 < row_pointers_.size(); r++) {
    const int64_t length = row_pointers_[r + 1] - row_pointers_[r];
    changes += length != last;
    last = length;
  }
  irregularity_ =
      static_cast<double>(changes) / static_cast<double>(std::max<size_t>(2, row_pointers_.size()) - 1);
  choose_panels();
}

const LaneSlots& PatternProfile::lane_slots(int64_t lanes, int64_t window) {
  const auto [entry, is_new] = lane_slots_.try_emplace({lanes, window});
  LaneSlots& result = entry->second;
  if (!is_new) return result;
  const int64_t rows = static_cast<int64_t>(row_pointers_.size()) - 1;
  const int64_t span = std::max(lanes, std::min(std::max<int64_t>(1, window), rows));
  const int64_t windows = (rows + span - 1) / std::max<int64_t>(1, span);
  const int64_t most_apart = std::max<int64_t>(1, windows / kFewestWindows);
  const int64_t step = std::clamp<int64_t>(windows * span / kMaxSlicedRows, 1, most_apart);
  double slots = 0, seen = 0;
  std::vector<int64_t> lengths, histogram;
  for (int64_t w = 0; w < windows; w += step) {
    const int64_t begin = w * span, end = std::min(rows, begin + span);
    lengths.resize(static_cast<size_t>(end - begin));
    for (int64_t r = begin; r < end; r++)
      lengths[static_cast<size_t>(r - begin)] = row_pointers_[r + 1] - row_pointers_[r];
    slots +=
        window > 1 ? sorted_maxima(count_lengths(lengths, histogram), lanes) : slice_maxima(lengths, lanes);
    seen += static_cast<double>(end - begin);
  }
  result.slices = static_cast<double>((rows + lanes - 1) / lanes);
  result.sliced = seen > 0 ? slots * static_cast<double>(lanes) * static_cast<double>(rows) / seen : 0;
  result.fixed = heaviest_rows(1) * result.slices * static_cast<double>(lanes);
  return result;
}

const std::vector<int32_t>& PatternProfile::visit_order(const ModeOrder& modes) {
  const auto [entry, is_new] = visit_orders_.try_emplace(modes);
  if (!is_new) return entry->second;
  std::vector<int32_t> permutation(coords_[0].size());
  std::iota(permutation.begin(), permutation.end(), 0);
  // Nonzeros come sorted by their modes: of equal ones in all modes but the last they need no sorting.
  for (int m = order_ - 2; m >= 0; m--) sort_by_mode(permutation, coords_[modes[m]], extents_[modes[m]]);
  return entry->second = std::move(permutation);
}

namespace {

bool is_in_order(const ModeOrder& modes, int order) {
  for (int m = 0; m < order; m++)
    if (modes[m] != m) return false;
  return true;
}

}  // namespace

/// Whether there are pointers to the slices of a mode: not of one that is almost empty.
bool PatternProfile::has_slice_pointers(int mode) const {
  return mode == 0 || extents_[mode] <= most_counted(coords_[mode].size());
}

/// Where the nonzeros of each slice of a mode begin when they are visited slice after slice.
const std::vector<int64_t>& PatternProfile::slice_pointers(int mode) {
  if (mode == 0) return row_pointers_;
  std::vector<int64_t>& pointers = slice_pointers_[static_cast<size_t>(mode)];
  if (!pointers.empty()) return pointers;
  const std::span<const int64_t> coords = coords_[mode];
  const auto slices = static_cast<size_t>(extents_[mode]);
  // Parts of the nonzeros are counted apart where that is less work than adding the counts up.
  const auto length = static_cast<int64_t>(coords.size());
  const int64_t num_parts =
      std::clamp<int64_t>(length / std::max<int64_t>(1 << 16, 2 * extents_[mode]), 1, omp_get_max_threads());
  std::vector<std::vector<int32_t>> counts(static_cast<size_t>(num_parts));
  for_each_parallel(num_parts, static_cast<int>(num_parts), [&](int64_t part) {
    std::vector<int32_t>& count = counts[static_cast<size_t>(part)];
    count.assign(slices, 0);
    const int64_t begin = length * part / num_parts, end = length * (part + 1) / num_parts;
    for (int64_t n = begin; n < end; n++) count[static_cast<size_t>(coords[static_cast<size_t>(n)])]++;
  });
  pointers.resize(slices + 1);
  int64_t sum = 0;
  for (size_t slice = 0; slice < slices; slice++) {
    for (const std::vector<int32_t>& count : counts) sum += count[slice];
    pointers[slice + 1] = sum;
  }
  return pointers;
}

AccessSample PatternProfile::take_sample(const ModeOrder& modes, int mode, std::vector<int64_t> blocks) {
  const int first = modes[0];
  const bool others_in_order = order_ == 2 || modes[1] < modes[2];
  if (!others_in_order || !has_slice_pointers(first))
    return sample_accesses(coords_[mode], extents_[mode], visit_order(modes), std::move(blocks));
  if (mode == first) return sample_rows(slice_pointers(first), std::move(blocks));
  if (first == 0) return sample_accesses(coords_[mode], extents_[mode], {}, std::move(blocks));
  return sample_slices(coords_[mode], mode == 0, extents_[mode], coords_[first], slice_pointers(first),
                       std::move(blocks));
}

/// The sampled accesses to a mode; null when all are followed.
const AccessSample* PatternProfile::sample(const ModeOrder& modes, int mode) {
  const auto known = samples_.find({modes, mode});
  if (known != samples_.end()) return &known->second;
  std::vector<int64_t> blocks = sampled_blocks(extents_[mode], static_cast<int64_t>(coords_[0].size()));
  if (blocks.empty()) return nullptr;
  return &samples_.emplace(std::pair(modes, mode), take_sample(modes, mode, std::move(blocks))).first->second;
}

std::unique_ptr<FootprintCurve> PatternProfile::compute_footprint(const ModeOrder& modes, int mode,
                                                                  int64_t grain) {
  const AccessSample* some = grain <= AccessSample::kBlock / 2 ? sample(modes, mode) : nullptr;
  if (some != nullptr) return std::make_unique<FootprintCurve>(FootprintCurve::estimate(*some, grain));
  const int64_t elements = extents_[mode] / grain + 1;
  const bool sparse = elements > 8 * static_cast<int64_t>(coords_[0].size()) + 4096;
  if (is_in_order(modes, order_) && !sparse)
    return std::make_unique<FootprintCurve>(coords_[mode], grain, elements);
  std::vector<int32_t> trace(coords_[0].size());
  const std::vector<int32_t>* visits = is_in_order(modes, order_) ? nullptr : &visit_order(modes);
  for (size_t n = 0; n < trace.size(); n++)
    trace[n] = static_cast<int32_t>(coords_[mode][visits != nullptr ? static_cast<size_t>((*visits)[n]) : n] /
                                    grain);
  return std::make_unique<FootprintCurve>(trace, compress(trace, elements));
}

const FootprintCurve& PatternProfile::footprint(const ModeOrder& modes, int mode, int64_t grain) {
  auto& curve = footprints_[{modes, mode, grain}];
  if (curve == nullptr) curve = compute_footprint(modes, mode, grain);
  return *curve;
}

double PatternProfile::heaviest_rows(int64_t rows) {
  const auto [entry, is_new] = heaviest_.try_emplace(rows, 0.0);
  if (!is_new) return entry->second;
  int64_t most = 0;
  const int64_t count = static_cast<int64_t>(row_pointers_.size()) - 1;
  for (int64_t r = 0; r < count; r += rows)
    most = std::max(most, row_pointers_[std::min(count, r + rows)] - row_pointers_[r]);
  return entry->second = static_cast<double>(most);
}

double PatternProfile::busiest_by_turns(int64_t rows, int threads) {
  const auto [entry, is_new] = busiest_.try_emplace({rows, threads}, 0.0);
  if (!is_new) return entry->second;
  std::vector<int64_t> loads(static_cast<size_t>(threads), 0);  // a heap, the least on top
  const int64_t count = static_cast<int64_t>(row_pointers_.size()) - 1;
  for (int64_t r = 0; r < count; r += rows) {
    std::ranges::pop_heap(loads, std::greater{});
    loads.back() += row_pointers_[std::min(count, r + rows)] - row_pointers_[r];
    std::ranges::push_heap(loads, std::greater{});
  }
  return entry->second = static_cast<double>(*std::ranges::max_element(loads));
}

double PatternProfile::longest_rows_share(double share) {
  const size_t num_rows = row_pointers_.size() - 1;
  if (lengths_.empty()) {
    std::vector<int64_t> lengths(num_rows), histogram;
    for (size_t r = 0; r < num_rows; r++) lengths[r] = row_pointers_[r + 1] - row_pointers_[r];
    lengths_ = count_lengths(lengths, histogram);
  }
  auto rows = static_cast<int64_t>(share * static_cast<double>(num_rows));
  int64_t nnz = 0;
  for (const auto& [length, count] : lengths_) {
    nnz += length * std::min(rows, count);
    rows -= std::min(rows, count);
  }
  return num_nonzeros() > 0 ? static_cast<double>(nnz) / num_nonzeros() : share;
}

double PatternProfile::padded_nonzeros(int step) {
  const auto [entry, is_new] = padded_.try_emplace(step, 0.0);
  if (!is_new) return entry->second;
  int64_t total = 0;
  for (size_t r = 0; r + 1 < row_pointers_.size(); r++)
    total += (row_pointers_[r + 1] - row_pointers_[r] + step - 1) / step * step;
  return entry->second = static_cast<double>(total);
}

}  // namespace waco::model
