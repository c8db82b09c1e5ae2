// The run-time loops: concordant walks, discordant extents with their look-ups, work sharing (see
// emitter.hpp).

#include <utility>

#include "waco/base/error.hpp"
#include "waco/codegen/emitter.hpp"

namespace waco::codegen {

using schedule::LevelKind;
using schedule::Loop;
using schedule::LoopKind;
using schedule::Policy;
using schedule::Var;

void Emitter::emit_nest(int depth, const Env& env) {
  if (shape_.zeroing == Zeroing::kRows && depth == shape_.zero_depth && !in_scope_) emit_zero_rows(env);
  hoist_operands(depth, env);
  emit_prefetch_of_rows(depth, env);
  if (depth == shape_.scope_depth && !in_scope_ && !steps_hold_scope()) {
    shape_.row_buffer ? emit_row_buffer(depth, env) : emit_scope(depth, env);
  } else if (depth == shape_.nest.innermost_sparse && shape_.factored >= 0 && target_ == Target::kOutput) {
    emit_factored(depth, env);
  } else if (depth == shape_.nest.num_runtime) {
    emit_body(env);
  } else {
    emit_loop(depth, env);
  }
}

void Emitter::emit_loop(int depth, Env env) {
  const Loop& l = loop(depth);
  switch (l.kind) {
    case LoopKind::kDenseOuter:
      return emit_dense_outer_loop(depth, env);
    case LoopKind::kCompressed:
      return emit_compressed_loop(depth, std::move(env));
    case LoopKind::kSlots:
      return emit_slot_loop(depth, std::move(env));
    case LoopKind::kUncompressed:
    case LoopKind::kLanes:
    case LoopKind::kExtent: {
      const Var var = l.vars[0];
      const auto& outer = env.coordinate[static_cast<size_t>(var.index)][0];
      std::string end = extent(var);
      // An inner part whose outer part is known stops at the dimension; otherwise what runs over is clamped
      // later.
      const bool bounded =
          var.inner && !shape_.binding.exact[static_cast<size_t>(var.index)] && !outer.empty();
      if (bounded) end = fmt::format("waco_min({}, d{} - {} * s{})", end, var.index, outer, var.index);
      const std::string name = var_name(var);
      env.coordinate[static_cast<size_t>(var.index)][var.inner] = name;
      env.constant[static_cast<size_t>(var.index)][var.inner] = var.inner && outer.empty();
      return emit_counted_loop(depth, std::move(env), name, end);
    }
    case LoopKind::kDenseTile:
      break;
  }
  WACO_ASSERT(false);
}

void Emitter::emit_counted_loop(int depth, Env env, const std::string& name, const std::string& end) {
  emit_range_loop(depth, name, "0", end, [&] {
    Env inner = env;
    resolve(inner);
    // A position that is needed further in gets a name once. Slots are found by slice and lane.
    const int level = loop(depth).level;
    const bool above_slots =
        level + 1 < num_levels() && is_lane_kind(format().levels[static_cast<size_t>(level) + 1].kind);
    if (level > 0 && loop(depth).kind == LoopKind::kUncompressed && !above_slots) {
      auto& position = inner.position[static_cast<size_t>(level)];
      position = named("pos:" + position, "int64_t", "p", position);
    }
    emit_after_binding(depth, inner);
  });
}

/// One loop over [begin, end), shared between threads when it is the parallel one.
void Emitter::emit_range_loop(int depth, const std::string& name, const std::string& begin,
                              const std::string& end, const Body& body) {
  if (loop(depth).parallel && compute().threads > 1)
    return runs_in_function() ? emit_shared_function(depth, name, begin, end, body)
                              : emit_shared_loop(depth, name, begin, end, body);
  const std::string last = fresh("end");
  out_.open("for (int64_t {0} = {1}, {2} = {3}; {0} < {2}; ++{0}) {{", name, begin, last, end);
  push();
  body();
  pop();
  out_.close();
}

/// Nothing is kept in registers across the parts of the parallel loop, and no loop is around it but that over
/// tiles of the dense index.
bool Emitter::runs_in_function() const {
  const int parallel = shape_.nest.parallel;
  return compute().threads > 1 && parallel >= 0 && parallel < shape_.scope_depth &&
         (parallel == 0 || (parallel == 1 && loop(0).kind == LoopKind::kDenseOuter));
}

/// The parallel loop inside others that run on every thread.
void Emitter::emit_shared_loop(int depth, const std::string& name, const std::string& begin,
                               const std::string& end, const Body& body) {
  const char* schedule = compute().policy == Policy::kDynamic ? "dynamic, chunk" : "static";
  out_.line("const int64_t {0}_begin = {1}, {0}_end = {2};", name, begin, end);
  out_.margin(
      fmt::format("#pragma omp for schedule({}){}", schedule, reduces_outside(depth) ? "" : " nowait"));
  out_.open("for (int64_t {0} = {0}_begin; {0} < {0}_end; ++{0}) {{", name);
  push();
  body();
  pop();
  out_.close();
}

/// The parallel loop of which a function walks a part at a time.
void Emitter::emit_shared_function(int depth, const std::string& name, const std::string& begin,
                                   const std::string& end, const Body& body) {
  const std::string function = emit_function(depth, name, body);
  const std::string tile = depth > 0 ? ", tile_begin" : "";
  if (compute().policy == Policy::kBalanced) {
    // Contiguous ranges of level 0, one for each thread that was asked for (any number may serve them).
    out_.open("for (int range = thread; range < ranges; range += threads) {{");
    out_.line("const int64_t* bounds = call->partition + 2 * range;");
    if (shape_.cuts_rows)
      emit_cut_rows(name, function, tile);
    else
      out_.line("{}(a, call, out, bounds[0], bounds[2]{});", function, tile);
    out_.close();
    return;
  }
  out_.open("{{");
  out_.line("const int64_t begin = {}, size = {} - begin;", begin, end);
  if (compute().policy == Policy::kDynamic) {
    out_.margin("#pragma omp for schedule(dynamic, 1) nowait");
    out_.line("for (int64_t first = 0; first < size; first += chunk)");
    out_.line("  {}(a, call, out, begin + first, begin + waco_min(first + chunk, size){});", function, tile);
  } else {
    out_.line("{}(a, call, out, begin + size * thread / threads, begin + size * (thread + 1) / threads{});",
              function, tile);
  }
  out_.close();
  if (reduces_outside(depth)) out_.margin("#pragma omp barrier");
}

/// Whether results are added to by every iteration of a loop around this one.
bool Emitter::reduces_outside(int depth) const {
  for (int d = 0; d < depth; ++d)
    for (const Var var : loop(d).vars)
      if (!is_output(var)) return true;
  return false;
}

/// The loop over a thread's part is a function of its own: what it takes to share would otherwise take
/// registers from the innermost loops, which were up to 1.2 times as slow. Returns its name.
std::string Emitter::emit_function(int depth, const std::string& name, const Body& body) {
  Writer caller = std::move(out_);
  out_ = Writer();
  const auto names = std::exchange(memo_, decltype(memo_)(1));
  const std::string function = fresh("waco_part");
  std::string parameters = fmt::format("int64_t {0}_begin, int64_t {0}_end", name);
  if (depth > 0) parameters += ", int64_t tile_begin";
  if (shape_.cuts_rows) parameters += ", const pos_t* row_pos, int64_t pos_shift";
  if (shape_.carries) parameters += ", int64_t row_shift";
  if (reads_streams()) out_.line("template <int64_t stream_ahead>");
  out_.open(
      "static __attribute__((noinline)) void {}(const struct waco_storage* a, const struct waco_call* call, "
      "value_t* out, {}) {{",
      function, parameters);
  emit_locals();
  emit_operand_ends();
  out_.open("for (int64_t {0} = {0}_begin; {0} < {0}_end; ++{0}) {{", name);
  push();
  body();
  pop();
  out_.close(2);
  functions_ += out_.take();
  out_ = std::move(caller);
  memo_ = names;
  return reads_streams() ? function + "<stream_ahead>" : function;
}

/// The rows of a range that may begin and end inside one. A row that is cut is walked on its own, by
/// positions of its own, so that the others need not ask.
void Emitter::emit_cut_rows(const std::string& name, const std::string& function, const std::string& tile) {
  out_.line("const int64_t first = bounds[0], cut_begin = bounds[1], cut_end = bounds[3];");
  out_.line("const bool begins_inside = first < n0 && cut_begin > (int64_t)pos1[first];");
  out_.line("const bool ends_inside = bounds[2] < n0 && cut_end > (int64_t)pos1[bounds[2]];");
  out_.line("const int64_t last = bounds[2] + ends_inside;");
  out_.open("for (int64_t {0} = first, {0}_end; {0} < last; {0} = {0}_end) {{", name);
  out_.line("const bool alone = ({0} == first && begins_inside) || ({0} == last - 1 && ends_inside);", name);
  out_.line("{0}_end = alone ? {0} + 1 : bounds[2];", name);
  out_.line("const int64_t begin = waco_max((int64_t)pos1[{}], cut_begin);", name);
  out_.line("const int64_t end = waco_min((int64_t)pos1[{} + 1], cut_end);", name);
  out_.line("const pos_t row_bounds[] = {{(pos_t)begin, (pos_t)end}};");
  std::string target = "out";
  std::string row_shift;
  if (shape_.carries) {
    out_.line("const bool carried = {} == first && begins_inside;", name);
    target = "carried ? scratch + range * carry_stride : out_all";
    row_shift = ", carried ? first * carry_rows : 0";
  }
  out_.line("{}(a, call, {}, {}, {}_end{}, alone ? row_bounds : pos1, alone ? {} : 0{});", function, target,
            name, name, tile, name, row_shift);
  out_.close();
}

/// The positions of a C level (or tuple), or the slots of an E or L level, below its parent: first, and one
/// past the last.
std::pair<std::string, std::string> Emitter::bounds(const Env& env, int level) const {
  const LevelKind kind = format().levels[static_cast<size_t>(level)].kind;
  const std::string& slice = env.position[0];
  if (kind == LevelKind::kEll)
    return {fmt::format("{} * width", slice), fmt::format("({} + 1) * width", slice)};
  const bool cut = level == 1 && shape_.cuts_rows;
  const std::string pos = cut ? "row_pos" : fmt::format("pos{}", level);
  const std::string parent =
      kind == LevelKind::kSliced ? slice : parent_position(env, level) + (cut ? " - pos_shift" : "");
  return {fmt::format("(int64_t){}[{}]", pos, parent), fmt::format("(int64_t){}[{} + 1]", pos, parent)};
}

void Emitter::emit_compressed_loop(int depth, Env env) {
  const Loop& l = loop(depth);
  const int level = l.level;
  const std::string p = fmt::format("p{}", level);
  const auto [begin, end] = bounds(env, level);
  if (depth == shape_.nest.innermost_sparse && shape_.axis == VectorAxis::kPositions)
    return emit_position_vectors(env, begin, end);

  const bool innermost = depth == shape_.nest.innermost_sparse;
  const auto body = [&] {
    if (innermost) emit_prefetch(depth, env, p);
    Env inner = env;
    if (innermost && copies_ > 1) {
      inner.first_copy = p;  // coordinates and positions differ from copy to copy: bound by `bind_copy`
    } else {
      for (size_t v = 0; v < l.vars.size(); ++v) {
        const auto at = static_cast<size_t>(level) + v;
        const Var var = l.vars[v];
        out_.line("const int64_t {} = (int64_t)crd{}[{}];", var_name(var), at, p);
        inner.position[at] = p;
        inner.coordinate[static_cast<size_t>(var.index)][var.inner] = var_name(var);
        inner.constant[static_cast<size_t>(var.index)][var.inner] =
            var.inner && inner.coordinate[static_cast<size_t>(var.index)][0].empty();
      }
    }
    emit_after_binding(depth, inner);
  };
  if (!innermost) return emit_range_loop(depth, p, begin, end, body);
  if (!format().skewed()) return emit_copies(depth, p, begin, end, body);

  // Most groups of rows read neither end of the operand, and need not ask for every diagonal.
  const std::string first = fresh("first"), last = fresh("last");
  out_.line("const int64_t {} = {}, {} = {};", first, begin, last, end);
  out_.open("if ({0} < {1} && {2} >= 0 && {3} <= last_diagonal) {{", first, last,
            diagonal_start(env, fmt::format("(int64_t)crd{}[{}]", level, first)),
            diagonal_start(env, fmt::format("(int64_t)crd{}[{} - 1]", level, last)));
  for (const bool inside : {true, false}) {
    inside_operand_ = inside;
    push();
    emit_copies(depth, p, first, last, body);
    pop();
    out_.close();
    if (inside) out_.open("else {{");
  }
}

/// The innermost sparse loop, so many nonzeros at a time as have accumulators of their own, then the rest.
void Emitter::emit_copies(int depth, const std::string& p, const std::string& begin, const std::string& end,
                          const Body& body) {
  if (shape_.copies == 1) return emit_range_loop(depth, p, begin, end, body);
  const std::string last = fresh("end");
  out_.line("int64_t {} = {};", p, begin);
  out_.line("const int64_t {} = {};", last, end);
  copies_ = shape_.copies;
  out_.open("for (; {0} + {1} <= {2}; {0} += {1}) {{", p, shape_.copies, last);
  push();
  body();
  pop();
  out_.close();
  copies_ = 1;
  out_.open("for (; {0} < {1}; ++{0}) {{", p, last);
  push();
  body();
  pop();
  out_.close();
}

void Emitter::emit_slot_loop(int depth, Env env) {
  const int level = loop(depth).level;
  const auto [begin, end] = bounds(env, level);
  // One vector a slot is little beside the loop's own instructions.
  if (shape_.axis == VectorAxis::kLanes && shape_.num_vectors == 1 && !loop(depth).parallel)
    out_.line("WACO_TWO_AT_A_TIME");
  emit_range_loop(depth, "slot", begin, end, [&] {
    if (depth == shape_.nest.innermost_sparse) {
      emit_prefetch(depth, env, "slot");
      emit_prefetch_of_slots();
    }
    Env inner = env;
    inner.slot = "slot";
    resolve(inner);
    if (!inner.position[static_cast<size_t>(level)].empty()) {
      for (size_t v = 0; v < loop(depth).vars.size(); ++v) {
        const Var var = loop(depth).vars[v];
        auto& coordinate = inner.coordinate[static_cast<size_t>(var.index)][var.inner];
        out_.line("const int64_t {} = {};", var_name(var), coordinate);
        coordinate = var_name(var);
      }
    }
    emit_after_binding(depth, inner);
  });
}

void Emitter::emit_dense_outer_loop(int depth, const Env& env) {
  const int tile = compute().dense_tile;
  const int64_t rest = shape_.point.problem.rhs % tile;
  const Tile saved = tile_;
  emit_range_loop(depth, "tile", "0", fmt::format("(rhs + {}) / {}", tile - 1, tile), [&] {
    out_.line("const int64_t tile_begin = tile * {};", tile);
    const auto emit_tile = [&](int64_t size) {
      tile_ = tile_of("tile_begin", size);
      emit_after_binding(depth, env);
    };
    if (rest == 0) return emit_tile(tile);
    out_.open("if (tile_begin + {} <= rhs) {{", tile);
    push();
    emit_tile(tile);
    pop();
    out_.close();
    out_.open("else {{");
    push();
    emit_tile(rest);
    pop();
    out_.close();
  });
  tile_ = saved;
}

/// Walks the current tile in steps of `num_vectors` vectors, then what is left of it at once.
void Emitter::emit_dense_steps(int num_vectors, const Body& body) {
  const Tile saved = tile_;
  const int64_t size = tile_size(), step = int64_t{num_vectors} * shape_.lanes;
  const int64_t rest = size % step;
  if (size > rest) {
    const std::string at = fresh("at"), last = fresh("end");
    out_.open("for (int64_t {0} = {1}, {2} = {1} + {3}; {0} < {2}; {0} += {4}) {{", at, saved.base, last,
              size - rest, step);
    push();
    tile_ = tile_of(at, step);
    body();
    pop();
    out_.close();
  }
  if (rest > 0) {
    out_.open("{{");
    push();
    tile_ = tile_of(fmt::format("{} + {}", saved.base, size - rest), rest);
    body();
    pop();
    out_.close();
  }
  tile_ = saved;
}

/// After a loop has bound its variables: look up what has become locatable, then go one loop further in.
void Emitter::emit_after_binding(int depth, Env env) {
  int blocks = 0;
  for (const int group : loop(depth).located) blocks += emit_locate(group, env);
  if (target_ == Target::kFactored && notes_met(loop(depth))) out_.line("met = true;");
  emit_nest(depth + 1, env);
  for (int b = 0; b < blocks; ++b) {
    pop();
    out_.close();
  }
}

}  // namespace waco::codegen
