// Keeping the books of a collection.
#include "waco/collect/ledger.hpp"

#include <algorithm>

namespace waco::collect {

std::vector<std::string> MatrixLedger::fastest() const {
  std::vector<std::pair<double, std::string>> sorted = timed;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> result;
  for (auto& [speedup, plan] : sorted) result.push_back(std::move(plan));
  return result;
}

void MatrixLedger::add(const dataset::Record& record) {
  matrix = record.matrix;
  dims = record.dims;
  num_nonzeros = record.num_nonzeros;
  plans.insert(record.plan);
  if (record.stratum == name(Stratum::kNeighbours)) ++num_neighbours;
  // Disturbed ones, too: a run on a busy machine is to look at as many neighbours.
  if (record.ok() && !record.censored && record.time_ns > 0) timed.emplace_back(record.speedup, record.plan);
}

void Ledger::add(const dataset::Record& record) {
  matrices_[record.matrix_hash].add(record);
  hashes_[{record.matrix, record.source}].insert(record.matrix_hash);
  ++num_records_;
}

const MatrixLedger* Ledger::find(const std::string& hash) const {
  const auto at = matrices_.find(hash);
  return at == matrices_.end() ? nullptr : &at->second;
}

const MatrixLedger* Ledger::find(const std::string& matrix, const std::string& source) const {
  const auto at = hashes_.find({matrix, source});
  return at == hashes_.end() || at->second.size() != 1 ? nullptr : find(*at->second.begin());
}

}  // namespace waco::collect
