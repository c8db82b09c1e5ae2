// From accumulators to the output: sums of lanes, stores, guards at the edge of the matrix (see emitter.hpp).
#include <algorithm>

#include "waco/codegen/emitter.hpp"

namespace waco::codegen {

using schedule::Op;

std::string Emitter::sum_of(const std::string& name, int count) const {
  if (shape_.axis == VectorAxis::kNone) return name + "_0";
  std::string sum = name + "_0";
  for (int v = 1; v < count; ++v) sum += fmt::format(" + {}_{}", name, v);
  return fmt::format("sum{}({})", vec(), sum);
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
  if (split_) {
    for (const Accumulator& acc : all)
      if (acc.copy > 0)
        for (int v = 0; v < count; ++v)
          out_.line("{}_{} += {}_{};", acc.name.substr(0, acc.name.find("_u")) + "_u0", v, acc.name, v);
  }
  for (const Accumulator& acc : all) {
    if (split_ && acc.copy > 0) continue;
    if (op() == Op::kSpmv) {
      flush_spmv(acc);
    } else if (op() == Op::kSddmm) {
      flush_sparse(acc);
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

void Emitter::flush_sparse(const Accumulator& acc) {
  const std::string& position = acc.env.position[static_cast<size_t>(num_levels() - 1)];
  out_.line("out[{}] {} {} * {};", position, shape_.stores ? "=" : "+=", value_of(acc.env),
            sum_of(acc.name, vectors_per_accumulator()));
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
  if (format().sort_window > 1) return fmt::format("out[row_of[{} + {}]]", base, lane);
  return fmt::format("out[{} + {}{}]", base, lane, shape_.carries ? " - row_shift" : "");
}

/// The first `count` lanes of a vector of sums, all of rows that exist.
void Emitter::flush_lanes(const std::string& sums, const std::string& base, int count) {
  const bool half = shape_.lanes > 2 && 2 * count == shape_.lanes;
  if ((count < shape_.lanes && !half) || format().sort_window > 1) {
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
