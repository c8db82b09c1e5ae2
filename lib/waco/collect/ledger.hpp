// What a dataset holds already, by matrix: how a run that continues knows what is left.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "waco/collect/strata.hpp"
#include "waco/dataset/record.hpp"

namespace waco::collect {

/// The records of one matrix.
struct MatrixLedger {
  std::string matrix;  ///< name
  std::vector<int64_t> dims;
  int64_t num_nonzeros = 0;
  int num_neighbours = 0;
  std::set<std::string> plans;                        ///< text forms
  std::vector<std::pair<double, std::string>> timed;  ///< speedup and plan of those timed to the end

  void add(const dataset::Record& record);
  /// Plans timed to the end, fastest first.
  std::vector<std::string> fastest() const;
};

class Ledger {
 public:
  void add(const dataset::Record& record);
  /// Of a pattern; nullptr when there is no record of it.
  const MatrixLedger* find(const std::string& hash) const;
  /// Of the only matrix with this name and source; nullptr when there is none, or several.
  const MatrixLedger* find(const std::string& matrix, const std::string& source) const;
  int64_t num_records() const { return num_records_; }

 private:
  std::map<std::string, MatrixLedger> matrices_;                                 ///< by pattern hash
  std::map<std::pair<std::string, std::string>, std::set<std::string>> hashes_;  ///< by name and source
  int64_t num_records_ = 0;
};

}  // namespace waco::collect
