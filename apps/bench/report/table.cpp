// Aligned text.
#include "apps/bench/report/table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "waco/base/counted.hpp"
#include "waco/tune/text.hpp"

namespace waco::bench {
namespace {

std::string row(std::string_view name, std::string_view time, std::string_view interval,
                std::string_view gflops, std::string_view speedup, std::string_view setup,
                std::string_view share, std::string_view note) {
  return fmt::format("{:<14} {:>9}  {:>7}  {:>7}  {:>8}  {:>9}  {:>6}  {}\n", name, time, interval, gflops,
                     speedup, setup, share, note);
}

std::string entry_row(const Record& record, const Entry& entry) {
  if (!entry.ok()) return row(entry.name, entry.status, "", "", "", "", "", entry.message);
  const measure::Estimate& time = entry.time_ns;
  const std::string mark = entry.censored ? ">" : "";
  const std::string interval = entry.censored ? "" : fmt::format("+-{:.0f} %", 100 * time.relative_width());
  return row(entry.name, mark + tune::time_text(time.median), interval,
             fmt::format("{:.1f}", record.flops / time.median),
             fmt::format("{:.2f}x", speedup_over(&entry, record.find(kFixedCsr))),
             tune::time_text(entry.setup_ns), percent(entry.bound_share()),
             fmt::format("{}; {}", entry.bound.binding(), entry.note));
}

}  // namespace

std::string percent(double share) {
  return share > 0 ? fmt::format("{:.0f} %", 100 * share) : "";
}

std::string factor(double value, std::string_view none, std::string_view unit) {
  return value > 0 ? fmt::format("{:.2f}{}", value, unit) : std::string(none);
}

std::string over_best_peer(const Record& record, std::string_view none, std::string_view unit) {
  const Entry* peer = record.best_peer();
  const double speedup = speedup_over(record.find(kWaco), peer);
  return (speedup > 0 && peer->censored ? ">" : "") + factor(speedup, none, unit);
}

std::string origin_text(const Record& record) {
  const PlanOrigin& origin = record.plan_origin;
  if (origin.source == PlanOrigin::kSchedule) return "schedule given by hand";
  const std::string how =
      origin.cost_model.empty()
          ? ""
          : fmt::format(" by {} with effort {}", model_text(origin.cost_model), origin.effort);
  const bool tuned = origin.source.empty() || origin.source == PlanOrigin::kTuning;
  return tuned ? fmt::format("tuned in {:.1f} s{}", record.tuning_s, how)
               : fmt::format("plan of {}{}", origin.source, how.empty() ? "" : ", found" + how);
}

std::string to_table(const model::Ceilings& ceilings) {
  std::string text =
      fmt::format("{}, {}{}\n", ceilings.cpu, counted(ceilings.threads, "thread"),
                  !ceilings.measured   ? " (built-in guesses: it could not be measured)"
                  : ceilings.disturbed ? " (measured beside other work: what it can do is more)"
                                       : "");
  text += "read bandwidth:";
  for (int level = 0; level < model::kNumMemoryLevels; ++level)
    text +=
        fmt::format(" {} {:.0f}", model::kMemoryLevelNames[level], ceilings.read(level, ceilings.threads));
  text += fmt::format(" GB/s; vector peak: f32 {:.0f}, f64 {:.0f} GFLOP/s; random loads of f32:",
                      ceilings.fma(false, ceilings.threads), ceilings.fma(true, ceilings.threads));
  for (const int64_t kilobytes : {16, 256, 4096, 131072})
    text += fmt::format(" {:.2f}", ceilings.gather(static_cast<double>(kilobytes) * 1024, ceilings.threads));
  return text + " G/s from 16 KB, 256 KB, 4 MB, 128 MB\n";
}

std::string to_table(const Record& record) {
  std::string dims;
  for (const int64_t dim : record.matrix.dims) dims += fmt::format("{}{}", dims.empty() ? "" : " x ", dim);
  std::string text = fmt::format(
      "{}: {}, {}, {}, {}, {}\n", record.matrix.name, dims, counted(record.matrix.num_nonzeros, "nonzero"),
      schedule::to_text(record.problem), counted(record.threads, "thread"), origin_text(record));
  text += row("contestant", "time", "", "GFLOP/s", "over csr", "set-up", "bound", "bound by; how");
  std::vector<const Entry*> order;
  for (const Entry& entry : record.entries) order.push_back(&entry);
  std::stable_sort(order.begin(), order.end(), [](const Entry* a, const Entry* b) {
    if (a->ok() != b->ok()) return a->ok();
    return a->ok() && a->time_ns.median < b->time_ns.median;
  });
  for (const Entry* entry : order) text += entry_row(record, *entry);
  if (const Entry* peer = record.best_peer())
    text += fmt::format("waco over the best peer ({}): {}\n", peer->name, over_best_peer(record, "-", "x"));
  for (const std::string& remark : remarks_of({&record})) text += fmt::format("note: {}\n", remark);
  for (const std::string& warning : record.warnings) text += fmt::format("note: {}\n", warning);
  return text;
}

namespace {

std::string to_lines(const std::vector<Loss>& losses) {
  std::string text;
  for (const Loss& loss : losses)
    text += fmt::format("  {} against {}: {:.2f}x\n", loss.matrix, loss.to, loss.speedup);
  return text;
}

}  // namespace

std::string to_table(const Summary& summary) {
  std::string text =
      fmt::format("{}, {}, {}; geometric means of speedups\n", schedule::to_text(summary.problem),
                  counted(summary.threads, "thread"), counted(summary.num_matrices, "matrix", "matrices"));
  text += fmt::format("{:<14} {:>8} {:>14} {:>17} {:>12} {:>5} {:>10} {:>6}\n", "contestant", "matrices",
                      "over fixed_csr", "over balanced_csr", "waco over it", "bound", "best peer", "failed");
  for (const Standing& standing : summary.standings)
    text += fmt::format("{:<14} {:>8} {:>14} {:>17} {:>12} {:>5} {:>10} {:>6}\n", standing.name,
                        standing.num_matrices, factor(standing.over_fixed_csr, "-", "x"),
                        factor(standing.over_balanced_csr, "-", "x"), factor(standing.waco_over_it, "-", "x"),
                        percent(standing.share_of_bound), standing.num_best, standing.num_wrong);
  for (const std::string& note : censored_notes(summary)) text += fmt::format("note: {}\n", note);
  for (const std::string& remark : summary.remarks) text += fmt::format("note: {}\n", remark);
  for (const std::string& caveat : summary.caveats) text += fmt::format("note: {}\n", caveat);
  if (!summary.behind_csr.empty())
    text += fmt::format("waco below {:.2f} of {} or {}:\n{}", kClearLoss, kFixedCsr, kBalancedCsr,
                        to_lines(summary.behind_csr));
  if (summary.num_with_peers == 0)
    return text + (summary.problem.op == schedule::Op::kMttkrp
                       ? "no library here has mttkrp: fixed_csr is all there is to compare with\n"
                       : "no peer took part\n");
  return text +
         fmt::format(
             "waco over the best peer of each matrix: {:.2f}x ({}{}; best peer over fixed_csr: {:.2f}x); "
             "below {:.2f}: {}\n{}",
             summary.waco_over_best_peer, counted(summary.num_with_peers, "matrix", "matrices"),
             rough_note(summary), summary.best_peer_over_fixed_csr, kClearLoss, summary.losses.size(),
             to_lines(summary.losses));
}

std::string to_table(const std::vector<Library>& libraries) {
  std::string text;
  for (const Library& library : libraries) {
    text += fmt::format("{:<12} {} {}\n", library.name, library.title,
                        library.available() ? library.version : "(absent)");
    if (!library.remark.empty()) text += fmt::format("{:12} {}\n", "", library.remark);
    for (const Peer& peer : library.peers) text += fmt::format("{:14}{:<14} {}\n", "", peer.name, peer.note);
  }
  return text;
}

}  // namespace waco::bench
