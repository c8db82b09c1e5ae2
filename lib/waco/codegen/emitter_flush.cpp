// From accumulators to the output: sums of lanes, stores, guards at the edge of the matrix (see emitter.hpp).
#include <algorithm>
#include <bit>

#include "waco/codegen/emitter.hpp"

namespace waco::codegen {

using schedule::Level;
using schedule::Loop;
using schedule::Op;

/// The vectors of an accumulator as one.
std::string Emitter::added_up(const std::string& name, int count) const {
  std::string sum = name + "_0";
  for (int v = 1; v < count; ++v) sum += fmt::format(" + {}_{}", name, v);
  return sum;
}

std::string Emitter::sum_of(const std::string& name, int count) const {
  if (shape_.axis == VectorAxis::kNone) return name + "_0";
  return fmt::format("sum{}({})", vec(), added_up(name, count));
}

/// Pointer to the output row of an accumulator (its element, for spmv).
std::string Emitter::output_row(const Accumulator& acc) {
  if (buffered_) return "buffer_" + acc.name;
  const std::string r = row(acc.env, 0);
  const std::string shifted = shape_.carries ? fmt::format("({} - row_shift)", r) : r;
  return named("out:" + shifted, "auto", "o", fmt::format("out + {} * rhs", shifted));
}

void Emitter::emit_flush(const std::vector<Accumulator>& all) {
  const int count = vectors_per_accumulator();
  if (in_groups()) {
    for (const Accumulator& acc : all)
      if (acc.copy > 0)
        for (int v = 0; v < count; ++v)
          out_.line("{}_{} += {}_{};", accumulator_of(acc.env, 0), v, acc.name, v);
  }
  if (op() == Op::kSddmm) return flush_sparse(all);
  for (const Accumulator& acc : all) {
    if (in_groups() && acc.copy > 0) continue;
    if (op() == Op::kSpmv) {
      flush_spmv(acc);
    } else {
      flush_dense(acc);
    }
  }
}

void Emitter::flush_dense(const Accumulator& acc) {
  const bool guard = may_overrun(acc.env, 0) && !buffered_;
  const bool add = !shape_.stores && shape_.copies_are_outputs;  // otherwise loaded when declared
  if (guard) out_.open("if ({} < d0) {{", full_index(acc.env, 0));
  push();
  const std::string o = output_row(acc);
  const bool streams = shape_.streams && tile_.tail == 0 && !buffered_;
  if (streams) {
    out_.open("if (streams) {{");
    for (int v = 0; v < tile_.num_vectors; ++v)
      out_.line("stream{}({} + {} + {}, {}_{});", vec(), o, tile_.base, v * shape_.lanes, acc.name, v);
    out_.close();
    out_.open("else {{");
  }
  for (int v = 0; v < tile_.num_vectors; ++v) {
    const std::string at = fmt::format("{} + {} + {}", o, tile_.base, v * shape_.lanes);
    std::string value = fmt::format("{}_{}", acc.name, v);
    if (add) value = fmt::format("{} + {}", load(at, v), value);
    if (is_partial(v)) {
      out_.line("store_part{}({}, {}, {});", vec(), at, value, tile_.tail);
    } else {
      out_.line("store{}({}, {});", vec(), at, value);
    }
  }
  if (streams) out_.close();
  pop();
  if (guard) out_.close();
}

void Emitter::flush_row_buffer(const Accumulator& acc) {
  const bool guard = may_overrun(acc.env, 0);
  if (guard) out_.open("if ({} < d0) {{", full_index(acc.env, 0));
  push();
  const std::string o = output_row(acc);
  for (const char* how : {"if (streams) for", "else for"})
    out_.line("{0} (int64_t x = 0; x < rhs; x += {1}) {2}{1}({3} + x, load{1}(buffer_{4} + x));", how, vec(),
              how[0] == 'i' ? "stream" : "store", o, acc.name);
  pop();
  if (guard) out_.close();
}

/// Whether the outputs in flight lie one after the other: nothing but the nonzero and the unrolled U levels
/// right below it tells them apart.
bool Emitter::outputs_adjoin() const {
  const auto& levels = format().levels;
  const auto at_run_time = [&](const Level& level) { return !is_unrolled(level.var); };
  if (!std::is_partitioned(levels.begin(), levels.end(), at_run_time)) return false;
  if (copies_ == 1) return true;
  const Loop& nonzeros = loop(shape_.nest.innermost_sparse);
  return nonzeros.level + static_cast<int>(nonzeros.vars.size()) ==
         std::count_if(levels.begin(), levels.end(), at_run_time);
}

/// How many stored values after the first one in flight the output lies, where these adjoin.
int Emitter::offset_of(const Accumulator& acc) const {
  int offset = acc.copy;
  for (const Level& level : format().levels)
    if (is_unrolled(level.var))
      offset = offset * split(level.var.index) + acc.env.unrolled[static_cast<size_t>(level.var.index)];
  return offset;
}

/// Outputs that lie one after the other are summed up together, a power of two of them at a time.
void Emitter::flush_sparse(const std::vector<Accumulator>& all) {
  constexpr size_t kFewestTogether = 4;  // two took up to 1.2 times as long as one by one
  std::vector<const Accumulator*> order;
  for (const Accumulator& acc : all) order.push_back(&acc);
  const bool adjoin = outputs_adjoin();
  if (adjoin) std::ranges::sort(order, {}, [&](const Accumulator* acc) { return offset_of(*acc); });
  for (std::span<const Accumulator*> rest = order; !rest.empty();) {
    const size_t most = std::bit_floor(std::min(rest.size(), static_cast<size_t>(shape_.lanes)));
    const size_t count = adjoin && most >= kFewestTogether ? most : 1;
    if (count == 1) {
      flush_one(*rest[0]);
    } else {
      flush_together(rest.first(count));
    }
    rest = rest.subspan(count);
  }
}

void Emitter::flush_together(std::span<const Accumulator* const> run) {
  const int count = vectors_per_accumulator();
  std::vector<std::string> vectors;
  for (const Accumulator* acc : run) {
    vectors.push_back(acc->name + "_0");
    if (count == 1) continue;
    vectors.back() = fresh("all");
    out_.line("const vec{} {} = {};", vec(), vectors.back(), added_up(acc->name, count));
  }
  const std::string sums = joint_sums(std::move(vectors));
  const std::string& position = run[0]->env.position[static_cast<size_t>(num_levels() - 1)];
  std::string value = fmt::format("load{}(vals + {}) * {}", run.size(), position, sums);
  if (!shape_.stores) value = fmt::format("load{}(out + {}) + {}", run.size(), position, value);
  out_.line("store{}(out + {}, {});", run.size(), position, value);
}

void Emitter::flush_one(const Accumulator& acc) {
  const std::string& position = acc.env.position[static_cast<size_t>(num_levels() - 1)];
  out_.line("out[{}] {} {} * {};", position, shape_.stores ? "=" : "+=", value_of(acc.env),
            sum_of(acc.name, vectors_per_accumulator()));
}

/// Lanes of `a` and then of `b`, in every group of lanes by itself: every unit of lanes and the one after it
/// added, so that half of each is left.
std::string Emitter::neighbours_added(const std::string& a, const std::string& b, int lanes, int group,
                                      int unit) const {
  std::vector<int> even, odd;
  for (int begin = 0; begin < lanes; begin += group)
    for (const int source : {0, lanes})
      for (int at = 0; at < group; at += 2 * unit)
        for (int lane = 0; lane < unit; ++lane) {
          even.push_back(source + begin + at + lane);
          odd.push_back(even.back() + unit);
        }
  return fmt::format("{} + {}", pick(a, b, even), pick(a, b, odd));
}

/// The sums of the lanes of several vectors, of four of them or a higher power of two up to the lanes, in
/// one. Pairs of vectors become one that has half of the sums to come of each, first inside of every 16
/// bytes, where lanes are picked by cheaper instructions, then across them.
std::string Emitter::joint_sums(std::vector<std::string> vectors) {
  int lanes = shape_.lanes;
  const int block = std::min(lanes, 16 / schedule::value_bytes(shape_.point.problem.type));
  const auto num_sums = static_cast<int>(vectors.size());
  const auto define = [&](int width, const std::string& value) {
    const std::string name = fresh("sums");
    out_.line("const vec{} {} = {};", width, name, value);
    return name;
  };
  for (int done = 1; vectors.size() > 1; done *= 2) {
    std::vector<std::string> halves;
    for (size_t n = 0; n < vectors.size(); n += 2)
      halves.push_back(
          define(lanes, done < block ? neighbours_added(vectors[n], vectors[n + 1], lanes, block, 1)
                                     : neighbours_added(vectors[n], vectors[n + 1], lanes, lanes, block)));
    vectors = std::move(halves);
  }
  std::string sums = vectors[0];
  while (lanes > num_sums) {
    const std::string low = fmt::format("low{}({})", lanes, sums),
                      high = fmt::format("high{}({})", lanes, sums);
    const int half = lanes / 2;
    sums = define(half, num_sums == block  // then every block has parts of the same sums
                            ? fmt::format("{} + {}", low, high)
                            : neighbours_added(low, high, half, half, block));
    lanes = half;
  }
  return sums;
}

/// The rows of a block in the first lanes of a vector: the sums of its columns, which lie one after the other
/// in the accumulator, added up.
std::string Emitter::rows_of_block(const Accumulator& acc) {
  std::string sum = acc.name + "_0";
  for (int column = 1; column < split(1); ++column) {
    const int first = column * split(0), vector = first / shape_.lanes;
    const std::string low = fmt::format("{}_{}", acc.name, vector);
    const bool crosses = first % shape_.lanes + split(0) > shape_.lanes;
    std::vector<int> lanes;
    for (int lane = 0; lane < shape_.lanes; ++lane)
      lanes.push_back(first % shape_.lanes + (lane < split(0) ? lane : 0));
    sum += " + " + pick(low, crosses ? fmt::format("{}_{}", acc.name, vector + 1) : low, lanes);
  }
  const std::string rows = fresh("rows");
  out_.line("const vec{} {} = {};", vec(), rows, sum);
  return rows;
}

void Emitter::flush_spmv(const Accumulator& acc) {
  const char* assign = shape_.stores ? "=" : "+=";
  const bool vector_output = shape_.axis == VectorAxis::kLanes || shape_.axis == VectorAxis::kBlockOutput ||
                             shape_.axis == VectorAxis::kBlock;
  if (!vector_output) {
    const bool guard = may_overrun(acc.env, 0);
    push();
    if (guard) out_.open("if ({} < d0) {{", full_index(acc.env, 0));
    out_.line("*{} {} {};", output_row(acc), assign, sum_of(acc.name, vectors_per_accumulator()));
    if (guard) out_.close();
    pop();
    return;
  }
  const std::string first = full_index(acc.env, 0);
  if (shape_.axis == VectorAxis::kBlock) return flush_rows(rows_of_block(acc), first, split(0));
  for (int v = 0; v < shape_.num_vectors; ++v)
    flush_rows(fmt::format("{}_{}", acc.name, v), fmt::format("{} + {}", first, v * shape_.lanes),
               std::min(shape_.lanes, split(0) - v * shape_.lanes));
}

/// The first `count` lanes of a vector of sums, of rows from `base` on, as far as these exist.
void Emitter::flush_rows(const std::string& sums, const std::string& base, int count) {
  if (shape_.binding.exact[0]) return flush_lanes(sums, base, count);
  out_.open("if ({} + {} <= d0) {{", base, count);
  flush_lanes(sums, base, count);
  out_.close();
  out_.open("else {{");
  // By way of memory: a vector of which lanes are picked at run time would be there from the start.
  out_.line("value_t rest[{}];", shape_.lanes);
  out_.line("store{}(rest, {});", vec(), sums);
  out_.line("for (int64_t lane = 0; lane < d0 - ({}); ++lane) {} {} rest[lane];", base,
            output_of_lane(base, "lane"), shape_.stores ? "=" : "+=");
  out_.close();
}

/// The output of a lane when the first one's row is `base`.
std::string Emitter::output_of_lane(const std::string& base, const std::string& lane) const {
  if (format().permutes_rows()) return fmt::format("out[row_of[{} + {}]]", base, lane);
  return fmt::format("out[{} + {}{}]", base, lane, shape_.carries ? " - row_shift" : "");
}

/// The first `count` lanes of a vector of sums, all of rows that exist.
void Emitter::flush_lanes(const std::string& sums, const std::string& base, int count) {
  const bool half = shape_.lanes > 2 && 2 * count == shape_.lanes;
  if ((count < shape_.lanes && !half) || format().permutes_rows()) {
    for (int lane = 0; lane < count; ++lane)
      out_.line("{} {} {}[{}];", output_of_lane(base, std::to_string(lane)), shape_.stores ? "=" : "+=", sums,
                lane);
    return;
  }
  const std::string at = fmt::format("out + ({}{})", base, shape_.carries ? " - row_shift" : "");
  out_.line("store{0}({1}, {2}{3});", count, at, shape_.stores ? "" : fmt::format("load{}({}) + ", count, at),
            half ? fmt::format("low{}({})", vec(), sums) : sums);
}

}  // namespace waco::codegen
