// Accumulators, operand loads and the innermost multiply-adds (see emitter.hpp).
#include <algorithm>
#include <bit>

#include "waco/base/error.hpp"
#include "waco/codegen/emitter.hpp"

namespace waco::codegen {

using schedule::Loop;
using schedule::LoopKind;
using schedule::Op;
using schedule::Var;

std::vector<std::pair<int, int>> Emitter::operands() const {
  switch (op()) {
    case Op::kSpmv:
    case Op::kSpmm:
      return {{0, 1}};
    case Op::kSddmm:
      return {{0, 0}, {1, 1}};
    case Op::kMttkrp:
      return {{0, 1}, {1, 2}};
  }
  return {};
}

int Emitter::vectors_per_accumulator() const {
  if (shape_.axis == VectorAxis::kNone || shape_.axis == VectorAxis::kPositions) return 1;
  if (shape_.axis != VectorAxis::kDense) return shape_.num_vectors;
  if (!schedule::dense_index_is_reduced(op())) return tile_.num_vectors;
  // Enough independent sums to hide the latency of a multiply-add, whatever the number of outputs in flight.
  const int outputs = copies_ * unrolled_outputs(shape_);
  int count = 1;
  while (count * 2 <= shape_.num_vectors && count * 2 * outputs <= 8) count *= 2;
  return count;
}

/// Every combination of the unrolled loops' values; the loops that the vector runs along stay at 0.
std::vector<Env> Emitter::unrolled(const Env& env, bool outputs_only) const {
  std::vector<Env> result{env};
  const int num_loops = static_cast<int>(shape_.nest.loops.size());
  for (int d = shape_.nest.num_runtime; d < num_loops; ++d) {
    const Loop& l = loop(d);
    if (!l.unrolled || (outputs_only && !is_output(l.vars[0]))) continue;
    const bool along_vector = runs_along_vector(shape_, d);
    std::vector<Env> next;
    for (const Env& partial : result)
      for (int value = 0; value < (along_vector ? 1 : split(l.vars[0].index)); ++value)
        next.push_back(bind(partial, l.vars[0], value));
    result = std::move(next);
  }
  return result;
}

Env Emitter::bind_copy(const Env& env, int copy) const {
  if (env.first_copy.empty()) return env;
  Env result = env;
  const Loop& l = loop(shape_.nest.innermost_sparse);
  const std::string p = copy == 0 ? env.first_copy : fmt::format("({} + {})", env.first_copy, copy);
  for (size_t v = 0; v < l.vars.size(); ++v) {
    const auto at = static_cast<size_t>(l.level) + v;
    const Var var = l.vars[v];
    result.position[at] = p;
    result.coordinate[static_cast<size_t>(var.index)][var.inner] = fmt::format("(int64_t)crd{}[{}]", at, p);
    result.constant[static_cast<size_t>(var.index)][var.inner] =
        var.inner && result.coordinate[static_cast<size_t>(var.index)][0].empty();
  }
  resolve(result);
  return result;
}

/// The name of the accumulator that a nonzero in flight adds to.
std::string Emitter::accumulator_of(const Env& env, int copy) const {
  if (in_groups()) return name_of(target_, env, copy % shape_.accumulator_groups);
  return shape_.copies_are_outputs ? name_of(target_, env, copy) : name_of(target_, env);
}

/// Accumulators are told apart by the unrolled inner parts of the output and, where each has several, by a
/// number.
std::string Emitter::name_of(Target target, const Env& env, std::optional<int> copy) const {
  std::string name = target == Target::kOutput ? "c" : "t";
  for (const Loop& l : shape_.nest.loops)
    if (l.unrolled && is_output(l.vars[0]))
      name += fmt::format("_{}", env.unrolled[static_cast<size_t>(l.vars[0].index)]);
  return copy ? fmt::format("{}_u{}", name, *copy) : name;
}

std::vector<Accumulator> Emitter::accumulators(const Env& env) const {
  std::vector<Accumulator> result;
  const int copies = in_groups() ? shape_.accumulator_groups : shape_.copies_are_outputs ? copies_ : 1;
  for (int copy = 0; copy < copies; ++copy)
    for (const Env& each : unrolled(bind_copy(env, copy), true))
      result.push_back({accumulator_of(each, copy), each, copy});
  return result;
}

std::vector<Leaf> Emitter::leaves(const Env& env) const {
  std::vector<Leaf> result;
  for (int copy = 0; copy < copies_; ++copy)
    for (const Env& each : unrolled(bind_copy(env, copy), false))
      result.push_back({each, accumulator_of(each, copy)});
  return result;
}

/// Declares accumulators as 0, or as what the output holds so far.
void Emitter::declare(const std::vector<Accumulator>& accumulators, bool from_output) {
  const int count = vectors_per_accumulator();
  for (const Accumulator& acc : accumulators) {
    std::string row;
    if (from_output && acc.copy == 0) row = output_row(acc);
    for (int v = 0; v < count; ++v) {
      if (shape_.axis == VectorAxis::kNone) {
        out_.line("value_t {}_{} = 0;", acc.name, v);
      } else if (row.empty()) {
        out_.line("vec{} {}_{} = {{}};", vec(), acc.name, v);
      } else {
        out_.line("vec{} {}_{} = {};", vec(), acc.name, v,
                  load(fmt::format("{} + {} + {}", row, tile_.base, v * shape_.lanes), v));
      }
    }
  }
}

void Emitter::emit_scope(int depth, const Env& env) {
  in_scope_ = true;
  const std::vector<Accumulator> scope = accumulators(env);
  const bool dense_output = shape_.axis == VectorAxis::kDense && !schedule::output_is_sparse(op());
  const bool from_output = buffered_ || (dense_output && !shape_.stores && !shape_.copies_are_outputs);
  declare(scope, from_output);
  if (steps_hold_scope()) {
    emit_leaves(env);
  } else {
    emit_nest(depth, env);
  }
  emit_flush(scope);
  in_scope_ = false;
}

/// Sums that exceed the registers, in memory of the thread: the output is then written only once.
void Emitter::emit_row_buffer(int depth, const Env& env) {
  const std::vector<Accumulator> rows = accumulators(env);
  for (const Accumulator& row : rows) out_.line("alignas(64) value_t buffer_{}[rhs] = {{}};", row.name);
  buffered_ = true;
  emit_nest(depth, env);
  buffered_ = false;
  for (const Accumulator& row : rows) flush_row_buffer(row);
}

/// Whether a factored loop has to note that it met a nonzero, because its bounds don't tell.
bool Emitter::notes_met(const Loop& l) const {
  return l.kind != LoopKind::kCompressed || l.parallel || schedule::may_skip(format(), l);
}

/// A loop whose sum is multiplied once by an operand that does not change in it, and not at all where the
/// loop meets no nonzero: an infinite element would turn the sum of nothing into NaN.
void Emitter::emit_factored(int depth, const Env& env) {
  target_ = Target::kFactored;
  const std::vector<Accumulator> sums = accumulators(env);
  const bool notes = notes_met(loop(depth));
  if (notes) {
    out_.open("{{");
    out_.line("bool met = false;");
  } else {
    const auto [begin, end] = bounds(env, loop(depth).level);
    out_.open("if ({} < {}) {{", begin, end);
  }
  push();
  declare(sums, false);
  emit_nest(depth, env);
  if (notes) out_.open("if (met) {{");
  const int count = vectors_per_accumulator();
  for (const Accumulator& sum : sums) {
    if (sum.copy > 0) continue;
    for (int v = 0; v < count; ++v) {
      std::string all = fmt::format("{}_{}", sum.name, v);
      for (int group = 1; group < shape_.accumulator_groups; ++group)
        all += fmt::format(" + {}_{}", accumulator_of(sum.env, group), v);
      out_.line("{}_{} += {} * ({});", name_of(Target::kOutput, sum.env), v,
                operand_vector(shape_.factored, env, v), all);
    }
  }
  if (notes) out_.close();
  pop();
  out_.close();
  target_ = Target::kOutput;
}

/// Names the values, the rows of operands and those of results that the body of `env` needs. Steps over a
/// tile store results, after which the compiler would load again what they name themselves.
void Emitter::name_what_steps_share(const Env& env) {
  for (const Leaf& leaf : leaves(env)) {
    value_of(leaf.env);
    for (const auto& operand : operands()) row(leaf.env, operand.second);
  }
  for (const Accumulator& acc : accumulators(env)) output_row(acc);
}

void Emitter::emit_body(const Env& env) {
  if (!shape_.tile_in_memory) return emit_leaves(env);
  const bool reduced = schedule::dense_index_is_reduced(op());
  if (!reduced) name_what_steps_share(env);
  emit_dense_steps(vectors_per_step(env), [&] {
    if (reduced) {
      emit_leaves(env);
    } else {
      emit_scope(shape_.nest.num_runtime, env);
    }
  });
}

/// Vectors of each output that the registers hold: up to four, up to eight of 32 registers where the values
/// that all vectors are multiplied by find room, too. A power of two, so that tiles leave no rest.
int Emitter::vectors_per_step(const Env& env) const {
  constexpr int kKept = 3, kUsual = 4;  // registers for what is loaded
  const bool reduced = schedule::dense_index_is_reduced(op());
  const int outputs = unrolled_outputs(shape_) * (reduced || shape_.copies_are_outputs ? copies_ : 1);
  const int registers = num_registers(shape_.binding);
  const int values = static_cast<int>(leaves(env).size());
  const int vectors = std::max(std::min((registers - kKept) / outputs, kUsual),
                               std::min((registers - kKept - values) / outputs, registers / 4));
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(std::max(1, vectors))));
}

