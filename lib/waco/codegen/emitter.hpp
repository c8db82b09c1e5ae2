// Writes the body of a kernel from its shape. Internal to codegen; `kernel_source` is the interface.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "waco/codegen/kernel_shape.hpp"
#include "waco/codegen/writer.hpp"

namespace waco::codegen {

/// What is known at one place of the loop nest, as C++ expressions; empty = not known yet.
struct Env {
  std::array<std::array<std::string, 2>, 4> coordinate;  ///< [index][inner]
  std::array<std::array<bool, 2>, 4> constant{};         ///< bound by an unrolled loop
  std::array<int, 4> unrolled{};                         ///< values of inner parts that unrolled loops bind
  std::array<std::string, WACO_MAX_LEVELS> position;     ///< per level
  std::string first_copy;  ///< position of the first of several nonzeros in flight
  std::string slot;        ///< current slot of an E or L level whose lane is not bound yet
};

/// The part of the dense index that the code being written covers.
struct Tile {
  int num_vectors = 1;
  std::string base = "0";  ///< first element
  int tail = 0;            ///< values in the last vector when it is partial, else 0
  bool whole = true;       ///< the whole index
};

/// What accumulators sum up.
enum class Target {
  kOutput,    ///< elements of the output
  kFactored,  ///< a factored loop, before its operand is applied
};

/// One output element (or one tile of them) that lives in registers.
struct Accumulator {
  std::string name;  ///< vectors are name_0, name_1, ...
  Env env;           ///< coordinates of its output
  int copy = 0;      ///< its nonzero in flight where each has outputs of its own, else its group
};

/// One multiply-add of the innermost code.
struct Leaf {
  Env env;
  std::string accumulator;
};

inline constexpr int64_t kLineBytes = 64;  ///< of the caches

class Emitter {
 public:
  explicit Emitter(KernelShape shape);
  std::string source();

 private:
  using Body = std::function<void()>;

  // emitter.cpp: the frame of the kernel
  void emit_prologue();
  void emit_locals();
  void emit_output();
  void emit_operand_ends();
  bool reads_streams() const;
  std::string body_name() const;
  void emit_streams();
  void emit_edge();
  void emit_ends();
  void emit_zero_output();
  void emit_sum_of_private_outputs();
  void emit_sum_of_carries();

  // emitter_loops.cpp: the loop nest
  void emit_nest(int depth, const Env& env);
  void emit_loop(int depth, Env env);
  void emit_counted_loop(int depth, Env env, const std::string& name, const std::string& end);
  void emit_range_loop(int depth, const std::string& name, const std::string& begin, const std::string& end,
                       const Body& body);
  void emit_shared_loop(int depth, const std::string& name, const std::string& begin, const std::string& end,
                        const Body& body);
  void emit_shared_function(int depth, const std::string& name, const std::string& begin,
                            const std::string& end, const Body& body);
  std::string emit_function(int depth, const std::string& name, const Body& body);
  bool reduces_outside(int depth) const;
  bool runs_in_function() const;  ///< parts of the parallel loop
  void emit_cut_rows(const std::string& name, const std::string& function, const std::string& tile);
  void emit_compressed_loop(int depth, Env env);
  std::pair<std::string, std::string> bounds(const Env& env, int level) const;
  void emit_copies(int depth, const std::string& p, const std::string& begin, const std::string& end,
                   const Body& body);
  void emit_slot_loop(int depth, Env env);
  void emit_dense_outer_loop(int depth, const Env& env);
  void emit_dense_steps(int num_vectors, const Body& body);
  void emit_after_binding(int depth, Env env);

  // emitter_between.cpp: look-ups, prefetches, zeroed rows, hoisted loads
  int emit_locate(int group, Env& env);
  void emit_search(const std::string& p, int level, const Env& env, const std::string& is_less);
  void emit_scan(const std::string& p, int level, const Env& env, const std::string& is_equal);
  void emit_prefetch(int depth, const Env& env, const std::string& at);
  void emit_prefetch_of_rows(int depth, const Env& env);
  void emit_prefetch_of_slots();
  void emit_zero_rows(const Env& env);
  bool tiles_remain(int depth) const;  ///< further in, tiles of the dense index are looped over
  void hoist_operands(int depth, const Env& env);

  // emitter_body.cpp: accumulators, operands and the innermost code
  void emit_scope(int depth, const Env& env);
  void emit_row_buffer(int depth, const Env& env);
  void emit_body(const Env& env);
  int vectors_per_step(const Env& env) const;
  void name_what_steps_share(const Env& env);
  void emit_factored(int depth, const Env& env);
  bool notes_met(const schedule::Loop& loop) const;
  void declare(const std::vector<Accumulator>& accumulators, bool from_output);
  std::vector<Accumulator> accumulators(const Env& env) const;
  std::vector<Leaf> leaves(const Env& env) const;
  std::vector<Env> unrolled(const Env& env, bool outputs_only) const;
  Env bind_copy(const Env& env, int copy) const;
  std::string accumulator_of(const Env& env, int copy) const;
  std::string name_of(Target target, const Env& env, std::optional<int> copy = {}) const;
  int vectors_per_accumulator() const;
  void emit_leaves(const Env& env);
  void emit_dense_leaves(const std::vector<Leaf>& leaves);
  void emit_spmv_leaf(const Leaf& leaf);
  std::string block_operand(const Env& env);
  std::string diagonal_start(const Env& env, const std::string& diagonal) const;
  std::string diagonal_operand(const Env& env);
  std::string spread_operand(const Env& env, int vector);
  std::string element(const Env& env);
  void emit_position_vectors(const Env& env, const std::string& begin, const std::string& end);
  std::string operand_vector(int operand, const Env& env, int vector);
  bool rows_are_shared(int mode) const;
  std::string value_of(const Env& env);

