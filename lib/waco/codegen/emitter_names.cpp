// Names and expressions: coordinates, level positions and rows of dense operands (see emitter.hpp).
#include <fmt/ranges.h>

#include <algorithm>

#include "waco/base/error.hpp"
#include "waco/codegen/emitter.hpp"

namespace waco::codegen {

using schedule::LevelKind;
using schedule::Loop;
using schedule::Var;

bool Emitter::is_output(Var var) const {
  return schedule::index_is_output(op(), var.index);
}

bool Emitter::is_unrolled(Var var) const {
  return std::any_of(shape_.nest.loops.begin(), shape_.nest.loops.end(),
                     [&](const Loop& loop) { return loop.unrolled && loop.vars[0] == var; });
}

std::string Emitter::vec() const {
  return std::to_string(shape_.lanes);
}

std::string Emitter::pick(const std::string& a, const std::string& b, const std::vector<int>& lanes) const {
  return fmt::format("WACO_PICK{}({}, {}, {})", lanes.size(), a, b, fmt::join(lanes, ", "));
}

int Emitter::operand_width() const {
  if (op() != schedule::Op::kSpmv) return 0;
  if (shape_.axis == VectorAxis::kBlock) return reads_pairs() ? 2 : shape_.lanes;
  return is_unrolled({1, true}) ? split(1) : 0;
}

bool Emitter::reads_past_edge() const {
  const int width = operand_width();
  return width > 0 && (width > split(1) || !shape_.binding.exact[1]);
}

std::string Emitter::fresh(const std::string& prefix) {
  return prefix + "_" + std::to_string(next_name_++);
}

std::string Emitter::var_name(Var var) const {
  return schedule::var_name(op(), var, is_dense(var) || split(var.index) > 1);
}

std::string Emitter::extent(Var var) const {
  for (int l = 0; l < num_levels(); ++l)
    if (format().levels[static_cast<size_t>(l)].var == var) return level_extent(l);
  WACO_ASSERT(false);
}

std::string Emitter::level_extent(int level) const {
  const Var var = format().levels[static_cast<size_t>(level)].var;
  return is_unrolled(var) ? std::to_string(split(var.index)) : fmt::format("n{}", level);
}

std::string Emitter::parent_position(const Env& env, int level) const {
  return level == 0 ? "0" : env.position[static_cast<size_t>(level - 1)];
}

const std::string& Emitter::lane_of(const Env& env) const {
  return env.coordinate[static_cast<size_t>(format().levels[1].var.index)][1];
}

/// `size` values of the dense index from `base` on.
Tile Emitter::tile_of(const std::string& base, int64_t size) const {
  return {static_cast<int>((size + shape_.lanes - 1) / shape_.lanes), base,
          static_cast<int>(size % shape_.lanes), false};
}

int64_t Emitter::tile_size() const {
  return int64_t{tile_.num_vectors} * shape_.lanes - (tile_.tail > 0 ? shape_.lanes - tile_.tail : 0);
}

std::string Emitter::load(const std::string& at, int vector) const {
  return is_partial(vector) ? fmt::format("load_part{}({}, {})", vec(), at, tile_.tail)
                            : fmt::format("load{}({})", vec(), at);
}

const std::string* Emitter::known(const std::string& key) const {
  for (auto scope = memo_.rbegin(); scope != memo_.rend(); ++scope) {
    const auto found = scope->find(key);
    if (found != scope->end()) return &found->second;
  }
  return nullptr;
}

std::string Emitter::named(const std::string& key, const std::string& type, const std::string& prefix,
                           const std::string& expression) {
  if (const std::string* name = known(key)) return *name;
  const std::string name = fresh(prefix);
  out_.line("const {} {} = {};", type, name, expression);
  remember(key, name);
  return name;
}

Env Emitter::bind(const Env& env, Var inner, int value) const {
  const auto index = static_cast<size_t>(inner.index);
  Env result = env;
  result.coordinate[index][1] = std::to_string(value);
  result.constant[index][1] = true;
  result.unrolled[index] = value;
  resolve(result);
  return result;
}

/// Fills in the positions of U levels, and of an E or L level whose lane has become known, as far as they
/// follow.
void Emitter::resolve(Env& env) const {
  for (int l = 0; l < num_levels(); ++l) {
    const auto at = static_cast<size_t>(l);
    if (!env.position[at].empty()) continue;
    if (l > 0 && env.position[at - 1].empty()) return;
    const auto& level = format().levels[at];
    const std::string& coordinate = env.coordinate[static_cast<size_t>(level.var.index)][level.var.inner];
    if (level.kind == LevelKind::kUncompressed && !coordinate.empty()) {
      env.position[at] =
          l == 0 ? coordinate
                 : fmt::format("({} * {} + {})", env.position[at - 1], level_extent(l), coordinate);
    } else if (is_lane_kind(level.kind) && !env.slot.empty()) {
      const std::string& lane = lane_of(env);
      if (lane.empty()) return;
      for (size_t g = at; g < format().levels.size() && shape_.groups[g] == l; ++g) {
        const Var var = format().levels[g].var;
        env.position[g] = fmt::format("({} * {} + {})", env.slot, level_extent(1), lane);
        env.coordinate[static_cast<size_t>(var.index)][var.inner] =
            fmt::format("(int64_t)crd{}[{}]", g, env.position[g]);
      }
    } else {
      return;
    }
  }
}

std::string Emitter::full_index(const Env& env, int mode) const {
  const auto& parts = env.coordinate[static_cast<size_t>(mode)];
  if (split(mode) == 1) return parts[0];
  return fmt::format("({} * {} + {})", parts[0],
                     split(mode) <= schedule::kMaxUnrolledSplit && env.constant[static_cast<size_t>(mode)][1]
                         ? std::to_string(split(mode))
                         : fmt::format("s{}", mode),
                     parts[1]);
}

bool Emitter::may_overrun(const Env& env, int mode) const {
  return split(mode) > 1 && !shape_.binding.exact[static_cast<size_t>(mode)] &&
         env.constant[static_cast<size_t>(mode)][1];
}

std::string Emitter::clamped_index(const Env& env, int mode) const {
  const std::string index = full_index(env, mode);
  return may_overrun(env, mode) ? fmt::format("waco_min({}, d{} - 1)", index, mode) : index;
}

std::string Emitter::row(const Env& env, int mode) {
  const std::string index = clamped_index(env, mode);
  if (mode == 0 && format().permutes_rows())
    return named("row:" + index, "int64_t", "r", fmt::format("row_of[{}]", index));
  if (split(mode) == 1 && index.find('[') == std::string::npos) return index;
  return named("row" + std::to_string(mode) + ":" + index, "int64_t", "r", index);
}

}  // namespace waco::codegen