void Emitter::emit_leaves(const Env& env) {
  const std::vector<Leaf> all = leaves(env);
  if (shape_.axis == VectorAxis::kDense) return emit_dense_leaves(all);
  for (const Leaf& leaf : all) emit_spmv_leaf(leaf);
}

std::string Emitter::value_of(const Env& env) {
  const std::string& position = env.position[static_cast<size_t>(num_levels() - 1)];
  WACO_ASSERT(!position.empty());
  return named("value:" + position, "value_t", "a", fmt::format("vals[{}]", position));
}

std::string Emitter::operand_vector(int operand, const Env& env, int vector) {
  const int mode = operands()[static_cast<size_t>(operand)].second;
  const std::string r = row(env, mode);
  const std::string key = fmt::format("dense{}:{}:{}", operand, r, tile_.base);
  const std::string pointer =
      named(key, "value_t*", "b", fmt::format("dense{} + {} * rhs + {}", operand, r, tile_.base));
  const std::string loaded = load(fmt::format("{} + {}", pointer, vector * shape_.lanes), vector);
  return named(fmt::format("{}:{}", pointer, vector), "vec" + vec(), "x",
               rows_are_shared(mode) ? fmt::format("held({})", loaded) : loaded);
}

/// Whether several products in flight need the same row of the operand that `mode` selects rows of.
bool Emitter::rows_are_shared(int mode) const {
  const auto differs = [&](const Loop& l) {
    return std::none_of(l.vars.begin(), l.vars.end(), [&](Var var) { return var.index == mode; });
  };
  if (copies_ > 1 && differs(loop(shape_.nest.innermost_sparse))) return true;
  for (int d = shape_.nest.num_runtime; d < static_cast<int>(shape_.nest.loops.size()); ++d)
    if (loop(d).unrolled && !runs_along_vector(shape_, d) && differs(loop(d))) return true;
  return false;
}

