// What the closed-form model asks about a pattern, answered fast and from memory the second time. Counts of
// large patterns are estimated from panels of whole rows; exact counts are the business of storage
// prediction.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

#include "waco/matrix/sparse_tensor.hpp"
#include "waco/model/footprint.hpp"
#include "waco/pattern/pattern_counts.hpp"

namespace waco::model {

using pattern::CellShape;

/// Modes, outermost first; for a matrix the third is unused.
using ModeOrder = std::array<int8_t, 3>;

/// Slots of an E or L level over groups of rows.
struct LaneSlots {
  double sliced = 0;  ///< positions with a width of its own for every slice
  double fixed = 0;   ///< positions with one width for all slices
  double slices = 0;
};

/// Nonzeros are counted in 31 bits.
inline constexpr int64_t kMostNonzeros = INT32_MAX - 1;

/// A pattern's counts. Not safe for use by several threads at once. Keeps references to the tensor's
/// coordinates: it must outlive the profile and not change.
class PatternProfile {
 public:
  explicit PatternProfile(const matrix::SparseTensor& tensor);
  PatternProfile(const PatternProfile&) = delete;
  PatternProfile& operator=(const PatternProfile&) = delete;

  int order() const { return order_; }
  const std::array<int64_t, 3>& dims() const { return dims_; }
  double num_nonzeros() const { return static_cast<double>(coords_[0].size()); }
  const std::vector<int64_t>& row_pointers() const { return row_pointers_; }

  /// Number of cells with at least one nonzero: the positions of a compressed level below the levels of the
  /// same variables (see cells_of_prefix).
  double distinct(const CellShape& cell);
  /// Positions of an ELL or sliced level of `lanes` rows a slice, rows sorted by length inside windows of
  /// `window`.
  const LaneSlots& lane_slots(int64_t lanes, int64_t window);
  /// The accesses to coordinates of `mode`, `grain` of them to an element, when the nonzeros are visited in
  /// the order of `modes`; window unit: nonzeros. Of many nonzeros a sample of the elements is followed.
  const FootprintCurve& footprint(const ModeOrder& modes, int mode, int64_t grain);
  /// Most nonzeros in any aligned group of `rows` rows.
  double heaviest_rows(int64_t rows);
  /// Nonzeros of the thread that gets most when aligned groups of `rows` rows go, in order, each to the
  /// thread that has had least so far.
  double busiest_by_turns(int64_t rows, int threads);
  /// Nonzeros of the longest rows that make up a `share` of all rows, as a share of all nonzeros.
  double longest_rows_share(double share);
  /// Share of the rows whose number of nonzeros differs from that of the row before: how badly a branch
  /// predictor does at the end of short rows.
  double irregularity() const { return irregularity_; }
  /// Nonzeros, when each row's number is rounded up to a multiple of `step`.
  double padded_nonzeros(int step);

 private:
  struct Panel {
    int64_t begin = 0, end = 0;  ///< nonzeros, of whole rows
  };
  void choose_panels();
  std::vector<Panel> whole_panels(int64_t granule) const;
  double count_in_panels(const CellShape& cell, const std::vector<Panel>& panels) const;
  double count_one_mode(int mode, int64_t granule);
  double count_everywhere(const CellShape& cell) const;
  double count_tiles(const CellShape& cell);
  double compute_distinct(const CellShape& cell);
  const std::vector<int32_t>& visit_order(const ModeOrder& modes);
  bool has_slice_pointers(int mode) const;
  const std::vector<int64_t>& slice_pointers(int mode);
  AccessSample take_sample(const ModeOrder& modes, int mode, std::vector<int64_t> blocks);
  const AccessSample* sample(const ModeOrder& modes, int mode);
  std::unique_ptr<FootprintCurve> compute_footprint(const ModeOrder& modes, int mode, int64_t grain);

  int order_;
  std::array<int64_t, 3> dims_{1, 1, 1};
  std::array<std::vector<int64_t>, 3> ranks_;  ///< stand in for coordinates that need more than 31 bits
  std::array<std::span<const int64_t>, 3> coords_;
  std::array<int64_t, 3> extents_{1, 1, 1};  ///< coords_ are below these
  std::vector<int64_t> row_pointers_;
  std::vector<Panel> panels_;
  mutable std::vector<uint64_t> hash_slots_;  ///< scratch of the counts
  std::map<CellShape, double> distinct_;
  std::map<std::tuple<int64_t, int64_t>, LaneSlots> lane_slots_;
  std::map<std::tuple<ModeOrder, int, int64_t>, std::unique_ptr<FootprintCurve>> footprints_;
  std::map<std::pair<ModeOrder, int>, AccessSample> samples_;
  std::map<ModeOrder, std::vector<int32_t>> visit_orders_;
  std::array<std::vector<int64_t>, 3> slice_pointers_;  ///< by mode; filled when first needed
  double irregularity_ = 0;
  std::vector<std::pair<int64_t, int64_t>> lengths_;  ///< of rows, and how many; longest first, when needed
  std::map<int64_t, double> heaviest_;
  std::map<std::pair<int64_t, int>, double> busiest_;
  std::map<int, double> padded_;
};

}  // namespace waco::model
