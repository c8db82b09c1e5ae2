// Encodes a point: the choices themselves as categories and orders, and what they imply as numbers.
#include "waco/schedule/encoding.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "waco/base/error.hpp"
#include "waco/schedule/legal_choices.hpp"
#include "waco/schedule/loop_nest.hpp"

namespace waco::schedule {
namespace {

constexpr int kNumWalks = 7;       // absent, unrolled, and how a loop walks its level
constexpr int kNumWindows = 25;    // none, then by floor(log2)
constexpr int kNumThreadUses = 3;  // one, some, all
constexpr int kNumInnermost = 5;   // walks of the innermost loop: all but absent and unrolled

int var_number(Var var) {
  return 2 * var.index + (var.inner ? 1 : 0);
}

std::string name_of_number(Op op, int var) {
  return var_name(op, {static_cast<int8_t>(var / 2), var % 2 == 1}, true);
}

template <typename Choices>
int number_of(const Choices& choices, int32_t value) {
  const auto at = std::find(choices.begin(), choices.end(), value);
  WACO_ASSERT(at != choices.end());
  return static_cast<int>(at - choices.begin());
}

EncodingLayout make_layout(Op op) {
  EncodingLayout layout;
  const int order = sparse_order(op);
  layout.num_level_vars = 2 * order;
  layout.num_loop_vars = layout.num_level_vars + (has_dense_index(op) ? 2 : 0);
  const auto field = [&](std::string name, size_t values) {
    layout.categories.push_back({std::move(name), static_cast<int>(values)});
  };
  for (int mode = 0; mode < order; ++mode)
    field(std::string("split_") + index_name(op, mode), kSplits.size());
  for (int var = 0; var < layout.num_level_vars; ++var)
    field("level_" + name_of_number(op, var), kNumLevelKinds + 1);
  for (int var = 0; var < layout.num_level_vars; ++var) field("walk_" + name_of_number(op, var), kNumWalks);
  field("innermost", kNumInnermost);
  if (has_dense_index(op)) field("tile", kTiles.size() + 1);
  field("parallel", static_cast<size_t>(layout.num_loop_vars) + 1);
  field("policy", 3);
  field("chunk", kChunks.size() + 1);
  field("threads", kNumThreadUses);
  field("unroll", kUnrolls.size());
  field("prefetch", kPrefetches.size());
  field("window", kNumWindows);
  if (has_dense_index(op)) field("stream", 2);

  for (int mode = 0; mode < order; ++mode)
    layout.numbers.push_back(std::string("log2_split_") + index_name(op, mode));
  if (has_dense_index(op)) layout.numbers.insert(layout.numbers.end(), {"log2_tile", "tile_depth"});
  layout.numbers.insert(
      layout.numbers.end(),
      {"log2_chunk", "log2_threads", "log2_thread_share", "log2_unroll", "log2_prefetch", "log2_window",
       "log2_dense_block", "log2_unrolled", "log2_lanes", "num_levels", "num_stored_levels",
       "num_tuple_levels", "num_loops", "num_discordant_loops", "num_searched_levels", "parallel_depth",
       "parallel_reduces", "loops_inside_reduction", "vector_lanes"});
  return layout;
}

/// What the walk of a loop is called in the category "walk_*"; 0 is an absent variable.
int walk_number(const Loop& loop) {
  if (loop.unrolled && loop.kind != LoopKind::kLanes) return 1;
  switch (loop.kind) {
    case LoopKind::kUncompressed:
      return 2;
    case LoopKind::kCompressed:
      return 3;
    case LoopKind::kSlots:
      return 4;
    case LoopKind::kLanes:
      return 5;
    default:
      return 6;
  }
}

class Encoder {
 public:
  Encoder(const SuperSchedule& point, int max_threads)
      : compute_(point.compute),
        format_(point.format),
        op_(point.problem.op),
        order_(sparse_order(op_)),
        layout_(encoding_layout(op_)),
        nest_(analyze(point)),
        max_threads_(std::max(1, max_threads)) {}

  Encoding encode() {
    categories();
    numbers();
    result_.levels =
        placed(layout_.num_level_vars, format_.levels, [](const Level& level) { return level.var; });
    result_.loops = placed(layout_.num_loop_vars, compute_.loops, [](Var var) { return var; });
    WACO_ASSERT(result_.categories.size() == layout_.categories.size());
    WACO_ASSERT(result_.numbers.size() == layout_.numbers.size());
    return std::move(result_);
  }

 private:
  bool is_sparse(Var var) const { return var.index < order_; }
  int32_t split(Var var) const { return format_.split[static_cast<size_t>(var.index)]; }
  /// Unlike index_is_output it takes SDDMM's dense index, which is reduced, for one of the output: trained
  /// models know it so, and another answer would be another kEncodingVersion.
  bool counts_as_output(Var var) const { return !is_sparse(var) || mode_is_output(op_, var.index); }

  template <typename Items, typename VarOf>
  static std::vector<float> placed(int num_vars, const Items& items, VarOf var_of) {
    std::vector<float> matrix(static_cast<size_t>(num_vars) * static_cast<size_t>(num_vars), 0.0f);
    for (size_t place = 0; place < items.size(); ++place) {
      const auto row = static_cast<size_t>(var_number(var_of(items[place])));
      matrix[row * static_cast<size_t>(num_vars) + place] = 1;
    }
    return matrix;
  }

