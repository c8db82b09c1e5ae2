// A point as a vector of small numbers, one a choice: what searches that know nothing of formats and loops
// work on.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "waco/schedule/space.hpp"

namespace waco::search {

/// One choice of the space, made among 0 .. num_values-1.
struct Choice {
  int num_values = 1;
  bool ordered = false;  ///< values beside each other mean alike programs
};

/// [Choices::all().size()], each below its num_values.
using Values = std::vector<int>;

/// The choices of one space. An order (of levels, of loops) is a place for each variable; equal places are
/// taken in the order of the variables. Choices that a point does not make have a fixed value.
class Choices {
 public:
  /// Keeps a reference to `space`.
  explicit Choices(const schedule::ScheduleSpace& space);

  const std::vector<Choice>& all() const { return choices_; }
  /// Requires a point of the space.
  Values values_of(const schedule::SuperSchedule& point) const;
  /// The closest legal point, canonical; nullopt when there is none. values_of(it) may differ from `values`.
  std::optional<schedule::SuperSchedule> point_of(const Values& values) const;
  /// Every choice drawn uniformly.
  Values draw(Random& random) const;

 private:
  int var_number(schedule::Var var) const { return 2 * var.index + (var.inner ? 1 : 0); }
  void add(int num_values, bool ordered);
  int64_t sort_window(int value, int32_t slice) const;
  int sort_value(int64_t window, int32_t slice) const;
  std::vector<schedule::Var> in_order(const int* places, const schedule::FormatSchedule& format,
                                      bool with_dense_outer) const;

  const schedule::ScheduleSpace& space_;
  int order_ = 2;                 ///< modes of the sparse operand
  int num_vars_ = 4;              ///< halves of the sparse indices
  int num_loops_ = 4;             ///< and the outer part of the dense index
  std::vector<int32_t> threads_;  ///< ascending
  std::vector<Choice> choices_;
};

}  // namespace waco::search
