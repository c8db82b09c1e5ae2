// Compiling, verifying and timing candidates, stage by stage.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "waco/base/counted.hpp"
#include "waco/base/error.hpp"
#include "waco/measure/kernel_cache.hpp"
#include "waco/tune/decision.hpp"
#include "waco/tune/run.hpp"

namespace waco::tune {

using measure::Measurement;
using schedule::SuperSchedule;

namespace {

constexpr size_t kRefinedPoints = 3;  ///< whose neighbours a refinement round looks at
constexpr int kMoreFinals = 2;        ///< where is_final_open() after one

}  // namespace

void Run::open_session() {
  measure::MeasureOptions options;
  options.threads = result_.threads;
  options.compiler = options_.compiler;
  options.kernels_of = kernels_of_;
  options.seed = options_.seed;
  options.quick.budget_s = plan_.sample_s;
  options.final.budget_s = plan_.final_s;
  options.stop = signals_;  // work that has begun may outlast the budget
  if (result_.effort == Effort::kNone) {
    options.quick.min_rounds = options.final.min_rounds =
        3;  // of the one answer, which is checked in any case
  } else {
    options.no_more = first_budget_;
  }
  options.on_result = [this](const Measurement& m) { note_result(m); };
  session_.emplace(tensor_, options_.problem, std::move(options));
}

/// Keeps each result as it comes: the machine may fail before the last of a batch.
void Run::note_result(const Measurement& m) {
  measure::check_machine(m);
  const std::string speed =
      m.ok() ? fmt::format("{:.2f}x", m.speedup.median) : std::string(measure::name(m.status));
  spdlog::debug("measured {}: {} {}", ++num_reported_, speed, schedule::to_text(m.point));
  const auto at = std::find_if(batch_.begin(), batch_.end(), [&](const Candidate* c) {
    return !c->measured && c->measurement.point == m.point;
  });
  if (at == batch_.end()) return;  // of the final
  (*at)->measurement = m;
  (*at)->measured = true;
}

/// Measures a batch; those that a stop request or the budget leaves out stay unmeasured.
void Run::measure(std::vector<Candidate*> batch) {
  std::vector<SuperSchedule> points;
  for (const Candidate* candidate : batch) points.push_back(candidate->measurement.point);
  batch_ = std::move(batch);
  session_->measure(points);
  batch_.clear();
}

void Run::measure_all() {
  std::vector<Candidate*> waiting;
  for (Candidate& candidate : result_.candidates)
    if (!candidate.measured) waiting.push_back(&candidate);
  // One batch compiles best; with a budget smaller ones, so that nothing is compiled that is not measured.
  const size_t size = first_budget_.seconds_left()
                          ? static_cast<size_t>(std::max(2, measure::num_compilers()))
                          : waiting.size();
  for (size_t begin = 0; begin < waiting.size() && !first_budget_.stop_requested(); begin += size)
    measure({waiting.begin() + static_cast<ptrdiff_t>(begin),
             waiting.begin() + static_cast<ptrdiff_t>(std::min(begin + size, waiting.size()))});
}

/// Neighbours of the best, round after round while time is left; who is best is told as in the final.
void Run::refine() {
  const auto num_neighbours = static_cast<size_t>(plan_.neighbours_a_round());
  if (!options_.points.empty() || num_neighbours == 0) return;
  std::vector<Candidate>& candidates = result_.candidates;
  const Calls calls{options_.calls, result_.baseline->median_ns()};
  for (int round = 0; round < plan_.refinements; ++round) {
    refinement_cut_ = first_budget_.stop_requested();
    if (refinement_cut_) return;
    std::vector<SuperSchedule> best = pick_finalists(candidates, kRefinedPoints, calls);
    if (best.empty()) best.push_back(schedule::csr_point(options_.problem, result_.threads));
    const std::vector<Candidate> next = ranking_->neighbours(best, candidates, num_neighbours);
    if (next.empty()) return;
    result_.num_ranked = ranking_->num_ranked();
    const size_t num_before = candidates.size();
    candidates.insert(candidates.end(), next.begin(), next.end());
    std::vector<Candidate*> batch;
    for (Candidate& candidate : candidates)
      if (!candidate.measured) batch.push_back(&candidate);
    measure(batch);
    const auto is_open = [](const Candidate& candidate) { return !candidate.measured; };
    refinement_cut_ = std::erase_if(candidates, is_open) > 0;
    if (candidates.empty()) return;  // none was ranked, and no neighbour measured
    sort_candidates(candidates);
    spdlog::info("{} of the best measured: {:.2f}x", counted(candidates.size() - num_before, "neighbour"),
                 candidates[0].measurement.speedup.median);
  }
}

/// In common rounds, longer than the first.
void Run::hold_final(const std::vector<SuperSchedule>& finalists) {
  spdlog::info("{} and fixed_csr in common rounds", counted(finalists.size(), "finalist"));
  const std::vector<Measurement> finals = session_->compete(finalists);
  for (const Measurement& final : finals)
    if (!final.ok() && !final.failed_verification())
      result_.warnings.push_back(fmt::format("not in the final rounds ({}: {}): {}",
                                             measure::name(final.status), final.message,
                                             schedule::to_text(final.point)));
  enter_finals(finals, result_.candidates);
}

void Run::hold_finals() {
  // Points given by hand are there to be compared with each other, slow ones too.
  const Calls calls{options_.calls, result_.baseline->median_ns()};
  const std::vector<SuperSchedule> finalists =
      options_.points.empty() ? pick_finalists(result_.candidates, plan_.finalists, calls)
                              : all_timed(result_.candidates);
  if (finalists.empty()) return;
  final_skipped_ = whole_budget_.stop_requested();
  if (final_skipped_) return;
  hold_final(finalists);
  for (int more = 0; more < kMoreFinals && is_final_open(result_.candidates, calls); ++more) {
    if (whole_budget_.stop_requested()) return;
    std::vector<SuperSchedule> again = pick_finalists(result_.candidates, plan_.finalists, calls);
    const Candidate* winner = best_finalist(result_.candidates, calls);
    if (std::ranges::count(again, winner->measurement.point) == 0) again.push_back(winner->measurement.point);
    hold_final(again);
  }
}

/// Without timing: the cheapest point whose result is right. Of points given by hand every one is checked.
void Run::verify_first() {
  if (result_.candidates.empty()) return stay_on_csr();
  const bool given = !options_.points.empty();
  for (Candidate& candidate : result_.candidates) {
    if (candidate.measured || signals_.stop_requested()) continue;
    measure({&candidate});
    const Measurement& m = candidate.measurement;
    if (!candidate.measured || !m.ok()) continue;
    candidate.measured = false;  // the prediction is what is told of it
    if (result_.best) continue;
    Best& best = result_.best.emplace();
    best.point = m.point;
    best.verified = true;
    best.pack_ns = m.pack_ns;
    best.stored_bytes = m.stored_bytes;
    if (!given) return;
  }
  if (!given && !result_.best && !signals_.stop_requested()) stay_on_csr();
}

}  // namespace waco::tune
