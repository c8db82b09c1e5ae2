// A point as numbers for a learned model: categories for lookup tables, permutation matrices, and plain
// numbers. The order of everything is fixed by kEncodingVersion. Type and rhs are not part of it: they
// belong to the problem, not to the schedule.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "waco/schedule/super_schedule.hpp"

namespace waco::schedule {

/// Raised whenever the same point would be encoded otherwise; models and indexes name theirs.
inline constexpr int kEncodingVersion = 1;

struct CategoryField {
  std::string name;    ///< such as "split_i", "level_i1", "tile", "parallel", "policy"
  int num_values = 0;  ///< categories are 0 .. num_values-1
};

struct EncodingLayout {
  std::vector<CategoryField> categories;
  int num_level_vars = 0;            ///< V: halves of all sparse indices; the level matrix is V x V
  int num_loop_vars = 0;             ///< L: and those of the dense index; the loop matrix is L x L
  std::vector<std::string> numbers;  ///< names of the plain numbers
};
const EncodingLayout& encoding_layout(Op op);

struct Encoding {
  std::vector<int> categories;  ///< [layout.categories.size()]
  /// Entry [variable][place] is 1 where the variable stands at that place; rows of absent ones are 0.
  std::vector<float> levels, loops;
  std::vector<float> numbers;  ///< [layout.numbers.size()], logarithms to base 2 where sizes are meant
};

/// Requires a legal, canonical point. `max_threads`: what the machine offers.
Encoding encode(const SuperSchedule& point, int max_threads);

}  // namespace waco::schedule
