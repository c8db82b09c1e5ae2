// Exact storage size of a format: positions level by level, with arithmetic that saturates.
#include "waco/schedule/storage_size.hpp"

#include <algorithm>

#include "waco/schedule/loop_nest.hpp"
#include "waco/schedule/saturating.hpp"

namespace waco::schedule {

using saturating::product;
using saturating::sum;

namespace {

/// Whether occupied cells are counted, or bounded from above by what is known at once.
enum class Count : uint8_t { kExact, kUpperBound };

/// Walks the levels from the root and sizes each of them.
class Sizing {
 public:
  Sizing(const FormatSchedule& format, Op op, const pattern::PatternCounts& counts, Count count)
      : format_(format), counts_(counts), count_(count), groups_(level_groups(format)) {
    for (int mode = 0; mode < sparse_order(op); ++mode) dims_[static_cast<size_t>(mode)] = counts.dim(mode);
  }

  std::vector<LevelSize> levels() {
    for (int l = 0; l < num_levels(); ++l) result_.push_back(level(l));
    return std::move(result_);
  }

 private:
  int num_levels() const { return static_cast<int>(format_.levels.size()); }

  int group_end(int l) const {
    int end = l + 1;
    while (end < num_levels() && groups_[static_cast<size_t>(end)] == groups_[static_cast<size_t>(l)]) ++end;
    return end;
  }

  LevelSize level(int l) const {
    const Level& level = format_.levels[static_cast<size_t>(l)];
    const int64_t parents = l == 0 ? 1 : result_.back().positions;
    const int64_t coordinates = extent(format_, level.var, dims_.data());
    LevelSize size;
    if (level.kind == LevelKind::kUncompressed) {
      size.positions = product(parents, coordinates);
      return size;
    }
    size.crd_bytes = coordinate_bytes(coordinates);
    if (level.kind == LevelKind::kSingleton) {
      size.positions = parents;
    } else if (level.kind == LevelKind::kCompressed) {
      size.positions = num_entries(l);
      size.pos_entries = sum(parents, 1);
    } else {
      size.positions = product(num_slots(l), format_.split[0]);
      size.pos_entries = level.kind == LevelKind::kSliced ? sum(num_slices(), 1) : 0;
    }
    return size;
  }

  /// Distinct coordinates down to the group that starts at level `l`.
  int64_t num_entries(int l) const {
    if (count_ == Count::kUpperBound) return counts_.num_nonzeros();
    return counts_.num_cells(cells_of_prefix(format_, group_end(l)));
  }

  int64_t num_slices() const { return extent(format_, {0, false}, dims_.data()); }

  /// Slots of all slices of the E or L level `l`.
  int64_t num_slots(int l) const {
    const bool sliced = format_.levels[static_cast<size_t>(l)].kind == LevelKind::kSliced;
    if (count_ == Count::kUpperBound) {
      const int64_t whole = product(num_slices(), counts_.longest_row());
      return sliced ? std::min(whole, counts_.num_nonzeros()) : whole;
    }
    const pattern::SliceWidths widths = counts_.slice_widths(
        format_.split[0], sliced ? format_.sort_window : 1, cells_of_prefix(format_, group_end(l)));
    return sliced ? widths.total_width : product(widths.num_slices, widths.max_width);
  }

  const FormatSchedule& format_;
  const pattern::PatternCounts& counts_;
  const Count count_;
  const std::vector<int> groups_;
  std::array<int64_t, 3> dims_{};
  std::vector<LevelSize> result_;
};

StorageSize size_of(const FormatSchedule& format, Op op, ValueType type, const pattern::PatternCounts& counts,
                    Count count) {
  StorageSize size;
  size.levels = Sizing(format, op, counts, count).levels();
  int64_t num_pos = 0;
  for (const LevelSize& level : size.levels) {
    if (level.positions > INT32_MAX) size.pos_bytes = 8;
    num_pos = sum(num_pos, level.pos_entries);
    size.crd_total_bytes = sum(size.crd_total_bytes, product(level.positions, level.crd_bytes));
  }
  size.num_stored = size.levels.back().positions;
  size.pos_total_bytes = product(num_pos, size.pos_bytes);
  size.value_total_bytes = product(size.num_stored, value_bytes(type));
  if (format.permutes_rows()) {  // whole groups of split rows
    const int64_t dim = counts.dim(0);
    size.row_of_bytes = product(product(extent(format, {0, false}, &dim), format.split[0]), sizeof(int32_t));
  }
  size.total_bytes =
      sum(sum(size.pos_total_bytes, size.crd_total_bytes), sum(size.value_total_bytes, size.row_of_bytes));
  return size;
}

}  // namespace

pattern::CellShape cells_of_prefix(const FormatSchedule& format, int end) {
  pattern::CellShape cell{0, 0, 0};
  for (int l = 0; l < end; ++l) {
    const Var var = format.levels[static_cast<size_t>(l)].var;
    const auto mode = static_cast<size_t>(var.index);
    cell[mode] = var.inner ? 1 : format.split[mode];
  }
  return cell;
}

int32_t coordinate_bytes(int64_t extent) {
  if (extent <= int64_t{1} << 8) return 1;
  if (extent <= int64_t{1} << 16) return 2;
  return extent <= int64_t{1} << 31 ? 4 : 8;
}

int64_t most_positions_above(const FormatSchedule& format, const std::array<int64_t, 3>& dims, int64_t nnz) {
  const auto is_compressed = [](const Level& level) { return level.kind == LevelKind::kCompressed; };
  const auto last = std::find_if(format.levels.rbegin(), format.levels.rend(), is_compressed).base();
  int64_t positions = 1, most = 1;
  for (auto level = format.levels.begin(); level != last; ++level) {
    const int64_t below = product(positions, extent(format, level->var, dims.data()));
    if (level->kind == LevelKind::kUncompressed) positions = below;
    if (is_compressed(*level)) positions = std::min(below, nnz);
    if (level->kind == LevelKind::kSingleton) positions = nnz;  // tuples, which may be more than of one index
    most = std::max(most, positions);
  }
  return most;
}

StorageSize predict_storage(const FormatSchedule& format, Op op, ValueType type,
                            const pattern::PatternCounts& counts) {
  return size_of(format, op, type, counts, Count::kExact);
}

StorageSize bound_storage(const FormatSchedule& format, Op op, ValueType type,
                          const pattern::PatternCounts& counts) {
  return size_of(format, op, type, counts, Count::kUpperBound);
}

}  // namespace waco::schedule
