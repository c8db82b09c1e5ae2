// From measurements to a winner.
#include "waco/tune/decision.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "waco/base/machine.hpp"

namespace waco::tune {
namespace {

/// A first measurement this much worse than the best is not mistaken for it.
constexpr double kFinalistMargin = 1.15;

using measure::Measurement;

bool is_timed(const Measurement& measurement) {
  return measurement.ok() && !measurement.censored && measurement.median_ns() > 0;
}

double cost_of_calls(double call_ns, const Measurement& m, const Calls& calls) {
  const double ns = wandering_cost(m.point, is_virtual_machine()) * call_ns;
  return calls.number ? static_cast<double>(m.pack_ns) + static_cast<double>(*calls.number) * ns : ns;
}

/// Candidates were timed in different rounds, but all against fixed_csr: the speedup compares them, the time
/// does not.
double cost_at(double speedup, const Measurement& m, const Calls& calls) {
  return cost_of_calls(calls.csr_ns / speedup, m, calls);
}

double cost_ns(const Measurement& m, const Calls& calls) {
  return cost_at(m.speedup.median, m, calls);
}

std::pair<int, double> rank(const Candidate& candidate) {
  const Measurement& m = candidate.measurement;
  if (!candidate.measured)
    return {3, candidate.predicted_cost_ns.value_or(std::numeric_limits<double>::infinity())};
  if (!m.ok()) return {4, static_cast<double>(m.status)};
  return {m.censored ? 2 : candidate.finalist ? 0 : 1, -m.speedup.median};
}

}  // namespace

bool is_surely_faster(const Measurement& m) {
  constexpr int kManyRounds = 6;
  constexpr double kAheadInFew = 1.05;
  return is_timed(m) && m.significantly_faster() &&
         (m.num_rounds >= kManyRounds || m.speedup.low > kAheadInFew);
}

bool wanders(const schedule::SuperSchedule& point) {
  return point.compute.threads > 1 && point.compute.policy == schedule::Policy::kDynamic;
}

double wandering_cost(const schedule::SuperSchedule& point, bool virtual_machine) {
  // Chunks go to another core at every call and find nothing of theirs in its caches. On a Zen 5 that
  // took 1.05 times as long where the cores were near each other, 1.16 to 1.22 times where they were far
  // (SpMM at J = 256), and the cores of a virtual machine may move after tuning. On a Zen 4 plans of 49
  // matrices were timed under each policy three times, seven minutes apart: of what one time chose, the
  // others lost least where a dynamic one had to be ahead by 15 % (SpMV, SpMM); of SDDMM by nothing.
  constexpr double kAnyMachine = 1.03, kVirtualMachine = 1.15;
  if (!wanders(point)) return 1;
  const bool of_rows = point.problem.op == schedule::Op::kSpmv || point.problem.op == schedule::Op::kSpmm;
  return virtual_machine && of_rows ? kVirtualMachine : kAnyMachine;
}

std::vector<schedule::SuperSchedule> pick_finalists(const std::vector<Candidate>& candidates, size_t limit,
                                                    const Calls& calls) {
  std::vector<const Measurement*> timed;
  for (const Candidate& candidate : candidates)
    if (candidate.measured && is_timed(candidate.measurement) && candidate.measurement.speedup.high > 1)
      timed.push_back(&candidate.measurement);
  std::sort(timed.begin(), timed.end(),
            [&](const auto* a, const auto* b) { return cost_ns(*a, calls) < cost_ns(*b, calls); });
  std::vector<schedule::SuperSchedule> finalists;
  for (const Measurement* m : timed) {
    if (finalists.size() == limit || cost_ns(*m, calls) > kFinalistMargin * cost_ns(*timed[0], calls)) break;
    finalists.push_back(m->point);
  }
  if (timed.empty() || limit < 2) return finalists;
  const auto by_the_clock = [&](const Measurement* m) { return cost_of_calls(m->median_ns(), *m, calls); };
  const Measurement* quickest = *std::ranges::min_element(timed, {}, by_the_clock);
  if (std::ranges::count(finalists, quickest->point) > 0) return finalists;
  if (finalists.size() == limit) finalists.pop_back();
  finalists.push_back(quickest->point);
  return finalists;
}

bool is_final_open(const std::vector<Candidate>& candidates, const Calls& calls) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  double least_of_finals = kNever;
  double least_of_others = kNever;
  for (const Candidate& candidate : candidates) {
    const Measurement& m = candidate.measurement;
    if (!candidate.measured || !is_timed(m)) continue;
    if (candidate.finalist)
      least_of_finals = std::min(least_of_finals, cost_at(m.speedup.high, m, calls));
    else
      least_of_others = std::min(least_of_others, cost_at(m.speedup.low, m, calls));
  }
  return least_of_finals < kNever && least_of_others < least_of_finals;
}

const Candidate* best_finalist(const std::vector<Candidate>& candidates, const Calls& calls) {
  const Candidate* best = nullptr;
  for (const Candidate& candidate : candidates)
    if (candidate.finalist && is_timed(candidate.measurement) &&
        (best == nullptr || cost_ns(candidate.measurement, calls) < cost_ns(best->measurement, calls)))
      best = &candidate;
  return best;
}

std::vector<schedule::SuperSchedule> all_timed(const std::vector<Candidate>& candidates) {
  std::vector<schedule::SuperSchedule> points;
  for (const Candidate& candidate : candidates)
    if (candidate.measured && is_timed(candidate.measurement)) points.push_back(candidate.measurement.point);
  return points;
}

void enter_finals(const std::vector<Measurement>& finals, std::vector<Candidate>& candidates) {
  for (const Measurement& final : finals)
    for (Candidate& candidate : candidates) {
      Measurement& first = candidate.measurement;
      if (first.point != final.point || !(final.ok() || final.failed_verification())) continue;
      const int64_t compile_ns = first.compile_ns;  // which was over by then
      first = final;
      first.compile_ns = compile_ns;
      candidate.finalist = true;
    }
}

Best decide(const Measurement& baseline, const std::vector<Measurement>& contestants, int threads,
            std::optional<int64_t> number_of_calls) {
  const Calls calls{number_of_calls, baseline.median_ns()};
  const Measurement* winner = nullptr;
  for (const Measurement& m : contestants)
    if (is_surely_faster(m) && (winner == nullptr || cost_ns(m, calls) < cost_ns(*winner, calls)))
      winner = &m;
  Best best;
  if (winner != nullptr) {
    best.point = winner->point;
    best.significant = true;
    best.speedup = winner->speedup;
  } else {
    winner = &baseline;
    best.point = schedule::csr_point(baseline.point.problem, threads);
    best.is_baseline = true;
    best.speedup = {1, 1, 1};
  }
  best.verified = winner->ok();
  best.time_ns = winner->time_ns;
  best.pack_ns = winner->pack_ns;
  best.stored_bytes = winner->stored_bytes;
  return best;
}

void sort_candidates(std::vector<Candidate>& candidates) {
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return rank(a) < rank(b); });
}

}  // namespace waco::tune
