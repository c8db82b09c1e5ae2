// Measuring what is missing of one matrix.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "waco/base/signals.hpp"
#include "waco/collect/collector.hpp"
#include "waco/collect/ledger.hpp"
#include "waco/collect/point_chooser.hpp"
#include "waco/dataset/record.hpp"
#include "waco/measure/session.hpp"

namespace waco::collect {

/// What the matrices of a collection have in common.
struct RunContext {
  const CollectOptions& options;
  ChoiceOptions choice;
  StructurePool& pool;
  std::set<std::string>& compiled;  ///< PointChooser::kernel_name of what this run has compiled
  StopToken stop;
  std::function<void(const dataset::Record&)> on_record;
};

/// Measures the points of `tensor` that `before` lacks, in the order of the strata, and hands over a record
/// of each. Points are chosen by `clustered`, the same with its rows clustered, unless that is null. `matrix`
/// is a record with everything that is the same for all. Returns false when a stop was requested before all
/// was done. Throws as measure::Session does.
bool collect_matrix(const matrix::SparseTensor& tensor, const matrix::SparseTensor* clustered,
                    const dataset::Record& matrix, const MatrixLedger& before, RunContext& context);

}  // namespace waco::collect
