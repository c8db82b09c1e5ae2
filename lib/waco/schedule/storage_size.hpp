// The exact size of a packed format, from counts of the pattern and without packing.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "waco/pattern/pattern_counts.hpp"
#include "waco/schedule/super_schedule.hpp"

namespace waco::schedule {

/// Bytes of a coordinate below `extent`: 1 and 2 unsigned, 4 and 8 signed. As waco_crd_bytes of
/// kernels-templates/pack_storage.hpp.
int32_t coordinate_bytes(int64_t extent);

/// One packed level. Counts that would not fit saturate at INT64_MAX.
struct LevelSize {
  int64_t positions = 0;    ///< fill included
  int64_t pos_entries = 0;  ///< C: parent positions + 1; L: slices + 1; otherwise 0
  int32_t crd_bytes = 0;    ///< of one coordinate: 1, 2, 4, 8; 0 without crd
};

/// What packing will produce, arrays without padding. Byte counts saturate at INT64_MAX.
struct StorageSize {
  std::vector<LevelSize> levels;
  int32_t pos_bytes = 4;   ///< of one pos entry, the same for every level
  int64_t num_stored = 0;  ///< values, fill included
  int64_t pos_total_bytes = 0;
  int64_t crd_total_bytes = 0;
  int64_t value_total_bytes = 0;
  int64_t row_of_bytes = 0;  ///< the permutation of rows that are clustered or sorted
  int64_t total_bytes = 0;   ///< equals codegen::Storage::bytes() of the packed format
};

/// Cells whose occupied ones are the distinct coordinates of the levels [0, end).
pattern::CellShape cells_of_prefix(const FormatSchedule& format, int end);

/// At most so many positions has any level above the last C one of a tensor with so many nonzeros (levels
/// below it have no more than are stored); INT64_MAX if more.
int64_t most_positions_above(const FormatSchedule& format, const std::array<int64_t, 3>& dims, int64_t nnz);

/// Exact for every legal format of `op` over the pattern; never overflows.
StorageSize predict_storage(const FormatSchedule& format, Op op, ValueType type,
                            const pattern::PatternCounts& counts);
/// The same bounded from above by what is known at once: no cells are counted.
StorageSize bound_storage(const FormatSchedule& format, Op op, ValueType type,
                          const pattern::PatternCounts& counts);

}  // namespace waco::schedule