/// Vectors outside, nonzeros inside: a vector of a shared operand is loaded once and used by all.
void Emitter::emit_dense_leaves(const std::vector<Leaf>& all) {
  const int sums = vectors_per_accumulator();
  for (int v = 0; v < tile_.num_vectors; ++v) {
    for (const Leaf& leaf : all) {
      switch (op()) {
        case Op::kSpmm:
          out_.line("{}_{} += {} * {};", leaf.accumulator, v, value_of(leaf.env),
                    operand_vector(0, leaf.env, v));
          break;
        case Op::kSddmm:
          out_.line("{}_{} += {} * {};", leaf.accumulator, v % sums, operand_vector(0, leaf.env, v),
                    operand_vector(1, leaf.env, v));
          break;
        case Op::kMttkrp:
          if (shape_.factored >= 0) {
            out_.line("{}_{} += {} * {};", leaf.accumulator, v, value_of(leaf.env),
                      operand_vector(1 - shape_.factored, leaf.env, v));
          } else {
            const std::string b = operand_vector(0, leaf.env, v), c = operand_vector(1, leaf.env, v);
            const std::string product =
                named(fmt::format("{}*{}", b, c), "vec" + vec(), "bc", fmt::format("{} * {}", b, c));
            out_.line("{}_{} += {} * {};", leaf.accumulator, v, value_of(leaf.env), product);
          }
          break;
        case Op::kSpmv:
          WACO_ASSERT(false);
      }
    }
  }
}

/// Where the operand of a block's columns begins. Blocks at the edge of the matrix read what lies past its
/// last column, which is 0 in a copy that takes the operand's place there.
std::string Emitter::block_operand(const Env& env) {
  const std::string& block = env.coordinate[1][0];
  std::string begin = fmt::format("dense0 + {} * {}", block, split(1));
  if (reads_past_edge())
    begin =
        fmt::format("{0} < whole_blocks ? {1} : edge + ({0} - whole_blocks) * {2}", block, begin, split(1));
  return named("block:" + block, "value_t*", "b", begin);
}

