// Work of a packed tensor dealt to threads.
#include "kernels-templates/partition.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <utility>
#include <vector>

#include "packing_inputs.hpp"
#include "waco/base/random.hpp"
#include "waco/codegen/storage.hpp"

namespace waco::codegen {

using matrix::SparseTensor;
using schedule::FormatSchedule;
using schedule::Op;
using schedule::ValueType;

namespace {

/// Work of every iteration of level 0: the values stored below it, plus one.
std::vector<int64_t> iteration_work(const waco_storage& s) {
  std::vector<int64_t> below(s.num_stored, 1);
  int level = s.format.num_levels - 1;
  for (; level > 0; --level) {
    const int kind = s.format.level[level].kind;
    if (kind == WACO_S) continue;
    if (kind == WACO_E || kind == WACO_L) break;  // positions of a slice are not grouped by lane
    std::vector<int64_t> above(s.level[level - 1].num_positions, 0);
    for (size_t p = 0; p < above.size(); ++p) {
      const int64_t extent = s.level[level].extent;
      const int64_t begin = kind == WACO_U ? p * extent : waco_load_pos(&s, level, p);
      const int64_t end = kind == WACO_U ? (p + 1) * extent : waco_load_pos(&s, level, p + 1);
      for (int64_t q = begin; q < end; ++q) above[p] += below[q];
    }
    below = std::move(above);
  }
  if (level > 0) {
    const int64_t lanes = s.level[1].extent;
    std::vector<int64_t> slices(s.level[0].num_positions, 0);
    for (size_t slice = 0; slice < slices.size(); ++slice) {
      const bool fixed = s.format.level[2].kind == WACO_E;
      const int64_t begin = fixed ? slice * s.level[2].width : waco_load_pos(&s, 2, slice);
      const int64_t end = fixed ? begin + s.level[2].width : waco_load_pos(&s, 2, slice + 1);
      for (int64_t q = begin * lanes; q < end * lanes; ++q) slices[slice] += below[q];
    }
    below = std::move(slices);
  }
  for (int64_t& work : below) ++work;
  return below;
}

int64_t first_child(const waco_storage& s, int64_t x) {
  if (s.format.level[1].kind == WACO_U) return x * s.level[1].extent;
  return s.format.level[1].kind == WACO_C ? waco_load_pos(&s, 1, x) : x;
}

}  // namespace

TEST_CASE("partition: whole iterations are dealt once, in order, within one iteration of equal work",
          "[codegen]") {
  Random random(17);
  for (int round = 0; round < 400; ++round) {
    const auto dims = random_dims(random, 2 + round % 2);
    const SparseTensor tensor = random_tensor(random, dims, static_cast<int64_t>(random.below(300)));
    const FormatSchedule format = random_format(random, dims);
    const Storage storage = pack(tensor, format, op_of(tensor), ValueType::kF32, 2);
    const waco_storage& s = storage.abi();
    const int threads = 1 + static_cast<int>(random.below(7));
    const std::vector<int64_t> bounds = partition(storage, threads, false);
    const std::vector<int64_t> work = iteration_work(s);
    INFO(schedule::to_text(format, op_of(tensor)) << ", round " << round << ", " << threads << " threads");

    const bool tuple = s.format.level[1].kind == WACO_S;
    std::vector<int64_t> before{0}, group{0};  // work and iterations before every place that may be cut
    for (size_t x = 0; x < work.size(); ++x) {
      const bool joined =
          tuple && x + 1 < work.size() && waco_load_crd(&s.level[0], x) == waco_load_crd(&s.level[0], x + 1);
      if (before.size() == group.size()) before.push_back(before.back());
      before.back() += work[x];
      if (!joined) group.push_back(static_cast<int64_t>(x) + 1);
    }
    int64_t longest = 0;
    for (size_t g = 1; g < before.size(); ++g) longest = std::max(longest, before[g] - before[g - 1]);
    REQUIRE(bounds[0] == 0);
    REQUIRE(bounds[2 * threads] == static_cast<int64_t>(work.size()));
    for (int t = 0; t <= threads; ++t) {
      if (t > 0) REQUIRE(bounds[2 * t] >= bounds[2 * t - 2]);
      REQUIRE(bounds[2 * t + 1] == first_child(s, bounds[2 * t]));
      const auto place = std::find(group.begin(), group.end(), bounds[2 * t]);
      REQUIRE(place != group.end());
      const double target = static_cast<double>(before.back()) * t / threads;
      REQUIRE(std::abs(static_cast<double>(before[place - group.begin()]) - target) <= longest * 0.5 + 1);
    }
  }
}

TEST_CASE("partition: a long row is cut where the work is equal", "[codegen]") {
  Random random(23);
  for (int round = 0; round < 300; ++round) {
    const int order = 2 + round % 2;
    const auto dims = random_dims(random, order);
    const SparseTensor tensor = random_tensor(random, dims, static_cast<int64_t>(random.below(300)));
    const FormatSchedule format = order == 2 ? format_of(round % 4 == 0 ? "i1:U k:C i0:U i/3" : "i:U k:C")
                                  : round % 4 == 1 ? format_of("i:U k:C l:S", Op::kMttkrp)
                                                   : format_of("i:U k:C l:C", Op::kMttkrp);
    const Storage storage = pack(tensor, format, op_of(tensor), ValueType::kF32, 1);
    const waco_storage& s = storage.abi();
    const int threads = 1 + static_cast<int>(random.below(9));
    const int64_t short_row = std::vector<int64_t>{0, 10, 40}[random.below(3)];
    const std::vector<int64_t> bounds = partition(storage, threads, true, short_row);
    const int64_t rows = s.level[0].num_positions;
    const int64_t total = s.num_stored + rows;
    REQUIRE(bounds[0] == 0);
    REQUIRE(bounds[1] == 0);
    REQUIRE(bounds[2 * threads] == rows);
    REQUIRE(bounds[2 * threads + 1] == s.level[1].num_positions);
    int64_t longest = 1;  // values below one level-1 position
    for (int64_t q = 0; q < s.level[1].num_positions; ++q)
      longest = std::max(longest, waco_first_value(&s, 1, q + 1) - waco_first_value(&s, 1, q));
    const int64_t most_whole = std::max(short_row, total / threads / 32);
    for (int t = 1; t <= threads; ++t) {
      const int64_t x = bounds[2 * t], q = bounds[2 * t + 1];
      REQUIRE(x >= bounds[2 * t - 2]);
      REQUIRE(q >= bounds[2 * t - 1]);
      REQUIRE(q >= first_child(s, x));
      if (x < rows) REQUIRE((q == first_child(s, x) || q < first_child(s, x + 1)));
      const double done = static_cast<double>(waco_first_value(&s, 1, q) + x);
      const bool is_whole = q == first_child(s, x);
      const double tolerance =
          static_cast<double>(is_whole ? std::max(longest, most_whole / 2) : longest) + 1;
      REQUIRE(std::abs(done - static_cast<double>(total) * t / threads) <= tolerance);
      if (!is_whole) REQUIRE(waco_work_before(&s, x + 1) - waco_work_before(&s, x) > most_whole);
    }
  }
}

}  // namespace waco::codegen
