// Geometric means and counts over records.
#include "apps/bench/report/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "waco/base/counted.hpp"

namespace waco::bench {
namespace {

/// Geometric mean of positive numbers, fed one by one.
class GeometricMean {
 public:
  void add(double value) {
    if (value <= 0) return;
    sum_of_logs_ += std::log(value);
    ++count_;
  }
  int count() const { return count_; }
  double value() const { return count_ > 0 ? std::exp(sum_of_logs_ / count_) : 0; }

 private:
  double sum_of_logs_ = 0;
  int count_ = 0;
};

Standing standing_of(const std::string& name, const std::vector<const Record*>& group) {
  Standing standing;
  standing.name = name;
  GeometricMean over_fixed, over_balanced, waco_over_it, share_of_bound;
  for (const Record* record : group) {
    const Entry* entry = record->find(name);
    if (entry == nullptr) continue;
    standing.num_wrong += entry->ok() ? 0 : 1;
    if (entry->ok()) share_of_bound.add(entry->bound_share());
    over_fixed.add(speedup_over(entry, record->find(kFixedCsr)));
    over_balanced.add(speedup_over(entry, record->find(kBalancedCsr)));
    waco_over_it.add(speedup_over(record->find(kWaco), entry));
    standing.num_best += record->best_peer() == entry ? 1 : 0;
    standing.num_censored += entry->timed() && entry->censored ? 1 : 0;
  }
  standing.num_matrices = over_fixed.count();
  standing.over_fixed_csr = over_fixed.value();
  standing.over_balanced_csr = over_balanced.value();
  standing.waco_over_it = waco_over_it.value();
  standing.share_of_bound = share_of_bound.value();
  return standing;
}

std::vector<std::string> names_of(const std::vector<const Record*>& group) {
  std::vector<std::string> names;
  for (const Record* record : group)
    for (const Entry& entry : record->entries)
      if (std::find(names.begin(), names.end(), entry.name) == names.end()) names.push_back(entry.name);
  return names;
}

}  // namespace

std::vector<std::string> remarks_of(const std::vector<const Record*>& records) {
  std::vector<std::string> remarks;
  for (const Record* record : records)
    for (const Entry& entry : record->entries) {
      if (entry.remark.empty()) continue;
      const std::string remark = entry.library + ": " + entry.remark;
      if (std::find(remarks.begin(), remarks.end(), remark) == remarks.end()) remarks.push_back(remark);
    }
  return remarks;
}

std::vector<std::string> caveats_of(const std::vector<const Record*>& records) {
  std::vector<const Record*> warned;
  std::map<std::string, int> efforts, models, processors, compilers;
  for (const Record* record : records) {
    if (!record->warnings.empty()) warned.push_back(record);
    const PlanOrigin& origin = record->plan_origin;
    if (origin.source != PlanOrigin::kSchedule) {
      ++efforts[origin.effort.empty() ? "unknown" : origin.effort];
      ++models[origin.cost_model.empty() ? "unknown" : model_text(origin.cost_model)];
    }
    ++processors[record->machine.cpu_model];
    ++compilers[record->machine.compiler.version];
  }
  std::vector<std::string> caveats;
  if (!warned.empty())
    caveats.push_back(fmt::format("warnings on {} of {}; the first, of {}: {}", warned.size(),
                                  counted(records.size(), "matrix", "matrices"), warned[0]->matrix.name,
                                  warned[0]->warnings[0]));
  const auto tell = [&](const char* what, const std::map<std::string, int>& kinds) {
    if (kinds.size() < 2) return;
    std::string text;
    for (const auto& [kind, count] : kinds)
      text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", kind, count);
    caveats.push_back(fmt::format("{}: {}", what, text));
  };
  tell("plans found with different efforts", efforts);
  tell("plans found by different models", models);
  tell("times of different processors", processors);
  tell("kernels of different compilers", compilers);
  return caveats;
}

std::vector<std::string> censored_notes(const Summary& summary) {
  std::vector<std::string> notes;
  for (const Standing& standing : summary.standings)
    if (standing.num_censored > 0)
      notes.push_back(
          fmt::format("{}: over {:g} times slower than fixed_csr on {} of {}, where a few calls are its time",
                      standing.name, kCensorRatio, standing.num_censored,
                      counted(standing.num_matrices, "matrix", "matrices")));
  return notes;
}

std::vector<std::vector<const Record*>> by_problem(const std::vector<Record>& records) {
  std::vector<std::vector<const Record*>> groups;
  for (const Record& record : records) {
    const auto same = [&](const std::vector<const Record*>& group) {
      return group[0]->problem == record.problem && group[0]->threads == record.threads;
    };
    const auto group = std::find_if(groups.begin(), groups.end(), same);
    if (group == groups.end())
      groups.push_back({&record});
    else
      group->push_back(&record);
  }
  return groups;
}

std::string rough_note(const Summary& summary) {
  if (summary.num_rough == 0) return "";
  return fmt::format(", on {} of which that peer got a few calls only", summary.num_rough);
}

Summary summarize(const std::vector<const Record*>& group) {
  Summary summary;
  summary.problem = group.at(0)->problem;
  summary.threads = group[0]->threads;
  summary.num_matrices = static_cast<int>(group.size());
  for (const std::string& name : names_of(group)) summary.standings.push_back(standing_of(name, group));
  GeometricMean peer_over_fixed, waco_over_peer;
  for (const Record* record : group) {
    const Entry* waco = record->find(kWaco);
    const auto lost = [&](const Entry* other) {
      const double speedup = speedup_over(waco, other);
      return speedup > 0 && speedup < kClearLoss;
    };
    const auto loss = [&](const Entry* other) {
      return Loss{record->matrix.name, other->name, speedup_over(waco, other)};
    };
    for (const char* csr : {kFixedCsr, kBalancedCsr})
      if (const Entry* other = record->find(csr); lost(other)) summary.behind_csr.push_back(loss(other));
    const Entry* peer = record->best_peer();
    const double speedup = speedup_over(waco, peer);
    if (speedup <= 0) continue;
    waco_over_peer.add(speedup);
    peer_over_fixed.add(speedup_over(peer, record->find(kFixedCsr)));
    summary.num_rough += peer->censored ? 1 : 0;
    if (lost(peer)) summary.losses.push_back(loss(peer));
  }
  for (std::vector<Loss>* losses : {&summary.losses, &summary.behind_csr})
    std::ranges::sort(*losses, {}, &Loss::speedup);
  summary.remarks = remarks_of(group);
  summary.caveats = caveats_of(group);
  summary.num_with_peers = waco_over_peer.count();
  summary.waco_over_best_peer = waco_over_peer.value();
  summary.best_peer_over_fixed_csr = peer_over_fixed.value();
  return summary;
}

}  // namespace waco::bench