/// The operand as one vector of a block needs it: for every lane the element of its column. Lanes past the
/// block's values multiply those of the next block by some other element; they are never added up.
std::string Emitter::spread_operand(const Env& env, int vector) {
  const std::string columns = block_operand(env);
  const std::string x = named("columns:" + columns, "vec" + vec(), "x",
                              fmt::format("{}{}({})", reads_pairs() ? "pairs" : "load", vec(), columns));
  std::vector<int> lanes;
  for (int lane = 0; lane < shape_.lanes; ++lane) {
    const int column = (vector * shape_.lanes + lane) / split(0);
    // Pairs are taken from the same 16 bytes, which takes less than from others.
    const int unit = 16 / schedule::value_bytes(shape_.point.problem.type);
    lanes.push_back(reads_pairs() ? lane / unit * unit + column % 2 : column % shape_.lanes);
  }
  return pick(x, x, lanes);
}

/// The first column that a group of rows meets on a diagonal.
std::string Emitter::diagonal_start(const Env& env, const std::string& diagonal) const {
  return fmt::format("{} + {} * {} - (d0 - 1)", diagonal, env.coordinate[0][0], split(0));
}

/// Where the elements begin that a group of rows reads along a diagonal. What lies before the operand's first
/// or after its last is 0 in a copy that takes its place there.
std::string Emitter::diagonal_operand(const Env& env) {
  const std::string& position = env.position[1];
  const int width = diagonal_width();
  const std::string first =
      named("diagonal:" + position, "int64_t", "k", diagonal_start(env, env.coordinate[1][0]));
  if (inside_operand_) return "dense0 + " + first;
  return named(
      "diagonal operand:" + position, "value_t*", "b",
      fmt::format("{0} < 0 ? ends + ({1} + {0}) : {0} > last_diagonal ? ends + ({2} + {0} - last_diagonal) "
                  ": dense0 + {0}",
                  first, width, 2 * width));
}

/// The element of the operand that a nonzero is multiplied by.
std::string Emitter::element(const Env& env) {
  if (!reads_past_edge()) return fmt::format("dense0[{}]", row(env, 1));
  return fmt::format("{}[{}]", block_operand(env), env.coordinate[1][1]);
}

void Emitter::emit_spmv_leaf(const Leaf& leaf) {
  const std::string& position = leaf.env.position[static_cast<size_t>(num_levels() - 1)];
  for (int v = 0; v < shape_.num_vectors; ++v) {
    const std::string value = fmt::format("load{}(vals + {} + {})", vec(), position, v * shape_.lanes);
    switch (shape_.axis) {
      case VectorAxis::kNone:
        out_.line("{}_0 += {} * {};", leaf.accumulator, value_of(leaf.env), element(leaf.env));
        break;
      case VectorAxis::kLanes:
        out_.line("{}_{} += {} * gather{}(dense0, crd2 + {} + {});", leaf.accumulator, v, value, vec(),
                  position, v * shape_.lanes);
        break;
      case VectorAxis::kBlockOutput:
        out_.line("{}_{} += {} * {};", leaf.accumulator, v, value,
                  format().skewed()
                      ? fmt::format("load{}({} + {})", vec(), diagonal_operand(leaf.env), v * shape_.lanes)
                      : element(leaf.env));
        break;
      case VectorAxis::kBlock:
        out_.line("{}_{} += {} * {};", leaf.accumulator, v, value, spread_operand(leaf.env, v));
        break;
      case VectorAxis::kBlockReduced:
        out_.line("{}_{} += {} * load{}({} + {});", leaf.accumulator, v, value, vec(),
                  block_operand(leaf.env), v * shape_.lanes);
        break;
      default:
        WACO_ASSERT(false);
    }
  }
}

/// A row of a C level, `lanes` nonzeros at a time. Past its end lie coordinates of the next row. Inside a
/// block of columns they may be of another block, and added to where this one begins lead past the end of the
/// operand.
void Emitter::emit_position_vectors(const Env& env, const std::string& begin, const std::string& end) {
  const int level = num_levels() - 1;
  const Var var = format().levels[static_cast<size_t>(level)].var;
  const std::string base =
      var.inner
          ? fmt::format("dense0 + {} * s{}", env.coordinate[static_cast<size_t>(var.index)][0], var.index)
          : "dense0";
  const std::string p = fmt::format("p{}", level), last = fresh("end");
  out_.line("const int64_t {} = {}, {} = {};", p, begin, last, end);
  out_.line("{0}_0 += dot{1}<{2}, {3}>(vals + {4}, crd{5} + {4}, {6}, {7} - {4});", accumulator_of(env, 0),
            vec(), shape_.num_vectors, var.inner, p, level, base, last);
}

}  // namespace waco::codegen
