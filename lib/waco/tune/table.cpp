// The result as a table for people.
#include <fmt/format.h>

#include <algorithm>

#include "waco/base/counted.hpp"
#include "waco/tune/decision.hpp"
#include "waco/tune/result.hpp"
#include "waco/tune/text.hpp"

namespace waco::tune {
namespace {

std::string interval_text(const measure::Estimate& estimate) {
  return fmt::format("{:.2f}-{:.2f}", estimate.low, estimate.high);
}

/// The text form without the op, which is the same in every line.
std::string plan_text(const schedule::SuperSchedule& point) {
  const std::string text = schedule::to_text(point);
  return text.substr(std::min(text.find("| "), text.size() - 2) + 2);
}

std::string row(std::string_view time, std::string_view speedup, std::string_view interval,
                std::string_view pack, std::string_view bytes, std::string_view plan) {
  return fmt::format("{:>10}  {:>8}  {:>11}  {:>9}  {:>9}  {}\n", time, speedup, interval, pack, bytes, plan);
}

std::string candidate_row(const Candidate& candidate) {
  const measure::Measurement& m = candidate.measurement;
  const std::string plan = plan_text(m.point);
  if (!candidate.measured) {
    const double predicted = candidate.predicted_cost_ns.value_or(0);
    return row(predicted > 0 ? "~" + time_text(predicted) : "-", "-", "", "", "", plan);
  }
  if (!m.ok())
    return row(name(m.status), "-", "", "", "", plan + (m.message.empty() ? "" : "  (" + m.message + ")"));
  if (m.censored)
    return row(">" + time_text(m.median_ns()), fmt::format("<{:.2f}x", m.speedup.median), "",
               time_text(static_cast<double>(m.pack_ns)), bytes_text(m.stored_bytes), plan);
  return row(time_text(m.median_ns()), fmt::format("{:.2f}x", m.speedup.median), interval_text(m.speedup),
             time_text(static_cast<double>(m.pack_ns)), bytes_text(m.stored_bytes), plan);
}

/// Of fixed_csr, in the rounds that the first rows are from.
double baseline_ns(const TuneResult& result) {
  for (const Candidate& candidate : result.candidates)
    if (candidate.finalist && candidate.measured && candidate.measurement.baseline_median_ns > 0)
      return candidate.measurement.baseline_median_ns;
  return result.baseline->median_ns();
}

bool is_faster(const Candidate& candidate) {
  return candidate.measured && is_surely_faster(candidate.measurement);
}

/// Of the best: "330 us a call on 2 threads (209 GFLOP/s)".
std::string call_text(const TuneResult& result) {
  const double time_ns = result.best->time_ns.median;
  const int threads = result.best->point.compute.threads;
  return fmt::format("{} a call on {} ({:.3g} GFLOP/s)", time_text(time_ns), counted(threads, "thread"),
                     result.gflops(time_ns));
}

std::string winner(const TuneResult& result) {
  if (!result.best) return "no point could be verified\n";
  const Best& best = *result.best;
  // The verdict says it.
  if (result.verdict && best.is_baseline && best.time_ns.median <= 0) return {};
  if (best.time_ns.median <= 0 && best.is_baseline) return "best: fixed_csr, which was not timed\n";
  if (best.time_ns.median <= 0)
    return fmt::format("best by prediction{}: {}\n", best.verified ? ", verified" : "",
                       schedule::to_text(best.point));
  if (best.is_baseline) {
    const char* reason = "no candidate is faster beyond doubt";
    if (std::ranges::none_of(result.candidates, &Candidate::measured))
      reason = "no candidate was measured";
    else if (std::ranges::none_of(result.candidates,
                                  [](const Candidate& c) { return c.measured && c.measurement.ok(); }))
      reason = "no candidate could be run";
    else if (result.verdict && std::ranges::any_of(result.candidates, is_faster))
      reason = "what is faster is not repaid by so few calls";
    return fmt::format("best: fixed_csr, {}; {}\n", call_text(result), reason);
  }
  std::string repaid;
  if (const auto calls = result.break_even_calls())
    repaid = fmt::format(", packing repaid after {}", counted(*calls, "call"));
  return fmt::format("best: {:.2f}x over fixed_csr, {}, verified{}\n      {}\n", best.speedup.median,
                     call_text(result), repaid, schedule::to_text(best.point));
}

}  // namespace

std::string to_table(const TuneResult& result) {
  std::string text;
  if (result.baseline || !result.candidates.empty())
    text = row("time", "speedup", "interval", "pack", "stored", "plan");
  if (result.baseline) {
    const measure::Measurement& csr = *result.baseline;
    text += row(time_text(baseline_ns(result)), "1.00x", "", time_text(static_cast<double>(csr.pack_ns)),
                bytes_text(csr.stored_bytes), "fixed_csr");
  }
  bool among_finalists = !result.candidates.empty() && result.candidates.front().finalist;
  for (const Candidate& candidate : result.candidates) {
    if (among_finalists && !candidate.finalist) {
      if (candidate.measured && candidate.measurement.ok()) text += "  measured before the last rounds:\n";
      among_finalists = false;
    }
    text += candidate_row(candidate);
  }
  for (const std::string& warning : result.warnings) text += fmt::format("note: {}\n", warning);
  text += winner(result);
  return result.verdict ? text + account_text(*result.verdict) : text;
}

}  // namespace waco::tune