  // emitter_flush.cpp: from accumulators to the output
  void emit_flush(const std::vector<Accumulator>& accumulators);
  void flush_dense(const Accumulator& accumulator);
  void flush_sparse(const std::vector<Accumulator>& accumulators);
  bool outputs_adjoin() const;
  int offset_of(const Accumulator& accumulator) const;
  void flush_together(std::span<const Accumulator* const> run);
  void flush_one(const Accumulator& accumulator);
  std::string neighbours_added(const std::string& a, const std::string& b, int lanes, int group,
                               int unit) const;
  std::string joint_sums(std::vector<std::string> vectors);
  void flush_spmv(const Accumulator& accumulator);
  std::string rows_of_block(const Accumulator& accumulator);
  void flush_rows(const std::string& sums, const std::string& base, int count);
  void flush_lanes(const std::string& sums, const std::string& base, int count);
  std::string output_of_lane(const std::string& base, const std::string& lane) const;
  void flush_row_buffer(const Accumulator& accumulator);
  std::string output_row(const Accumulator& accumulator);
  std::string added_up(const std::string& name, int count) const;
  std::string sum_of(const std::string& name, int count) const;

  // emitter_names.cpp: coordinates, positions, rows
  Env bind(const Env& env, schedule::Var inner, int value) const;
  void resolve(Env& env) const;
  std::string full_index(const Env& env,
                         int mode) const;  ///< may run past the dimension (unrolled inner parts)
  std::string clamped_index(const Env& env, int mode) const;  ///< always a valid coordinate
  bool may_overrun(const Env& env, int mode) const;
  std::string row(const Env& env, int mode);  ///< row of a dense operand or of the output
  std::string extent(schedule::Var var) const;
  std::string level_extent(int level) const;
  std::string parent_position(const Env& env, int level) const;
  const std::string& lane_of(const Env& env) const;  ///< of a slice: the coordinate of level 1
  Tile tile_of(const std::string& base, int64_t size) const;
  int64_t tile_size() const;  ///< values that `tile_` covers
  bool is_partial(int vector) const { return tile_.tail > 0 && vector == tile_.num_vectors - 1; }
  std::string load(const std::string& at, int vector) const;  ///< of a vector of `tile_`
  std::string var_name(schedule::Var var) const;
  std::string fresh(const std::string& prefix);

  // Names already computed in an enclosing block, by what they hold.
  const std::string* known(const std::string& key) const;
  void remember(const std::string& key, const std::string& name) { memo_.back()[key] = name; }
  std::string named(const std::string& key, const std::string& type, const std::string& prefix,
                    const std::string& expression);
  void push() { memo_.emplace_back(); }
  void pop() { memo_.pop_back(); }

  const schedule::Loop& loop(int depth) const { return shape_.nest.loops[static_cast<size_t>(depth)]; }
  const schedule::FormatSchedule& format() const { return shape_.point.format; }
  const schedule::ComputeSchedule& compute() const { return shape_.point.compute; }
  schedule::Op op() const { return shape_.point.problem.op; }
  bool is_dense(schedule::Var var) const { return var.index >= schedule::sparse_order(op()); }
  bool is_output(schedule::Var var) const;
  bool is_unrolled(schedule::Var var) const;
  int split(int mode) const { return format().split[static_cast<size_t>(mode)]; }
  int num_levels() const { return static_cast<int>(format().levels.size()); }
  /// Nonzeros in flight take the groups of the innermost accumulators in turn.
  bool in_groups() const {
    return shape_.accumulator_groups > 1 && (target_ == Target::kFactored) == (shape_.factored >= 0);
  }
  /// Accumulators live inside the steps over a tile that exceeds the registers.
  bool steps_hold_scope() const {
    return shape_.tile_in_memory && !schedule::dense_index_is_reduced(op()) &&
           (!shape_.row_buffer || buffered_);
  }
  /// Dense operands as (number, sparse mode that selects the row).
  std::vector<std::pair<int, int>> operands() const;
  std::string vec() const;  ///< the vector type's suffix: number of lanes
  /// A vector of lanes of two: those of `a`, then those of `b`, are numbered through.
  std::string pick(const std::string& a, const std::string& b, const std::vector<int>& lanes) const;
  /// Elements of the operand that code for an unrolled block reads, from its first column on (spmv); 0 where
  /// columns of blocks are not unrolled.
  int operand_width() const;
  /// Blocks of two columns read these alone, not a vector of which they use the first two.
  bool reads_pairs() const { return shape_.axis == VectorAxis::kBlock && split(1) == 2; }
  /// Whether blocks at the edge of the matrix would read beyond the operand.
  bool reads_past_edge() const;
  /// Elements of the operand that a group of rows reads along a diagonal (skewed).
  int diagonal_width() const { return shape_.num_vectors * shape_.lanes; }

  KernelShape shape_;
  Writer out_;
  std::string functions_;  ///< those that the body calls
  std::vector<std::map<std::string, std::string>> memo_{1};
  Tile tile_;
  int copies_ = 1;               ///< nonzeros in flight in the code being written
  bool inside_operand_ = false;  ///< diagonals reach neither of its ends in the code being written
  bool in_scope_ = false;
  bool buffered_ = false;  ///< inside the loops that sum up in a row buffer
  Target target_ = Target::kOutput;
  int next_name_ = 0;
};

}  // namespace waco::codegen
