// From measurements to a winner: who enters the final round, and who wins it.
#pragma once

#include <cstddef>
#include <vector>

#include "waco/tune/result.hpp"

namespace waco::tune {

/// Candidates that may be the fastest: verified, timed to the end, not clearly slower than fixed_csr or than
/// the best of them; fastest first, at most `limit`.
std::vector<schedule::SuperSchedule> pick_finalists(const std::vector<Candidate>& candidates, size_t limit);

/// All that were timed to the end, in their order.
std::vector<schedule::SuperSchedule> all_timed(const std::vector<Candidate>& candidates);

/// The fastest of those contestants that beat the baseline by more than their interval; otherwise fixed_csr.
Best decide(const measure::Measurement& baseline, const std::vector<measure::Measurement>& contestants,
            int threads);

/// Fastest first, then the censored, then the unmeasured by predicted cost, then those that failed.
void sort_candidates(std::vector<Candidate>& candidates);

}  // namespace waco::tune