  void categories() {
    std::vector<int>& out = result_.categories;
    out.reserve(layout_.categories.size());
    for (int mode = 0; mode < order_; ++mode)
      out.push_back(number_of(kSplits, format_.split[static_cast<size_t>(mode)]));
    std::array<int, 6> kinds{}, walks{};
    for (const Level& level : format_.levels)
      kinds[static_cast<size_t>(var_number(level.var))] = 1 + static_cast<int>(level.kind);
    for (const Loop& loop : nest_.loops)
      for (const Var var : loop.vars)
        if (is_sparse(var)) walks[static_cast<size_t>(var_number(var))] = walk_number(loop);
    out.insert(out.end(), kinds.begin(), kinds.begin() + layout_.num_level_vars);
    out.insert(out.end(), walks.begin(), walks.begin() + layout_.num_level_vars);
    out.push_back(walk_number(nest_.loops[static_cast<size_t>(nest_.innermost_sparse)]) - 2);
    if (has_dense_index(op_))
      out.push_back(compute_.dense_tile == 0 ? 0 : 1 + number_of(kTiles, compute_.dense_tile));
    out.push_back(
        compute_.parallel < 0 ? 0 : 1 + var_number(compute_.loops[static_cast<size_t>(compute_.parallel)]));
    out.push_back(static_cast<int>(compute_.policy));
    out.push_back(compute_.chunk == 0 ? 0 : 1 + number_of(kChunks, compute_.chunk));
    out.push_back(compute_.threads == 1 ? 0 : compute_.threads < max_threads_ ? 1 : 2);
    out.push_back(number_of(kUnrolls, compute_.unroll));
    out.push_back(number_of(kPrefetches, compute_.prefetch));
    const int window_bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(format_.sort_window))) - 1;
    out.push_back(std::min(window_bits, kNumWindows - 1));
    if (has_dense_index(op_)) out.push_back(compute_.stream ? 1 : 0);
  }

  void add(double value) { result_.numbers.push_back(static_cast<float>(value)); }

  void numbers() {
    for (int mode = 0; mode < order_; ++mode) add(std::log2(format_.split[static_cast<size_t>(mode)]));
    if (has_dense_index(op_)) {
      add(std::log2(std::max(1, compute_.dense_tile)));
      add(tile_depth());
    }
    add(std::log2(std::max(1, compute_.chunk)));
    add(std::log2(compute_.threads));
    add(std::log2(static_cast<double>(compute_.threads) / max_threads_));
    add(std::log2(compute_.unroll));
    add(std::log2(1 + compute_.prefetch));
    add(std::log2(static_cast<double>(format_.sort_window)));
    level_numbers();
    loop_numbers();
  }

  /// Share of the sparse loops that stand outside the dense index's outer loop; 1 when it is not tiled.
  double tile_depth() const {
    int outside = 0, sparse = 0;
    bool seen = compute_.dense_tile == 0;
    for (const Var var : compute_.loops) {
      seen = seen || !is_sparse(var);
      sparse += is_sparse(var);
      outside += is_sparse(var) && !seen;
    }
    return compute_.dense_tile == 0 ? 1 : static_cast<double>(outside) / sparse;
  }

  void level_numbers() {
    double block = 1, lanes = 1;
    int stored = 0, tuple = 0;
    for (const Level& level : format_.levels) {
      const bool dense = level.kind == LevelKind::kUncompressed;
      block = !dense ? 1 : level.var.inner ? block * split(level.var) : block;
      stored += !dense;
      tuple += level.kind == LevelKind::kSingleton;
      if (is_lane_kind(level.kind)) lanes = format_.split[0];
    }
    double unrolled = 1;
    for (const Loop& loop : nest_.loops)
      if (loop.unrolled) unrolled *= split(loop.vars[0]);
    add(std::log2(block));
    add(std::log2(unrolled));
    add(std::log2(lanes));
    add(static_cast<double>(format_.levels.size()));
    add(stored);
    add(tuple);
  }

  void loop_numbers() {
    int discordant = 0, searched = 0, depth = 0, reductions = 0, inside_reduction = 0;
    bool lanes_inside = false, parallel_reduces = false;
    for (int l = 0; l < static_cast<int>(nest_.loops.size()); ++l) {
      const Loop& loop = nest_.loops[static_cast<size_t>(l)];
      const bool binds_output =
          std::any_of(loop.vars.begin(), loop.vars.end(), [&](Var v) { return counts_as_output(v); });
      discordant += loop.kind == LoopKind::kExtent;
      for (const int level : loop.located)
        searched += format_.levels[static_cast<size_t>(level)].kind != LevelKind::kUncompressed;
      depth += l < nest_.parallel;
      lanes_inside = lanes_inside || loop.kind == LoopKind::kLanes;
      parallel_reduces = parallel_reduces || (loop.parallel && !binds_output);
      if (l >= nest_.num_runtime || !is_sparse(loop.vars[0])) continue;
      inside_reduction += binds_output && reductions > 0;
      reductions += !binds_output;
    }
    add(static_cast<double>(nest_.loops.size()));
    add(discordant);
    add(searched);
    add(nest_.parallel < 0 ? -1 : depth);
    add(parallel_reduces);
    add(inside_reduction);
    add(lanes_inside);
  }

  const ComputeSchedule& compute_;
  const FormatSchedule& format_;
  const Op op_;
  const int order_;
  const EncodingLayout& layout_;
  const LoopNest nest_;
  const int max_threads_;
  Encoding result_;
};

}  // namespace

const EncodingLayout& encoding_layout(Op op) {
  static const std::array<EncodingLayout, 4> kLayouts{make_layout(Op::kSpmv), make_layout(Op::kSpmm),
                                                      make_layout(Op::kSddmm), make_layout(Op::kMttkrp)};
  return kLayouts[static_cast<size_t>(op)];
}

Encoding encode(const SuperSchedule& point, int max_threads) {
  return Encoder(point, max_threads).encode();
}

}  // namespace waco::schedule
