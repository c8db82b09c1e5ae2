// Exact storage size of a format: positions level by level, with arithmetic that saturates.
#include "waco/schedule/storage_size.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "waco/schedule/loop_nest.hpp"

namespace waco::schedule {
namespace {

int64_t product(int64_t a, int64_t b) {
  int64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? INT64_MAX : result;
}

int64_t sum(int64_t a, int64_t b) {
  int64_t result = 0;
  return __builtin_add_overflow(a, b, &result) ? INT64_MAX : result;
}

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
  if (format.sort_window > 1) size.row_of_bytes = product(size.levels[1].positions, sizeof(int32_t));
  size.total_bytes =
      sum(sum(size.pos_total_bytes, size.crd_total_bytes), sum(size.value_total_bytes, size.row_of_bytes));
  return size;
}

/// What the threads but the first need for outputs of their own, where they share them.
int64_t thread_output_bytes(const SuperSchedule& point, int64_t rows, int64_t num_stored) {
  const Problem& problem = point.problem;
  const int64_t elements = output_is_sparse(problem.op) ? num_stored : product(rows, problem.rhs);
  return product(elements, (point.compute.threads - 1) * int64_t{value_bytes(problem.type)});
}

std::optional<std::string> limit_reason(const SuperSchedule& point, const StorageSize& size, int64_t rows,
                                        int64_t num_nonzeros, const SpaceLimits& limits) {
  const double fill =
      static_cast<double>(size.num_stored) / static_cast<double>(std::max<int64_t>(num_nonzeros, 1));
  if (fill > limits.max_fill)
    return fmt::format("stores {:.3g} values per nonzero, the limit is {:g} (--max-fill)", fill,
                       limits.max_fill);
  if (size.total_bytes > limits.max_bytes)
    return fmt::format("needs {:.3g} GB of storage, {:.3g} GB are allowed",
                       static_cast<double>(size.total_bytes) / 1e9,
                       static_cast<double>(limits.max_bytes) / 1e9);
  const int64_t with_outputs = sum(size.total_bytes, thread_output_bytes(point, rows, size.num_stored));
  if (with_outputs > limits.max_bytes && threads_share_outputs(point, analyze(point)))
    return fmt::format("needs {:.3g} GB for storage and the outputs of its threads, {:.3g} GB are allowed",
                       static_cast<double>(with_outputs) / 1e9, static_cast<double>(limits.max_bytes) / 1e9);
  constexpr int64_t kMostSorted = INT32_MAX - 1;  // waco_sort_rows
  if (point.format.sort_window > 1 && size.levels[1].positions > kMostSorted)
    return fmt::format("sorts {} rows, {} is the most", size.levels[1].positions, kMostSorted);
  return std::nullopt;
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

int64_t uncompressed_positions(const FormatSchedule& format, const std::array<int64_t, 3>& dims) {
  int64_t positions = 1;
  for (const Level& level : format.levels) {
    if (level.kind != LevelKind::kUncompressed) break;
    positions = product(positions, extent(format, level.var, dims.data()));
  }
  return positions;
}

StorageSize predict_storage(const FormatSchedule& format, Op op, ValueType type,
                            const pattern::PatternCounts& counts) {
  return size_of(format, op, type, counts, Count::kExact);
}

std::string limits_key(const SuperSchedule& point) {
  return fmt::format("{} x{}{}", to_text(point.format, point.problem.op), point.compute.threads,
                     threads_share_outputs(point, analyze(point)) ? " shared" : "");
}

std::optional<std::string> exclusion_reason(const SuperSchedule& point, const pattern::PatternCounts& counts,
                                            const SpaceLimits& limits) {
  if (point.compute.threads > limits.max_threads)
    return fmt::format("runs on {} threads, {} are allowed", point.compute.threads, limits.max_threads);
  const Problem& problem = point.problem;
  const auto reason = [&](Count count) {
    const StorageSize size = size_of(point.format, problem.op, problem.type, counts, count);
    return limit_reason(point, size, counts.dim(0), counts.num_nonzeros(), limits);
  };
  if (!reason(Count::kUpperBound)) return std::nullopt;  // a pass over the nonzeros saved
  return reason(Count::kExact);
}

}  // namespace waco::schedule
