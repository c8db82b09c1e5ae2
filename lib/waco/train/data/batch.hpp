// Groups as tensors: what one step of training, or one evaluation, works on.
#pragma once

#include <torch/types.h>

#include <memory>
#include <span>
#include <vector>

#include "waco/train/data/preparation.hpp"

namespace waco::train {

/// M groups with at most N points each; shorter ones are padded with copies of their first point, which
/// `present` marks. All real numbers are float32, not standardised.
struct Batch {
  torch::Tensor features;                                        ///< [M, F], or undefined
  std::vector<std::shared_ptr<const PreparedPattern>> patterns;  ///< [M], or empty
  torch::Tensor problem;                                         ///< [M, 2]
  torch::Tensor categories;                                      ///< [M, N, C], int64
  torch::Tensor levels, loops, numbers, terms;                   ///< [M, N, ...]
  torch::Tensor cost, noise;                                     ///< [M, N], see Label
  torch::Tensor censored, present;                               ///< [M, N], bool
};

/// One group of a batch, and which of its points; all of them when `points` is empty.
struct Member {
  const Example* example = nullptr;
  std::vector<int64_t> points;
};

Batch make_batch(std::span<const Member> members);

}  // namespace waco::train
