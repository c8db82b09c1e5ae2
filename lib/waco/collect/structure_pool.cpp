// Drawing structures, and giving them other run-time arguments.
#include "waco/collect/structure_pool.hpp"

#include <algorithm>
#include <cmath>

#include "waco/base/error.hpp"
#include "waco/schedule/legal_choices.hpp"
#include "waco/schedule/loop_nest.hpp"

namespace waco::collect {
namespace {

using schedule::SuperSchedule;

constexpr int64_t kLargeDim = int64_t{1} << 24;
/// Places are drawn with probability proportional to 1 / (place + kHead): the first few serve most draws.
constexpr double kHead = 2;
constexpr int kNumStructures = 200;  ///< of a family

std::vector<int64_t> large_shape(const schedule::Problem& problem) {
  return std::vector<int64_t>(static_cast<size_t>(schedule::sparse_order(problem.op)), kLargeDim);
}

int draw_place(Random& random) {
  const double ratio = (kNumStructures + kHead) / kHead;
  const double place = kHead * (std::pow(ratio, random.uniform()) - 1);
  return std::min(static_cast<int>(place), kNumStructures - 1);
}

template <typename Choices>
int32_t pick_from(const Choices& choices, int32_t least, Random& random) {
  const auto begin = std::lower_bound(choices.begin(), choices.end(), least);
  const auto count = static_cast<uint64_t>(choices.end() - begin);
  return *(begin + static_cast<std::ptrdiff_t>(random.below(count)));
}

bool is_sliced(const schedule::FormatSchedule& format) {
  return std::any_of(format.levels.begin(), format.levels.end(),
                     [](const schedule::Level& level) { return is_lane_kind(level.kind); });
}

/// Splits too large to be unrolled are run-time arguments, as long as their coordinates keep their width (one
/// byte up to 256). The rows of a slice are vector lanes: they stay.
void vary_splits(schedule::FormatSchedule& format, const std::vector<int64_t>& dims, Random& random) {
  for (size_t mode = 0; mode < dims.size(); ++mode) {
    if (format.split[mode] <= schedule::kMaxUnrolledSplit || (mode == 0 && is_sliced(format))) continue;
    // From a split that leaves two parts to one that leaves about 4000, or the whole list on small shapes.
    const int64_t least = std::max<int64_t>(2 * schedule::kMaxUnrolledSplit, dims[mode] / 4096);
    for (int tries = 0; tries < 8; ++tries) {
      const int32_t split = pick_from(schedule::kSplits, 2 * schedule::kMaxUnrolledSplit, random);
      if (split < least || split >= dims[mode] || (split <= 256) != (format.split[mode] <= 256)) continue;
      format.split[mode] = split;
      break;
    }
  }
}

void vary_window(schedule::FormatSchedule& format, int64_t num_rows, Random& random) {
  if (format.sort_window == 1) return;
  const int64_t slice = format.split[0];
  const int64_t choices[] = {64, 256, 1024, 4096, 16384, num_rows};
  const int64_t window = std::max(choices[random.below(std::size(choices))], 2 * slice);
  format.sort_window = (window + slice - 1) / slice * slice;
}

void vary_compute(schedule::ComputeSchedule& compute, int max_threads, Random& random) {
  if (compute.policy == schedule::Policy::kDynamic) compute.chunk = pick_from(schedule::kChunks, 1, random);
  if (compute.prefetch > 0) compute.prefetch = pick_from(schedule::kPrefetches, 1, random);
  if (compute.threads > 1 && max_threads > 1)
    compute.threads = random.chance(0.75)
                          ? max_threads
                          : 2 + static_cast<int32_t>(random.below(static_cast<uint64_t>(max_threads - 1)));
}

}  // namespace

StructurePool::StructurePool(const schedule::Problem& problem, int max_threads, uint64_t seed)
    : space_(problem, large_shape(problem), {.max_threads = max_threads}), seed_(seed) {}

const SuperSchedule& StructurePool::structure(schedule::Stratum family, int place) {
  const auto at = structures_.find({family, place});
  if (at != structures_.end()) return at->second;
  Random random(Random(seed_, static_cast<uint64_t>(family)).next(), static_cast<uint64_t>(place));
  return structures_.emplace(std::pair(family, place), space_.sample_stratified(random, family))
      .first->second;
}

SuperSchedule StructurePool::draw(const schedule::ScheduleSpace& space, schedule::Stratum family,
                                  Random& random) {
  WACO_ASSERT(space.problem() == space_.problem());
  SuperSchedule point = structure(family, draw_place(random));
  vary_splits(point.format, space.dims(), random);
  vary_window(point.format, space.dims()[0], random);
  vary_compute(point.compute, space.limits().max_threads, random);
  const std::optional<SuperSchedule> legal = space.repaired(std::move(point));
  return legal ? *legal : schedule::csr_point(space.problem(), space.limits().max_threads);
}

}  // namespace waco::collect
