// Counting occupied cells: adjacent comparison where cells are contiguous, marks where they are few, in all
// rows or panel by panel, else hashing.
#include "waco/pattern/cell_count.hpp"

#include <fmt/ranges.h>
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "waco/base/error.hpp"
#include "waco/base/parallel.hpp"
#include "waco/pattern/distinct_keys.hpp"
#include "waco/pattern/divider.hpp"

namespace waco::pattern {
namespace {

using matrix::SparseTensor;

/// Marker arrays above this many cells miss the caches so often that hashing is faster, and cost memory per
/// thread.
constexpr int64_t kMaxMarkers = int64_t{1} << 24;
/// Of all threads together.
constexpr int64_t kMaxMarkersInAll = int64_t{1} << 28;

/// Cells contiguous in the sorted order: modes 0 .. last, all but the last one whole. A cell ends where a
/// coordinate changes.
int64_t count_contiguous(const SparseTensor& tensor, int last, int64_t cell) {
  const int64_t nnz = tensor.num_nonzeros();
  return with_divider(cell, tensor.dims[static_cast<size_t>(last)], [&](auto divide) {
    const int64_t* coords[3] = {};
    for (int mode = 0; mode <= last; ++mode) coords[mode] = tensor.coords[static_cast<size_t>(mode)].data();
    int64_t count = nnz > 0 ? 1 : 0;
#pragma omp parallel for reduction(+ : count)
    for (int64_t p = 1; p < nnz; ++p) {
      bool differs = divide(coords[last][p]) != divide(coords[last][p - 1]);
      for (int mode = 0; mode < last; ++mode) differs |= coords[mode][p] != coords[mode][p - 1];
      count += differs;
    }
    return count;
  });
}

/// Starts of `parts` ranges of about equally many nonzeros that do not cut a panel of `panel` rows: [parts +
/// 1].
std::vector<int64_t> panel_ranges(const std::vector<int64_t>& rows, int64_t panel, int parts) {
  const auto nnz = static_cast<int64_t>(rows.size());
  std::vector<int64_t> bounds(static_cast<size_t>(parts) + 1, nnz);
  bounds[0] = 0;
  for (int part = 1; part < parts; ++part) {
    const auto wanted = static_cast<int64_t>(static_cast<__int128>(nnz) * part / parts);
    if (wanted >= nnz) continue;
    const int64_t panel_index = wanted > 0 ? rows[static_cast<size_t>(wanted) - 1] / panel : -1;
    const auto end = std::partition_point(rows.begin() + wanted, rows.end(),
                                          [&](int64_t row) { return row / panel <= panel_index; });
    bounds[static_cast<size_t>(part)] = end - rows.begin();
  }
  return bounds;
}

/// Cells of panels of rows by one other mode: for each panel, the cells not yet marked with the panel's
/// stamp.
int64_t count_in_panels(const SparseTensor& tensor, int64_t panel, int mode, int64_t cell) {
  const std::vector<int64_t>& rows = tensor.coords[0];
  const int64_t* columns = tensor.coords[static_cast<size_t>(mode)].data();
  const int64_t dim = tensor.dims[static_cast<size_t>(mode)];
  const int64_t num_markers = num_cells_along(dim, cell);
  const auto parts = static_cast<int>(
      std::clamp<int64_t>(kMaxMarkersInAll / std::max<int64_t>(num_markers, 1), 1, omp_get_max_threads()));
  const std::vector<int64_t> bounds = panel_ranges(rows, panel, parts);
  return with_divider(cell, dim, [&](auto divide) {
    std::atomic<int64_t> total{0};
    for_each_parallel(parts, omp_get_max_threads(), [&](int64_t part) {
      if (bounds[static_cast<size_t>(part)] == bounds[static_cast<size_t>(part) + 1]) return;
      std::vector<uint32_t> stamps(static_cast<size_t>(num_markers), 0);
      int64_t count = 0;
      uint32_t stamp = 0;
      int64_t panel_end = -1;  // first row beyond the current panel
      for (int64_t p = bounds[static_cast<size_t>(part)]; p < bounds[static_cast<size_t>(part) + 1]; ++p) {
        const int64_t row = rows[static_cast<size_t>(p)];
        if (row >= panel_end) {
          const int64_t panel_begin = row - row % panel;
          panel_end = panel_begin > INT64_MAX - panel ? INT64_MAX : panel_begin + panel;
          if (++stamp == 0) {
            std::fill(stamps.begin(), stamps.end(), 0);
            stamp = 1;
          }
        }
        uint32_t& mark = stamps[static_cast<size_t>(divide(columns[p]))];
        count += mark != stamp;
        mark = stamp;
      }
      total += count;
    });
    return total.load();
  });
}

/// Cells of one mode alone: all threads mark in one array.
int64_t count_along(const SparseTensor& tensor, int mode, int64_t cell) {
  const std::vector<int64_t>& coords = tensor.coords[static_cast<size_t>(mode)];
  const int64_t dim = tensor.dims[static_cast<size_t>(mode)];
  constexpr size_t kWorthThreads = 1 << 17;  // nonzeros
  std::vector<uint8_t> marks(static_cast<size_t>(num_cells_along(dim, cell)), 0);
  with_divider(cell, dim, [&](auto divide) {
#pragma omp parallel for schedule(static) if (coords.size() > kWorthThreads)
    for (size_t p = 0; p < coords.size(); ++p) {
      const std::atomic_ref<uint8_t> mark(marks[static_cast<size_t>(divide(coords[p]))]);
      // Read first: a cache line that is only read stays with all threads.
      if (mark.load(std::memory_order_relaxed) == 0) mark.store(1, std::memory_order_relaxed);
    }
  });
  return std::count(marks.begin(), marks.end(), uint8_t{1});
}

int64_t count_hashed(const SparseTensor& tensor, const std::array<int64_t, 3>& cell) {
  unsigned __int128 num_keys = 1;  // of all cells, occupied or not
  std::array<int64_t, 3> extent{1, 1, 1};
  for (int mode = 0; mode < tensor.order(); ++mode) {
    const auto m = static_cast<size_t>(mode);
    if (cell[m] == 0) continue;
    extent[m] = num_cells_along(tensor.dims[m], cell[m]);
    // Never of a matrix. The dense operands of such a tensor fit in no memory.
    if (num_keys >= (~static_cast<unsigned __int128>(0)) / static_cast<uint64_t>(extent[m]))
      throw TooLargeError(fmt::format("{}: a tensor of {} can't be tuned; remove empty slices", tensor.name,
                                      fmt::join(tensor.dims, " x ")));
    num_keys *= static_cast<uint64_t>(extent[m]);
  }
  const auto key_of = [&]<typename Key>(int64_t p) {
    Key key = 0;
    for (int mode = 0; mode < tensor.order(); ++mode) {
      const auto m = static_cast<size_t>(mode);
      if (cell[m] == 0) continue;
      const int64_t x = tensor.coords[m][static_cast<size_t>(p)];
      key = key * static_cast<uint64_t>(extent[m]) + static_cast<uint64_t>(x / cell[m]);
    }
    return key;
  };
  if (num_keys < UINT64_MAX)
    return count_distinct_keys<uint64_t>(tensor.num_nonzeros(),
                                         [&](int64_t p) { return key_of.template operator()<uint64_t>(p); });
  using Wide = unsigned __int128;
  return count_distinct_keys<Wide>(tensor.num_nonzeros(),
                                   [&](int64_t p) { return key_of.template operator()<Wide>(p); });
}

}  // namespace

int64_t count_cells(const SparseTensor& tensor, const std::array<int64_t, 3>& requested) {
  std::array<int64_t, 3> cell = requested;
  int num_modes = 0, last = -1;
  for (int mode = 0; mode < 3; ++mode) {
    const auto m = static_cast<size_t>(mode);
    WACO_ASSERT(cell[m] >= 0 && (mode < tensor.order() || cell[m] == 0));
    if (cell[m] == 0) continue;
    cell[m] = std::min(cell[m], std::max<int64_t>(tensor.dims[m], 1));
    ++num_modes;
    last = mode;
  }
  if (num_modes == 0) return 1;
  bool contiguous = num_modes == last + 1;
  for (int mode = 0; mode < last; ++mode) contiguous = contiguous && cell[static_cast<size_t>(mode)] == 1;
  const auto last_cell = cell[static_cast<size_t>(last)];
  if (contiguous) return count_contiguous(tensor, last, last_cell);
  const bool all_rows = cell[0] == 0 || cell[0] == tensor.dims[0];
  const bool one_mode = num_modes == (cell[0] == 0 ? 1 : 2);  // beside the rows
  const int64_t num_markers = num_cells_along(tensor.dims[static_cast<size_t>(last)], last_cell);
  const bool markers_pay = num_markers <= std::min(kMaxMarkers, 8 * tensor.num_nonzeros() + 65536);
  if (one_mode && markers_pay) {
    return all_rows ? count_along(tensor, last, last_cell)
                    : count_in_panels(tensor, cell[0], last, last_cell);
  }
  return count_hashed(tensor, cell);
}

}  // namespace waco::pattern
