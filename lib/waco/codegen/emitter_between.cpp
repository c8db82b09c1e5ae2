// What stands between loops: look-ups of levels, prefetches, zeroed rows, loads that leave the inner loops.
#include <algorithm>

#include "waco/base/error.hpp"
#include "waco/codegen/emitter.hpp"

namespace waco::codegen {

using schedule::LevelKind;
using schedule::LoopKind;
using schedule::Var;

namespace {

/// Arrays of coordinates, and what is looked for in each.
using Sought = std::vector<std::pair<std::string, std::string>>;

std::string equal(const Sought& sought, const std::string& at) {
  std::string text;
  for (const auto& [array, wanted] : sought)
    text += fmt::format("{}(int64_t){}[{}] == {}", text.empty() ? "" : " && ", array, at, wanted);
  return text;
}

std::string less(const Sought& sought, const std::string& at) {
  std::string text;
  for (size_t n = sought.size(); n-- > 0;) {
    const std::string here = fmt::format("(int64_t){}[{}]", sought[n].first, at);
    text = text.empty() ? fmt::format("{} < {}", here, sought[n].second)
                        : fmt::format("{0} < {1} || ({0} == {1} && ({2}))", here, sought[n].second, text);
  }
  return text;
}

}  // namespace

/// Finds the position of a level (or tuple) whose coordinates are all known. Returns how many blocks it
/// opened.
int Emitter::emit_locate(int group, Env& env) {
  const auto first = static_cast<size_t>(group);
  const LevelKind kind = format().levels[first].kind;
  if (kind == LevelKind::kUncompressed) {
    resolve(env);
    std::string& position = env.position[first];
    if (position.find(' ') != std::string::npos)
      position = named("pos:" + position, "int64_t", "p", position);
    return 0;
  }
  const std::string p = fresh("p");
  Sought sought;
  for (size_t l = first; l < format().levels.size() && shape_.groups[l] == group; ++l) {
    const Var var = format().levels[l].var;
    sought.emplace_back(fmt::format("crd{}", l), env.coordinate[static_cast<size_t>(var.index)][var.inner]);
    env.position[l] = p;
  }
  if (kind == LevelKind::kCompressed) {
    emit_search(p, group, env, less(sought, p + "_mid"));
    out_.open("if ({0} < {0}_end && {1}) {{", p, equal(sought, p));
  } else {
    emit_scan(p, group, env, equal(sought, p));
    out_.open("if ({0} < {0}_end) {{", p);
  }
  push();
  return 1;
}

/// Searches below one parent, whose coordinates are in order, for the first that are not less.
void Emitter::emit_search(const std::string& p, int level, const Env& env, const std::string& is_less) {
  const auto [begin, end] = bounds(env, level);
  out_.line("int64_t {} = {};", p, begin);
  out_.line("const int64_t {}_end = {};", p, end);
  out_.open("for (int64_t {0}_high = {0}_end; {0} < {0}_high;) {{", p);
  out_.line("const int64_t {0}_mid = ({0} + {0}_high) / 2;", p);
  out_.line("if ({1}) {0} = {0}_mid + 1; else {0}_high = {0}_mid;", p, is_less);
  out_.close();
}

/// Goes through the slots of one lane of a slice.
void Emitter::emit_scan(const std::string& p, int level, const Env& env, const std::string& is_equal) {
  const auto [begin, end] = bounds(env, level);
  const std::string lanes = level_extent(1);
  out_.line("int64_t {} = ({}) * {} + {};", p, begin, lanes, lane_of(env));
  out_.line("const int64_t {}_end = ({}) * {};", p, end, lanes);
  out_.line("while ({0} < {0}_end && !({1})) {0} += {2};", p, is_equal, lanes);
}

/// Asks for the values and coordinates of slots further on (see reads_streams).
void Emitter::emit_prefetch_of_slots() {
  if (!reads_streams()) return;
  out_.open("if (stream_ahead > 0) {{");
  out_.line("const int64_t later = slot * {} + stream_ahead;", split(0));
  for (int64_t at = 0; at < split(0) * schedule::value_bytes(shape_.point.problem.type); at += kLineBytes)
    out_.line("__builtin_prefetch((const char*)(vals + later) + {});", at);
  for (int64_t at = 0; at < split(0) * shape_.binding.crd_bytes[2]; at += kLineBytes)
    out_.line("__builtin_prefetch((const char*)(crd2 + later) + {});", at);
  out_.close();
}

/// Asks for the dense rows of the nonzeros `call->prefetch` further on.
void Emitter::emit_prefetch(int depth, const Env& env, const std::string& at) {
  if (compute().prefetch == 0) return;
  const int level = loop(depth).level;
  const bool slots = loop(depth).kind == LoopKind::kSlots;
  const std::string lane = slots ? lane_of(env) : "";
  const bool all_lanes = slots && lane.empty();
  const int64_t row_bytes = shape_.point.problem.rhs * schedule::value_bytes(shape_.point.problem.type);
  const int64_t tile_bytes =
      tile_.whole || tiles_remain(depth)
          ? row_bytes
          : int64_t{tile_.num_vectors} * shape_.lanes * schedule::value_bytes(shape_.point.problem.type);
  const int64_t lines = std::clamp<int64_t>((tile_bytes + kLineBytes - 1) / kLineBytes, 1, 16);
  for (const auto& [operand, mode] : operands()) {
    for (size_t v = 0; v < loop(depth).vars.size(); ++v) {
      const Var var = loop(depth).vars[v];
      if (var.index != mode || (mode == 0 && format().clustered())) continue;
      const auto l = static_cast<size_t>(level) + v;
      const std::string& outer = env.coordinate[static_cast<size_t>(mode)][0];
      if (var.inner && outer.empty()) continue;
      if (all_lanes) out_.open("for (int64_t lane = 0; lane < {}; ++lane) {{", level_extent(1));
      for (int copy = 0; copy < copies_; ++copy) {
        const std::string position = slots ? fmt::format("waco_min({} + ahead, slots - 1) * {} + {}", at,
                                                         level_extent(1), all_lanes ? "lane" : lane)
                                           : fmt::format("{} + ahead + {}", at, copy);
        std::string target = fmt::format("(int64_t)crd{}[{}]", l, position);
        if (split(mode) > 1)
          target = var.inner ? fmt::format("({} * s{} + {})", outer, mode, target)
                             : fmt::format("({} * s{})", target, mode);
        const std::string row = fresh("ahead");
        out_.line("const value_t* {} = dense{} + {} * rhs + {};", row, operand, target,
                  tiles_remain(depth) ? "0" : tile_.base);
        for (int64_t line = 0; line < lines; ++line)
          out_.line("__builtin_prefetch((const char*){} + {});", row, kLineBytes * line);
      }
      if (all_lanes) out_.close();
    }
  }
}

bool Emitter::tiles_remain(int depth) const {
  for (int d = depth + 1; d < shape_.nest.num_runtime; ++d)
    if (loop(d).kind == LoopKind::kDenseOuter) return true;
  return false;
}

/// Zeroes the rows of the output that the loops so far have fixed, in the columns of the current tile.
void Emitter::emit_zero_rows(const Env& env) {
  const auto& parts = env.coordinate[0];
  const std::string s = split(0) > 1 ? fmt::format("s0") : "1";
  const bool whole = split(0) > 1 && parts[1].empty();
  const std::string begin = split(0) == 1 ? parts[0]
                            : whole       ? fmt::format("{} * s0", parts[0])
                                          : full_index(env, 0);
  const std::string count = whole ? fmt::format("waco_min(s0, d0 - {} * s0)", parts[0]) : "1";
  const std::string shift = shape_.carries ? " - row_shift" : "";
  if (tile_.whole) {
    out_.line("__builtin_memset(out + ({}{}) * rhs, 0, (uint64_t)({} * rhs) * sizeof(value_t));", begin,
              shift, count);
    return;
  }
  out_.open("for (int64_t row = {0}, row_end = {0} + {1}; row < row_end; ++row) {{", begin, count);
  out_.line("__builtin_memset(out + (row{}) * rhs + {}, 0, (uint64_t){} * sizeof(value_t));", shift,
            tile_.base, tile_size());
  out_.close();
}

/// Asks for the dense row two clustered rows further on: they lie anywhere, so that no hardware sees a
/// stream.
void Emitter::emit_prefetch_of_rows(int depth, const Env& env) {
  if (op() != schedule::Op::kSddmm || !format().clustered() || depth == 0) return;
  if (depth > shape_.nest.num_runtime || depth - 1 == shape_.nest.innermost_sparse) return;
  const auto& vars = loop(depth - 1).vars;
  if (std::none_of(vars.begin(), vars.end(), [](Var var) { return var.index == 0; })) return;
  const auto& parts = env.coordinate[0];
  if (parts[0].empty() || (split(0) > 1 && parts[1].empty())) return;
  const bool all_tiles = tile_.whole || tiles_remain(depth - 1);
  const std::string base = all_tiles ? "0" : tile_.base, at = full_index(env, 0) + " + 2";
  if (known("ahead:" + at + ":" + base) != nullptr) return;
  const std::string row = named("ahead:" + at + ":" + base, "value_t*", "ahead",
                                fmt::format("dense0 + (int64_t)row_of[{}] * rhs + {}", at, base));
  const int64_t values = all_tiles ? shape_.point.problem.rhs : tile_size();
  const int64_t bytes = values * schedule::value_bytes(shape_.point.problem.type);
  for (int64_t line = 0; line < std::min<int64_t>((bytes + 63) / 64, 16); ++line)
    out_.line("__builtin_prefetch((const char*){} + {});", row, kLineBytes * line);
}

/// Loads dense rows that do not change in the loops further in, as long as registers are left for them.
void Emitter::hoist_operands(int depth, const Env& env) {
  if (depth == 0 || depth >= shape_.nest.num_runtime || !schedule::has_dense_index(op()) ||
      shape_.tile_in_memory)
    return;
  if (tiles_remain(depth - 1)) return;
  const int room = num_registers(shape_.binding) / 2;
  const auto hoist = [&](int operand, int mode) {
    const auto& parts = env.coordinate[static_cast<size_t>(mode)];
    if (parts[0].empty() || (split(mode) > 1 && parts[1].empty())) return false;
    if (tile_.num_vectors > room) return false;
    for (int v = 0; v < tile_.num_vectors; ++v) operand_vector(operand, env, v);
    return true;
  };
  if (op() == schedule::Op::kSddmm) {
    hoist(0, 0) || hoist(1, 1);
  } else if (op() == schedule::Op::kMttkrp) {
    if (shape_.factored >= 0) return;  // applied once for each sum
    hoist(0, 1);
    hoist(1, 2);
  }
}

}  // namespace waco::codegen
