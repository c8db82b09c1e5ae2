// Row statistics, visit orders and footprints of a pattern.
#include "waco/model/pattern_profile.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "waco/base/error.hpp"

namespace waco::model {

namespace {

// Rows that slice widths are counted in; more are sampled, by whole windows.
constexpr int64_t kMaxSlicedRows = 1 << 16;

std::vector<int32_t> narrow(const std::vector<int64_t>& coords, int64_t dim) {
  std::vector<int32_t> result(coords.size());
  if (dim <= INT32_MAX) {
    std::transform(coords.begin(), coords.end(), result.begin(),
                   [](int64_t c) { return static_cast<int32_t>(c); });
    return result;
  }
  // A dimension beyond 2^31 is almost empty: ranks keep what the counts need.
  std::vector<int64_t> sorted = coords;
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  for (size_t n = 0; n < coords.size(); n++)
    result[n] =
        static_cast<int32_t>(std::lower_bound(sorted.begin(), sorted.end(), coords[n]) - sorted.begin());
  return result;
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

/// Stable sort of `permutation` by the coordinates of one mode.
void sort_by_mode(std::vector<int32_t>& permutation, const std::vector<int32_t>& coords, int64_t dim) {
  if (dim > 4 * static_cast<int64_t>(coords.size()) + 65536) {
    std::stable_sort(permutation.begin(), permutation.end(),
                     [&](int32_t a, int32_t b) { return coords[a] < coords[b]; });
    return;
  }
  std::vector<int32_t> next(static_cast<size_t>(dim) + 1, 0);
  for (const int32_t c : coords) next[static_cast<size_t>(c) + 1]++;
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<int32_t> sorted(permutation.size());
  for (const int32_t n : permutation) sorted[static_cast<size_t>(next[static_cast<size_t>(coords[n])]++)] = n;
  permutation.swap(sorted);
}

/// Sum of slice maxima over `lengths`, cut into slices of `lanes`.
double slice_maxima(const std::vector<int64_t>& lengths, int64_t lanes) {
  double sum = 0;
  for (size_t at = 0; at < lengths.size(); at += static_cast<size_t>(lanes)) {
    const auto end =
        lengths.begin() + static_cast<int64_t>(std::min(lengths.size(), at + static_cast<size_t>(lanes)));
    sum += static_cast<double>(*std::max_element(lengths.begin() + static_cast<int64_t>(at), end));
  }
  return sum;
}

}  // namespace

PatternProfile::PatternProfile(const matrix::SparseTensor& tensor) : order_(tensor.order()) {
  WACO_ASSERT(order_ == 2 || order_ == 3);
  WACO_ASSERT(tensor.num_nonzeros() < INT32_MAX);
  for (int m = 0; m < order_; m++) {
    dims_[m] = tensor.dims[m];
    coords_[m] = narrow(tensor.coords[m], dims_[m]);
  }
  if (dims_[0] <= INT32_MAX) {
    row_pointers_ = matrix::row_pointers(tensor);
  } else {
    row_pointers_.assign(static_cast<size_t>(coords_[0].empty() ? 0 : coords_[0].back() + 1) + 1, 0);
    for (const int32_t row : coords_[0]) row_pointers_[static_cast<size_t>(row) + 1]++;
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
  const int64_t step = std::max<int64_t>(1, windows * span / kMaxSlicedRows);
  double slots = 0, seen = 0;
  std::vector<int64_t> lengths;
  for (int64_t w = 0; w < windows; w += step) {
    const int64_t begin = w * span, end = std::min(rows, begin + span);
    lengths.resize(static_cast<size_t>(end - begin));
    for (int64_t r = begin; r < end; r++)
      lengths[static_cast<size_t>(r - begin)] = row_pointers_[r + 1] - row_pointers_[r];
    if (window > 1) std::sort(lengths.begin(), lengths.end(), std::greater<>());
    slots += slice_maxima(lengths, lanes);
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
  for (int m = order_ - 1; m >= 0; m--)
    sort_by_mode(permutation, coords_[modes[m]], std::min<int64_t>(dims_[modes[m]], INT32_MAX));
  return entry->second = std::move(permutation);
}

const FootprintCurve& PatternProfile::footprint(const ModeOrder& modes, int mode, int64_t grain) {
  auto& curve = footprints_[{modes, mode, grain}];
  if (curve != nullptr) return *curve;
  std::vector<int32_t> trace = coords_[mode];
  bool in_order = true;
  for (int m = 0; m < order_; m++) in_order = in_order && modes[m] == m;
  if (!in_order) {
    const auto& visits = visit_order(modes);
    for (size_t n = 0; n < trace.size(); n++) trace[n] = coords_[mode][static_cast<size_t>(visits[n])];
  }
  if (grain > 1)
    for (auto& e : trace) e = static_cast<int32_t>(e / grain);
  const int64_t elements = compress(trace, std::min<int64_t>(dims_[mode], INT32_MAX) / grain + 1);
  curve = std::make_unique<FootprintCurve>(trace, elements);
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

double PatternProfile::longest_rows_share(double share) {
  if (sorted_lengths_.empty()) {
    for (size_t r = 0; r + 1 < row_pointers_.size(); r++)
      sorted_lengths_.push_back(row_pointers_[r + 1] - row_pointers_[r]);
    std::sort(sorted_lengths_.begin(), sorted_lengths_.end(), std::greater<>());
  }
  const size_t rows = static_cast<size_t>(share * static_cast<double>(sorted_lengths_.size()));
  const int64_t nnz = std::accumulate(sorted_lengths_.begin(),
                                      sorted_lengths_.begin() + static_cast<int64_t>(rows), int64_t{0});
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
