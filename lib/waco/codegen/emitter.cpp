// The frame of a kernel: prelude, local names, zeroing, sums over threads, entry point (see emitter.hpp).
#include "waco/codegen/emitter.hpp"

#include "waco/codegen/template_text.hpp"

namespace waco::codegen {

using schedule::LevelKind;

Emitter::Emitter(KernelShape shape) : shape_(std::move(shape)) {
  tile_.num_vectors = shape_.num_vectors;
  tile_.tail = shape_.tile_tail;
}

/// Whether the kernel walks slots of some cache lines, with gathers between them. Beside those, processors do
/// not see the streams of values and coordinates well enough to read ahead of them, which takes a fifth to a
/// third of the time where they come from memory. So slots are asked for some before, unless all of them stay
/// in the caches: then it would take 3 %, and more if it were decided inside the loops. Rows of a C level
/// would gain a quarter from memory as well, but lose 4 to 9 % in the caches, where it is not asked for.
bool Emitter::reads_streams() const {
  const int64_t slot_bytes = split(0) * schedule::value_bytes(shape_.point.problem.type);
  return shape_.axis == VectorAxis::kLanes && slot_bytes >= kLineBytes && slot_bytes <= 8 * kLineBytes;
}

/// What the entry point calls.
std::string Emitter::body_name() const {
  constexpr int64_t kFarBytes = int64_t{4} << 20, kAheadBytes = 2048;
  if (!reads_streams()) return "waco_body";
  const int value_bytes = schedule::value_bytes(shape_.point.problem.type);
  const int crd_bytes = shape_.binding.crd_bytes[2];
  return fmt::format("(a->num_stored > {} ? waco_body<{}> : waco_body<0>)",
                     kFarBytes / (value_bytes + crd_bytes), kAheadBytes / value_bytes);
}

std::string Emitter::source() {
  emit_prologue();
  const std::string prologue = out_.take();
  if (reads_streams()) out_.line("template <int64_t stream_ahead>");
  out_.open(
      "static void waco_body(const struct waco_storage* a, const struct waco_call* call, int thread, int "
      "threads) {{");
  emit_locals();
  emit_output();
  if (shape_.zeroing == Zeroing::kGlobal) emit_zero_output();
  emit_nest(0, Env{});
  if (shape_.streams) out_.line("waco_stream_end();");
  if (shape_.private_outputs) emit_sum_of_private_outputs();
  if (shape_.carries) emit_sum_of_carries();
  out_.close();
  out_.open("extern \"C\" int waco_kernel(const struct waco_storage* a, const struct waco_call* call) {{");
  if (compute().threads > 1) {
    out_.margin("#pragma omp parallel num_threads(call->threads)");
    out_.line("{}(a, call, omp_get_thread_num(), omp_get_num_threads());", body_name());
  } else {
    out_.line("{}(a, call, 0, 1);", body_name());
  }
  out_.line("return WACO_OK;");
  out_.close();
  return prologue + functions_ + out_.take();
}

void Emitter::emit_prologue() {
  if (compute().threads > 1) out_.margin("#include <omp.h>");
  out_.margin(std::string(template_text("abi.hpp")));
  if (shape_.point.problem.type == schedule::ValueType::kF64) out_.margin("#define WACO_F64");
  out_.margin(fmt::format("#define WACO_POS {}", integer_type(shape_.binding.pos_bytes)));
  out_.margin(std::string(template_text("prelude.hpp")));
}

void Emitter::emit_locals() {
  const auto local = [&](const std::string& type, const std::string& name, const std::string& value) {
    out_.line("[[maybe_unused]] const {} {} = {};", type, name, value);
  };
  for (int l = 0; l < num_levels(); ++l) {
    const auto& level = format().levels[static_cast<size_t>(l)];
    local("int64_t", fmt::format("n{}", l), fmt::format("a->level[{}].extent", l));
    if (level.kind == LevelKind::kUncompressed) continue;
    const char* type = integer_type(shape_.binding.crd_bytes[static_cast<size_t>(l)]);
    local(fmt::format("{}*", type), fmt::format("crd{}", l),
          fmt::format("(const {}*)a->level[{}].crd", type, l));
    if (is_lane_kind(level.kind))
      local("int64_t", "slots", fmt::format("n1 > 0 ? a->level[{}].num_positions / n1 : 0", l));
    if (level.kind == LevelKind::kEll) local("int64_t", "width", fmt::format("a->level[{}].width", l));
    if (level.kind == LevelKind::kCompressed || level.kind == LevelKind::kSliced)
      local("pos_t*", fmt::format("pos{}", l), fmt::format("(const pos_t*)a->level[{}].pos", l));
  }
  for (int m = 0; m < schedule::sparse_order(op()); ++m) {
    local("int64_t", fmt::format("d{}", m), fmt::format("a->dim[{}]", m));
    local("int64_t", fmt::format("s{}", m), fmt::format("a->format.split[{}]", m));
  }
  const bool fixed_size = op() == schedule::Op::kSpmv || compute().dense_tile == 0;
  local("int64_t", "rhs", fixed_size ? std::to_string(shape_.point.problem.rhs) : "call->rhs");
  local("value_t*", "vals", "(const value_t*)a->values");
  for (const auto& operand : operands())
    local("value_t*", fmt::format("dense{}", operand.first),
          fmt::format("(const value_t*)call->dense[{}]", operand.first));
  if (format().permutes_rows()) local("int32_t*", "row_of", "a->row_of");
  local("int64_t", "output_size", schedule::output_is_sparse(op()) ? "a->num_stored" : "d0 * rhs");
  local("int", "ranges", "call->threads");
  local("int", "chunk", "call->chunk");
  local("int64_t", "ahead", "call->prefetch");
  if (shape_.carries) local("int64_t", "carry_rows", split(0) > 1 ? "s0" : "1");
}

/// Where this thread's results go, and room for those that are added up at the end.
void Emitter::emit_output() {
  out_.line("[[maybe_unused]] value_t* const scratch = (value_t*)call->scratch;");
  const std::string shared = "(value_t*)call->out";
  const std::string target =
      shape_.private_outputs ? fmt::format("thread == 0 ? {} : scratch + (thread - 1) * output_size", shared)
                             : shared;
  out_.line("value_t* const {} = {};", shape_.carries ? "out_all" : "out", target);
  if (shape_.carries) {
    out_.line("const int64_t carry_size = carry_rows * rhs;");
    out_.line("const int64_t carry_stride = (carry_size + WACO_LINE - 1) / WACO_LINE * WACO_LINE;");
    out_.line("for (int range = thread; range < ranges; range += threads)");
    out_.line("  if (waco_begins_inside(call->partition + 2 * range, n0, pos1))");
    out_.line(
        "    __builtin_memset(scratch + range * carry_stride, 0, (uint64_t)carry_size * sizeof(value_t));");
  }
  if (!runs_in_function()) emit_operand_ends();
  out_.line("(void)thread; (void)threads;");
}

/// What the loops find out first of all: how results are stored, and what is at the ends of the operand.
void Emitter::emit_operand_ends() {
  emit_streams();
  if (reads_past_edge()) emit_edge();
  if (format().skewed()) emit_ends();
}

/// Streaming stores need whole aligned vectors; an output that starts elsewhere gets ordinary ones.
void Emitter::emit_streams() {
  if (!shape_.streams) return;
  out_.line("const bool streams = (uintptr_t)out % ({} * sizeof(value_t)) == 0;", shape_.lanes);
}

/// The operand from the first block on that would read past its end, followed by zeros.
void Emitter::emit_edge() {
  const int width = operand_width();
  out_.line("const int64_t whole_blocks = d1 < {0} ? 0 : (d1 - {0}) / {1} + 1;", width, split(1));
  out_.line("alignas(64) value_t edge[{}] = {{}};", 2 * width);
  out_.line("for (int64_t x = whole_blocks * {0}; x < d1; ++x) edge[x - whole_blocks * {0}] = dense0[x];",
            split(1));
}

/// The first elements of the operand with zeros before them, and the last with zeros behind.
void Emitter::emit_ends() {
  const int width = diagonal_width();
  out_.line("const int64_t last_diagonal = d1 - {};", width);
  out_.line("alignas(64) value_t ends[{}] = {{}};", 4 * width);
  out_.line("for (int64_t x = 0; x < waco_min({0}, d1); ++x) ends[{0} + x] = dense0[x];", width);
  out_.line(
      "for (int64_t x = waco_max(0, -last_diagonal); x < {0}; ++x) ends[{1} + x] = dense0[last_diagonal + "
      "x];",
      width, 2 * width);
}

void Emitter::emit_zero_output() {
  if (shape_.private_outputs) {
    out_.line("__builtin_memset(out, 0, (uint64_t)output_size * sizeof(value_t));");
    return;
  }
  out_.open("{{");
  out_.line(
      "const int64_t zero_begin = output_size * thread / threads, zero_end = output_size * (thread + 1) / "
      "threads;");
  out_.line("__builtin_memset({} + zero_begin, 0, (uint64_t)(zero_end - zero_begin) * sizeof(value_t));",
            shape_.carries ? "out_all" : "out");
  out_.close();
  if (compute().threads > 1) out_.margin("#pragma omp barrier");
}

void Emitter::emit_sum_of_private_outputs() {
  out_.margin("#pragma omp barrier");
  out_.open("for (int other = 1; other < threads; ++other) {{");
  out_.line("const value_t* const theirs = scratch + (other - 1) * output_size;");
  out_.line("value_t* const ours = (value_t*)call->out;");
  out_.line(
      "const int64_t begin = output_size * thread / threads, end = output_size * (thread + 1) / threads;");
  out_.line("for (int64_t x = begin; x < end; ++x) ours[x] += theirs[x];");
  out_.close();
}

/// A row that several ranges share was stored by the range in which it begins; the others kept their pieces
/// apart. Of every such row a thread adds up some lines, in the order of the ranges: the same ones of each,
/// others of the next row, so that no two threads write to a line. Mostly there is no such row.
void Emitter::emit_sum_of_carries() {
  out_.line("bool is_cut = false;");
  out_.line(
      "for (int range = 1; range < ranges; ++range) is_cut |= waco_begins_inside(call->partition + 2 * "
      "range, n0, pos1);");
  out_.line("if (!is_cut) return;");
  out_.margin("#pragma omp barrier");
  out_.open("for (int range = 1; range < ranges; ++range) {{");
  out_.line("const int64_t* bounds = call->partition + 2 * range;");
  out_.line("if (!waco_begins_inside(bounds, n0, pos1)) continue;");
  out_.line("value_t* const first = out_all + bounds[0] * carry_size;");
  out_.line("const value_t* const piece = scratch + range * carry_stride;");
  out_.line("const int64_t count = waco_min(carry_rows, d0 - bounds[0] * carry_rows) * rhs;");
  out_.line("const int64_t own = (thread + threads - bounds[0] % threads) % threads;");
  out_.open("for (int64_t line = own * WACO_LINE; line < count; line += threads * WACO_LINE) {{");
  out_.line("const int64_t end = waco_min(line + WACO_LINE, count);");
  out_.line("for (int64_t x = line; x < end; ++x) first[x] += piece[x];");
  out_.close();
  out_.close();
}

}  // namespace waco::codegen
