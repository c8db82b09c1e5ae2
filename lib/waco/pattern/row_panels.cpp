// Chooses and copies panels; only a few thousand nonzeros are ever touched.
#include "waco/pattern/row_panels.hpp"

#include <algorithm>

#include "waco/pattern/stamp_set.hpp"

namespace waco::pattern {
namespace {

constexpr int64_t kPanelNonzeros = 4096;
constexpr int64_t kMostPanels = 16;
constexpr int64_t kMostNonzeros = 3 * kPanelNonzeros;  // before a panel is cut to a stripe

using Iterator = std::vector<int64_t>::const_iterator;

/// Calls use(begin, end) for the nonzeros of every row of the panel, cut to its columns.
template <typename Use>
void for_each_row(const matrix::SparseTensor& matrix, const RowPanel& panel, Use use) {
  const std::vector<int64_t>&rows = matrix.coords[0], &cols = matrix.coords[1];
  const auto at = [](const std::vector<int64_t>& v, int64_t n) { return v.begin() + n; };
  for (int64_t begin = panel.begin; begin < panel.end;) {
    const int64_t row = rows[static_cast<size_t>(begin)];
    // Most rows are short: look near before searching far.
    int64_t step = 1;
    while (begin + step < panel.end && rows[static_cast<size_t>(begin + step)] == row) step *= 2;
    const int64_t end =
        std::upper_bound(at(rows, begin + step / 2), at(rows, std::min(panel.end, begin + step)), row) -
        rows.begin();
    int64_t first = begin, last = end;
    if (panel.last_col != INT64_MAX) {
      first = std::lower_bound(at(cols, begin), at(cols, end), panel.first_col) - cols.begin();
      last = std::upper_bound(at(cols, first), at(cols, end), panel.last_col) - cols.begin();
    }
    use(row, first, last);
    begin = end;
  }
}

int64_t nonzeros_in(const matrix::SparseTensor& matrix, const RowPanel& panel) {
  int64_t sum = 0;
  for_each_row(matrix, panel, [&](int64_t, int64_t begin, int64_t end) { sum += end - begin; });
  return sum;
}

/// Narrows the panel to columns from those of its nonzero `at` on, as many as hold a panel's nonzeros.
void cut_to_stripe(const matrix::SparseTensor& matrix, RowPanel& panel, int64_t at) {
  const int64_t cols = matrix.dims[1];
  panel.first_col = matrix.coords[1][static_cast<size_t>(at)] / kPanelRowStep * kPanelRowStep;
  const int64_t widest = cols - panel.first_col;
  for (int64_t width = std::min(kPanelRowStep, widest);; width = width > widest / 2 ? widest : 2 * width) {
    panel.last_col = panel.first_col + width - 1;
    if (width == widest || nonzeros_in(matrix, panel) >= kPanelNonzeros) break;
  }
}

}  // namespace

std::vector<RowPanel> choose_row_panels(const matrix::SparseTensor& matrix) {
  const std::vector<int64_t>& rows = matrix.coords[0];
  const int64_t nonzeros = matrix.num_nonzeros();
  const bool all = nonzeros <= kPanelNonzeros * kMostPanels;
  const auto row_of = [&](int64_t n) { return rows[static_cast<size_t>(n)]; };
  // The first nonzero, from `from` on, that is not in a group of kPanelRowStep rows before `group`.
  const auto first_of = [&](int64_t group, int64_t from) {
    const auto before = [group](int64_t row) { return row / kPanelRowStep < group; };
    return static_cast<int64_t>(std::partition_point(rows.begin() + from, rows.end(), before) - rows.begin());
  };
  std::vector<RowPanel> panels;
  int64_t next = 0;  // first nonzero that is in no panel yet
  for (int64_t p = 0; next < nonzeros && (all || p < kMostPanels); ++p) {
    const int64_t wanted = all ? next : std::max(next, (nonzeros * p + nonzeros / 2) / kMostPanels);
    RowPanel panel;
    const int64_t group = row_of(wanted) / kPanelRowStep;
    panel.first_row = group * kPanelRowStep;
    panel.begin = std::max(next, first_of(group, 0));
    const int64_t last = std::min(panel.begin + kPanelNonzeros, nonzeros) - 1;
    panel.end = first_of(row_of(last) / kPanelRowStep + 1, last);
    next = panel.end;
    if (!all && panel.end - panel.begin > kMostNonzeros)
      cut_to_stripe(matrix, panel, panel.begin + (panel.end - panel.begin) / (kMostPanels + 1) * (p + 1));
    panels.push_back(panel);
  }
  return panels;
}

void copy_panel(const matrix::SparseTensor& matrix, const RowPanel& panel, std::vector<uint64_t>& keys) {
  keys.clear();
  for_each_row(matrix, panel, [&](int64_t row, int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n)
      keys.push_back(make_key(row - panel.first_row, matrix.coords[1][static_cast<size_t>(n)]));
  });
}

}  // namespace waco::pattern
