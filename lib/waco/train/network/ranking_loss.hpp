// What training minimises.
#pragma once

#include <torch/types.h>

#include <cstdint>

#include "waco/train/data/batch.hpp"

namespace waco::train {

enum class Loss { kRank, kL2 };

struct LossOptions {
  Loss kind = Loss::kRank;
  double least_gap = 0.07;  ///< log2 of the time ratio that two points must differ by: 5 %
  double most_gap = 1;      ///< of costs that is asked for, however far the times are apart
  /// Pairs weigh 1 / (1 + top_weight * log2(time of the faster one / best of its group in the batch)).
  double top_weight = 1;
  double anchor = 0.05;  ///< weight of the distance to log2(time / fixed_csr) beside the ranking
  /// Bounds the memory for pairs where no gradient is wanted, as of whole groups that are judged; of a step
  /// all are held until the gradients are known. Changes nothing but rounding.
  int64_t pairs_at_once = int64_t{1} << 22;
};

/// Mean over the groups of a batch; costs [M, N]. Pairs inside the noise and those that a censored label does
/// not order have no part in it.
torch::Tensor loss_of(const torch::Tensor& costs, const Batch& batch, const LossOptions& options);

}  // namespace waco::train
