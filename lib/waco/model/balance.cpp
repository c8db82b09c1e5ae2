// Load balance of static, dynamic and balanced partitions from the row pointers of the pattern.
#include "waco/model/balance.hpp"

#include <algorithm>
#include <cmath>

#include "waco/schedule/row_windows.hpp"

namespace waco::model {

using codegen::KernelShape;
using schedule::Policy;

namespace {

/// Busiest over mean when rows are cut into `threads` ranges of equally many rows (multiples of `granule`).
double static_factor(const PatternProfile& profile, double granule, int threads, double row_weight) {
  const auto& pointers = profile.row_pointers();
  const int64_t rows = static_cast<int64_t>(pointers.size()) - 1;
  const double total = profile.num_nonzeros() + row_weight * static_cast<double>(rows);
  const double units = std::ceil(static_cast<double>(rows) / granule);
  double busiest = 0;
  int64_t begin = 0;
  for (int t = 1; t <= threads; t++) {
    const double unit = std::ceil(units * t / threads);
    const int64_t end = std::min<int64_t>(rows, static_cast<int64_t>(unit * granule));
    const double mine =
        static_cast<double>(pointers[end] - pointers[begin]) + row_weight * static_cast<double>(end - begin);
    busiest = std::max(busiest, mine);
    begin = end;
  }
  return total > 0 ? busiest * threads / total : 1;
}

/// Busiest over mean when chunks of `chunk_rows` rows are fetched, in order or, `sorted`, the longest first,
/// as threads get free.
double dynamic_factor(PatternProfile& profile, double chunk_rows, bool sorted, int threads,
                      double row_weight) {
  constexpr double kNegligible = 0.02;  // of the mean
  const double rows = static_cast<double>(profile.row_pointers().size() - 1);
  const double mean = std::max(1e-9, (profile.num_nonzeros() + row_weight * rows) / threads);
  const double piece = mean * threads / std::max(1.0, rows / chunk_rows);
  const auto whole = static_cast<int64_t>(std::min(chunk_rows, rows + 1));
  const double heaviest =
      sorted ? profile.longest_rows_share(std::min(1.0, chunk_rows / rows)) * profile.num_nonzeros()
             : profile.heaviest_rows(whole);
  double busiest = std::max(mean + 0.5 * piece, heaviest + row_weight * std::min(chunk_rows, rows));
  // No thread is ever ahead of another by more than the heaviest chunk, and what comes first holds up nobody.
  if (!sorted && heaviest > kNegligible * mean)
    busiest = std::max(busiest, profile.busiest_by_turns(whole, threads) + row_weight * rows / threads);
  return busiest / mean;
}

/// Of the busiest thread, when chunks of equal iterations are dealt out and the last one is what is left.
double most_iterations(double iterations, double chunk, int threads) {
  const double chunks = std::ceil(iterations / chunk);
  const double full_rounds = std::ceil(chunks / threads) - 1;
  const bool last_alone = chunks - full_rounds * threads <= 1;
  return full_rounds * chunk + (last_alone ? iterations - (chunks - 1) * chunk : chunk);
}

/// The parallel loop hands out ranges of mode 0.
bool walks_rows(const schedule::Loop& loop) {
  return loop.vars[0].index == 0 && loop.level >= 0;
}

double rows_factor(const KernelShape& shape, PatternProfile& profile, double granule, int threads,
                   double row_weight) {
  const auto& compute = shape.point.compute;
  const auto& format = shape.point.format;
  const double rows = static_cast<double>(profile.row_pointers().size() - 1);
  const double total = profile.num_nonzeros() + row_weight * rows;
  const bool whole_sort =
      format.sort_window > 1 &&
      format.sort_window > schedule::rows_of_thread(static_cast<int64_t>(rows), threads, format.split[0]);
  switch (compute.policy) {
    case Policy::kStatic: {
      const double in_order = static_factor(profile, granule, threads, row_weight);
      if (!whole_sort) return in_order;
      const double head =
          profile.longest_rows_share(1.0 / threads) * profile.num_nonzeros() + row_weight * rows / threads;
      return head * threads / total;
    }
    case Policy::kDynamic:
      return dynamic_factor(profile, std::max(1.0, static_cast<double>(compute.chunk) * granule), whole_sort,
                            threads, row_weight);
    case Policy::kBalanced: {
      if (shape.cuts_rows) return 1.01;
      const double heaviest =
          profile.heaviest_rows(static_cast<int64_t>(std::max(1.0, std::min(granule, rows + 1))));
      return std::max(1.0, (total / threads + 0.5 * heaviest) * threads / total);
    }
  }
  return 1;
}

}  // namespace

Balance estimate_balance(const KernelShape& shape, const WorkCounts& work, PatternProfile& profile,
                         const Ceilings& ceilings, double row_weight) {
  Balance balance;
  const auto& compute = shape.point.compute;
  const int parallel = shape.nest.parallel;
  if (parallel < 0 || compute.threads <= 1 || parallel >= shape.nest.num_runtime) return balance;
  const auto& loop = shape.nest.loops[parallel];
  const LoopCount& count = work.loops[parallel];
  const double regions = std::max(1.0, count.entries);
  const double iterations = std::max(1.0, count.iterations / regions);
  const double chunk = compute.policy == Policy::kDynamic ? compute.chunk : 1;
  balance.threads = static_cast<int>(std::min<double>(compute.threads, std::ceil(iterations / chunk)));
  if (shape.cuts_rows) balance.threads = compute.threads;
  balance.migrates = compute.policy == Policy::kDynamic;
  const double granule = loop.vars[0].index == 0 && !loop.vars[0].inner ? shape.point.format.split[0] : 1;
  if (walks_rows(loop)) {
    balance.factor = rows_factor(shape, profile, granule, balance.threads, row_weight);
  } else {
    balance.factor = compute.policy == Policy::kStatic    ? 1.15
                     : compute.policy == Policy::kDynamic ? 1.05
                                                          : 1.01;
    const double busiest = most_iterations(iterations, chunk, balance.threads);
    balance.factor = std::max(balance.factor, busiest * balance.threads / iterations);
  }
  balance.factor = std::clamp(balance.factor, 1.0, static_cast<double>(balance.threads));
  // More threads than the machine has take turns, and meet each other asleep at barriers.
  const double crowd = std::max(1.0, static_cast<double>(compute.threads) / ceilings.threads);
  balance.factor *= crowd > 1 ? 1.3 * crowd : 1;
  const double share =
      ceilings.threads > 1 ? std::min(1.0, (compute.threads - 1.0) / (ceilings.threads - 1.0)) : 1;
  balance.dispatch_ns = regions * (ceilings.region_ns * (0.5 + 0.5 * share));
  if (compute.policy == Policy::kDynamic)
    balance.dispatch_ns += regions * iterations / chunk * ceilings.grab_ns / balance.threads;
  return balance;
}

}  // namespace waco::model
