// From measurements to a winner: who enters the final round, and who wins it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "waco/tune/result.hpp"

namespace waco::tune {

/// How often a kernel will run, where that is known, and the nanoseconds that fixed_csr takes. Contestants
/// are compared by packing and all calls then, otherwise by speed; see wandering_cost() for dynamic
/// partitions.
struct Calls {
  std::optional<int64_t> number;
  double csr_ns = 1;
};

/// Whether chunks of rows go to another thread at every call: a dynamic partition of several threads.
bool wanders(const schedule::SuperSchedule& point);

/// By which a point counts as slower than it was: 1.03 where it wanders, and for SpMV and SpMM in a virtual
/// machine 1.15; else 1.
double wandering_cost(const schedule::SuperSchedule& point, bool virtual_machine);

/// Candidates that may be the best: verified, timed to the end, not clearly slower than fixed_csr nor clearly
/// worse than the best of them; best first, at most `limit`. Where that is more than one, the last of them is
/// the one that took the least time, if it is not among the others: fixed_csr may have become slower or
/// faster between the rounds by more than the others did.
std::vector<schedule::SuperSchedule> pick_finalists(const std::vector<Candidate>& candidates, size_t limit,
                                                    const Calls& calls = {});

/// Whether a candidate that was in no final did better at first than any did in one, by more than both
/// intervals: other work slows kernels that share rows out evenly more than fixed_csr, whose threads take
/// what is left, so that a final held beside it is worth another. False where no final was held.
bool is_final_open(const std::vector<Candidate>& candidates, const Calls& calls = {});

/// The best of those that were in a final, by `calls`; null where none was held.
const Candidate* best_finalist(const std::vector<Candidate>& candidates, const Calls& calls = {});

/// All that were timed to the end, in their order.
std::vector<schedule::SuperSchedule> all_timed(const std::vector<Candidate>& candidates);

/// Puts the final's measurements in the place of the candidates' first ones: its times are the better ones,
/// longer and all in common rounds, and who fails there is not right. Only of those that it could not run,
/// for want of memory, the first ones stay.
void enter_finals(const std::vector<measure::Measurement>& finals, std::vector<Candidate>& candidates);

/// Whether more than chance makes it faster than fixed_csr. In fewer than six rounds, as slow calls get,
/// chance does in one of 32 cases or more (see significantly_faster()), and there are several that may win:
/// it has to be ahead by 5 %.
bool is_surely_faster(const measure::Measurement& measurement);

/// The best of those contestants that are surely faster; otherwise fixed_csr.
/// Whether so many `calls` repay its packing is for Verdict::pays() to say; where they don't, they repay no
/// other's.
Best decide(const measure::Measurement& baseline, const std::vector<measure::Measurement>& contestants,
            int threads, std::optional<int64_t> calls = std::nullopt);

/// Finalists first, then the others, both fastest first (their rounds differ), then the censored, then the
/// unmeasured by predicted cost, then those that failed.
void sort_candidates(std::vector<Candidate>& candidates);

}  // namespace waco::tune
