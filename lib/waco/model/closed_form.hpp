// The closed-form cost model: predicted time of a SuperSchedule on a pattern, from counts of the pattern and
// the machine's ceilings, without learning anything.
#pragma once

#include "waco/model/ceilings.hpp"
#include "waco/model/cost_model.hpp"
#include "waco/model/kernel_code.hpp"
#include "waco/model/traffic.hpp"
#include "waco/model/work_counts.hpp"

namespace waco::model {

/// Raised whenever a point gets other terms on the same pattern with the same ceilings: terms that were kept
/// are then computed again. kTermsVersion (learned/cost_features.hpp) says which models may go on with the
/// new ones.
inline constexpr int kClosedFormVersion = 7;

/// Of log(time) that these terms expect a point to gain by clustered rows, how much it does: kernels wait
/// less for dense rows than the terms say. 449 points were timed beside their clustered twins on a Zen 3:
/// 0.62 for SpMM at J = 32, 0.90 at J = 256, 0.48 for SDDMM, 0.63 together.
inline constexpr double kClusteredGainKept = 0.63;

/// Where the predicted time of one point goes. Times are wall times in nanoseconds.
struct CostTerms {
  double stored_values = 0;  ///< fill included
  double fill = 1;           ///< stored values per nonzero
  double bodies = 0;         ///< executions of the innermost code
  double flops = 0;          ///< fill included
  int threads = 1;           ///< that have work
  Traffic traffic;           ///< bytes and time by memory level
  double arithmetic_ns = 0;  ///< throughput of the register tile, operands in L1
  double latency_ns = 0;     ///< what waiting for accumulators adds to it
  double loop_ns = 0;        ///< starting and stepping loops, rows and blocks
  double locate_ns = 0;      ///< searching coordinates in discordant orders, and loops over absent ones
  double memory_ns = 0;      ///< all levels beyond L1
  double output_ns = 0;      ///< zeroing, and adding up private outputs
  double imbalance = 1;      ///< busiest thread over the mean
  double dispatch_ns = 0;    ///< parallel regions, barriers, chunks
  double total_ns = 0;
};

class ClosedFormModel : public CostModel {
 public:
  /// Keeps references to the tensor's coordinates.
  ClosedFormModel(const matrix::SparseTensor& tensor, Ceilings ceilings);
  /// Predicted nanoseconds of a run.
  std::vector<double> costs(std::span<const schedule::SuperSchedule> points) override;
  /// Requires a legal, canonical point of an op whose order is the tensor's.
  CostTerms terms(const schedule::SuperSchedule& point);
  /// About how much the point stores, from the counts that its cost needs.
  FormatCounts expected_storage(const schedule::SuperSchedule& point) {
    return counter_.format_counts(point);
  }
  const Ceilings& ceilings() const { return ceilings_; }
  /// Of a matrix: whether its rows come in an order that wastes the caches, so that clustering them may gain.
  /// Taken in that order, many nonzeros then need a row of the dense operand again after an eighth of L2,
  /// which is surely left for such rows, has been filled with others, or, where these rows are long, L1.
  bool may_gain_by_clustering(const schedule::Problem& problem);
  /// Expected time of a point of a matrix with clustered rows, as a share of that with the rows as they are,
  /// but for what scattering the rows of the result costs, which depends on the machine. `clustered` is of
  /// the same matrix in that order.
  double clustered_share(ClosedFormModel& clustered, const schedule::SuperSchedule& point);

 private:
  double repeated_misses(int64_t cached);

  Ceilings ceilings_;
  CoreRates rates_;
  PatternProfile profile_;
  WorkCounter counter_;
};

}  // namespace waco::model
