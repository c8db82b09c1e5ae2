// Points to values and back. The values lie in this order:
//   split of each mode | place and kind of each variable's level | place of each variable's loop |
//   tile, parallel, policy, chunk, threads, unroll, prefetch, stream, sort
#include "waco/search/choices.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "waco/base/error.hpp"
#include "waco/schedule/building.hpp"
#include "waco/schedule/legal_choices.hpp"

namespace waco::search {

using schedule::LevelKind;
using schedule::Policy;
using schedule::SuperSchedule;
using schedule::Var;

namespace {

constexpr int kNumPolicies = 3;
constexpr int kSortDoublings = 13;  ///< windows of 2 .. 2^13 slices; beyond, the largest there is
constexpr int kSortAll = kSortDoublings + 1;

enum Tail { kTile, kParallel, kPolicy, kChunk, kThreads, kUnroll, kPrefetch, kStream, kSort, kTailSize };

/// Place of the largest of the ascending `choices` that is not above `value`; 0 when all are.
template <typename Container, typename Value>
int place_of(const Container& choices, Value value) {
  const auto above = std::upper_bound(choices.begin(), choices.end(), value);
  return std::max(0, static_cast<int>(above - choices.begin()) - 1);
}

/// 1, 2, 4 .. below `most`, half of it, and itself.
std::vector<int32_t> thread_choices(int most) {
  std::vector<int32_t> choices;
  for (int32_t n = 1; n < most; n *= 2) choices.push_back(n);
  choices.push_back(most);
  if (most / 2 > 0) choices.push_back(most / 2);
  std::sort(choices.begin(), choices.end());
  choices.erase(std::unique(choices.begin(), choices.end()), choices.end());
  return choices;
}

}  // namespace

Choices::Choices(const schedule::ScheduleSpace& space)
    : space_(space),
      order_(schedule::sparse_order(space.problem().op)),
      num_vars_(2 * order_),
      num_loops_(num_vars_ + (schedule::has_dense_index(space.problem().op) ? 1 : 0)),
      threads_(thread_choices(space.limits().max_threads)) {
  const auto size = [](const auto& choices) { return static_cast<int>(choices.size()); };
  for (int mode = 0; mode < order_; ++mode) add(size(space.splits(mode)), true);
  for (int var = 0; var < num_vars_; ++var) {
    add(num_vars_, true);
    add(schedule::kNumLevelKinds, false);
  }
  for (int var = 0; var < num_loops_; ++var) add(num_loops_, true);
  // As Tail has them.
  add(size(space.tiles()), true);
  add(1 + num_loops_, false);
  add(kNumPolicies, false);
  add(size(schedule::kChunks), true);
  add(size(threads_), true);
  add(size(schedule::kUnrolls), true);
  add(size(schedule::kPrefetches), true);
  add(2, false);
  add(kSortAll + 1, true);
}

void Choices::add(int num_values, bool ordered) {
  choices_.push_back({num_values, ordered});
}

int64_t Choices::sort_window(int value, int32_t slice) const {
  if (value == 0) return 1;
  return value == kSortAll ? space_.largest_sort_window(slice) : int64_t{slice} << value;
}

int Choices::sort_value(int64_t window, int32_t slice) const {
  if (window <= 1) return 0;
  if (window >= space_.largest_sort_window(slice)) return kSortAll;
  // Rounded up, as windows are parts that are no larger than asked for.
  const int doublings = std::bit_width(static_cast<uint64_t>(window / slice - 1));
  return std::clamp(doublings, 1, kSortDoublings);
}

Values Choices::values_of(const SuperSchedule& point) const {
  Values values(choices_.size(), 0);
  const auto splits = point.format.split;
  for (int mode = 0; mode < order_; ++mode)
    values[static_cast<size_t>(mode)] = place_of(space_.splits(mode), splits[static_cast<size_t>(mode)]);
  int* const levels = values.data() + order_;
  for (int var = 0; var < num_vars_; ++var) levels[2 * var] = num_vars_ - 1;
  for (size_t l = 0; l < point.format.levels.size(); ++l) {
    const int var = var_number(point.format.levels[l].var);
    levels[2 * var] = static_cast<int>(l);
    levels[2 * var + 1] = static_cast<int>(point.format.levels[l].kind);
  }
  int* const loops = levels + 2 * num_vars_;
  for (int var = 0; var < num_loops_; ++var) loops[var] = var < num_vars_ ? num_loops_ - 1 : 0;
  for (size_t l = 0; l < point.compute.loops.size(); ++l) {
    const int var = var_number(point.compute.loops[l]);
    const bool is_whole_dense = var == num_vars_ && point.compute.dense_tile == 0;
    if (var < num_loops_ && !is_whole_dense) loops[var] = static_cast<int>(l);
  }
  int* const tail = loops + num_loops_;
  const schedule::ComputeSchedule& compute = point.compute;
  const std::optional<Var> parallel = schedule::parallel_var(compute);
  tail[kTile] = place_of(space_.tiles(), compute.dense_tile);
  tail[kParallel] = parallel ? 1 + std::min(var_number(*parallel), num_loops_ - 1) : 0;
  tail[kPolicy] = static_cast<int>(compute.policy);
  tail[kChunk] = place_of(schedule::kChunks, compute.chunk);
  tail[kThreads] = place_of(threads_, compute.threads);
  tail[kUnroll] = place_of(schedule::kUnrolls, compute.unroll);
  tail[kPrefetch] = place_of(schedule::kPrefetches, compute.prefetch);
  tail[kStream] = compute.stream ? 1 : 0;
  tail[kSort] = sort_value(point.format.sort_window, splits[0]);
  return values;
}

/// The variables that `format` has, by their places.
std::vector<Var> Choices::in_order(const int* places, const schedule::FormatSchedule& format,
                                   bool with_dense_outer) const {
  std::vector<int> numbers;
  for (int var = 0; var < num_loops_; ++var) {
    const bool present =
        var == num_vars_ ? with_dense_outer : var % 2 == 0 || format.split[static_cast<size_t>(var / 2)] > 1;
    if (present) numbers.push_back(var);
  }
  // The places of levels lie two apart, those of loops one; the caller passes them gathered.
  std::stable_sort(numbers.begin(), numbers.end(), [&](int a, int b) { return places[a] < places[b]; });
  std::vector<Var> vars;
  for (const int var : numbers) vars.push_back({static_cast<int8_t>(var / 2), var % 2 == 1});
  return vars;
}

std::optional<SuperSchedule> Choices::point_of(const Values& values) const {
  WACO_ASSERT(values.size() == choices_.size());
  SuperSchedule point;
  point.problem = space_.problem();
  for (int mode = 0; mode < order_; ++mode)
    point.format.split[static_cast<size_t>(mode)] =
        space_.splits(mode)[static_cast<size_t>(values[static_cast<size_t>(mode)])];
  const int* const levels = values.data() + order_;
  std::vector<int> places;
  for (int var = 0; var < num_loops_; ++var) places.push_back(var < num_vars_ ? levels[2 * var] : 0);
  for (const Var var : in_order(places.data(), point.format, false))
    point.format.levels.push_back({var, static_cast<LevelKind>(levels[2 * var_number(var) + 1])});
  const int* const loops = levels + 2 * num_vars_;
  const int* const tail = loops + num_loops_;
  point.format.sort_window = sort_window(tail[kSort], point.format.split[0]);

  schedule::ComputeSchedule& compute = point.compute;
  compute.dense_tile = space_.tiles()[static_cast<size_t>(tail[kTile])];
  compute.loops = in_order(loops, point.format, compute.dense_tile > 0);
  if (num_loops_ > num_vars_) compute.loops.push_back({static_cast<int8_t>(order_), compute.dense_tile > 0});
  if (const int var = tail[kParallel] - 1; var >= 0)
    schedule::set_parallel_var(compute, Var{static_cast<int8_t>(var / 2), var % 2 == 1});
  compute.policy = static_cast<Policy>(tail[kPolicy]);
  compute.chunk =
      compute.policy == Policy::kDynamic ? schedule::kChunks[static_cast<size_t>(tail[kChunk])] : 0;
  compute.threads = threads_[static_cast<size_t>(tail[kThreads])];
  compute.unroll = schedule::kUnrolls[static_cast<size_t>(tail[kUnroll])];
  compute.prefetch = schedule::kPrefetches[static_cast<size_t>(tail[kPrefetch])];
  compute.stream = tail[kStream] == 1;
  return space_.repaired(std::move(point));
}

Values Choices::draw(Random& random) const {
  Values values;
  for (const Choice& choice : choices_)
    values.push_back(static_cast<int>(random.below(static_cast<uint64_t>(choice.num_values))));
  return values;
}

}  // namespace waco::search
