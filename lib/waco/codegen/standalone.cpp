// The self-contained C++ file of a tuned kernel, put together from the kernel's source and the templates.
#include "waco/codegen/standalone.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "waco/base/error.hpp"
#include "waco/codegen/fixed_csr.hpp"
#include "waco/codegen/template_text.hpp"

namespace waco::codegen {
namespace {

using schedule::SuperSchedule;

/// Values stored per nonzero beyond which an emitted kernel refuses a large operand: never the one that it
/// was tried on.
int64_t max_fill(const OperandShape& shape) {
  return std::max<int64_t>(100, static_cast<int64_t>(std::ceil(2 * shape.fill)));
}

/// The template without includes of other templates, which the file holds anyway.
std::string without_own_includes(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    if (!text.starts_with("#include \"")) result += text.substr(0, end);
    text.remove_prefix(end);
  }
  return result;
}

/// `text` with the lines from the one that holds `begin` to the one that holds `end` replaced.
std::string replace_region(std::string text, std::string_view begin, std::string_view end,
                           const std::string& by) {
  const size_t first = text.find(begin), last = text.find(end);
  WACO_ASSERT(first != std::string::npos && last != std::string::npos && first < last);
  const size_t line_end = text.find('\n', last) + 1;
  return text.replace(first, line_end - first, by);
}

/// Hidden, as another kernel's library in the same program has one of the same name. Without OpenMP a kernel
/// that deals its work out itself would leave most of it undone inside a parallel region, and be slow
/// outside.
constexpr std::string_view kKernelDeclaration =
    "extern \"C\" __attribute__((visibility(\"hidden\"))) int waco_kernel(const struct waco_storage* a,\n"
    "                                                                  const struct waco_call* call);\n";
constexpr std::string_view kOpenmpNeeded = R"(#ifndef _OPENMP
#error "this kernel runs on several threads: compile it with -fopenmp"
#endif
)";

/// The kernel's source without the interface text that stands before it already.
std::string kernel_text(const SuperSchedule& point, const Binding& binding, KernelKind kind) {
  std::string source = kind == KernelKind::kFixedCsr ? fixed_csr_source(point.problem, binding)
                                                     : kernel_source(point, binding);
  const std::string_view abi = template_text("abi.hpp");
  if (const size_t at = source.find(abi); at != std::string::npos) source.erase(at, abi.size());
  const bool is_parallel = kind == KernelKind::kFixedCsr || point.compute.threads > 1;
  return fmt::format("{}{}\n{}", is_parallel ? kOpenmpNeeded : "", kKernelDeclaration, source);
}

/// Scratch as fixed bytes and bytes for each output row (sddmm: stored value), from two sizes.
std::pair<int64_t, int64_t> scratch_formula(const SuperSchedule& point) {
  constexpr int64_t kRows = 1 << 20;
  const int64_t fixed = scratch_bytes(point, {0, 1, 1}, 0);
  const int64_t grown = scratch_bytes(point, {kRows, 1, 1}, kRows);
  return {fixed, (grown - fixed + kRows - 1) / kRows};
}

std::string_view partition_name(const SuperSchedule& point) {
  if (!needs_partition(point)) return "WACO_NO_PARTITION";
  return partition_may_cut_rows(point) ? "WACO_MAY_CUT_ROWS" : "WACO_WHOLE_ROWS";
}

std::string format_initializer(const waco_format& format) {
  std::string levels;
  for (int l = 0; l < format.num_levels; ++l)
    levels += fmt::format("{}{{{}, {}, {}}}", l > 0 ? ", " : "", format.level[l].mode, format.level[l].inner,
                          format.level[l].kind);
  return fmt::format("{{{}, {}, {{{}, {}, {}}}, {}, {}, {}, {{{}}}}}", format.order, format.num_levels,
                     format.split[0], format.split[1], format.split[2], format.sort_window,
                     format.cluster_window, format.arrangement, levels);
}

std::string plan_text(const SuperSchedule& point, const Binding& binding, KernelKind kind) {
  constexpr std::string_view kOps[] = {"WACO_SPMV", "WACO_SPMM", "WACO_SDDMM", "WACO_MTTKRP"};
  const auto& compute = point.compute;
  const int32_t chunk = kind == KernelKind::kFixedCsr ? schedule::csr_chunk(point.problem.op) : compute.chunk;
  const auto [fixed, per_row] = scratch_formula(point);
  const int order = schedule::sparse_order(point.problem.op);
  std::string text;
  text += fmt::format("#define WACO_PLAN_OP {}\n", kOps[static_cast<int>(point.problem.op)]);
  text += fmt::format("#define WACO_PLAN_RHS {}\n", point.problem.rhs);
  text += fmt::format("#define WACO_PLAN_TEXT \"{}\"\n", to_text(point));
  text += fmt::format("typedef {} waco_value;\n\n",
                      schedule::value_bytes(point.problem.type) == 4 ? "float" : "double");
  text += "static const struct waco_plan waco_tuned_plan = {\n    waco_kernel,\n";
  text += fmt::format("    {},\n", format_initializer(to_abi(point.format, point.problem.op)));
  text += fmt::format(
      "    {{{}}}, {}, /* bytes of crd, pos */\n",
      fmt::join(binding.crd_bytes.begin(), binding.crd_bytes.begin() + point.format.levels.size(), ", "),
      binding.pos_bytes);
  text += fmt::format("    {{{:d}, {:d}, {:d}}}, /* exact */\n", binding.exact[0], binding.exact[1],
                      order > 2 && binding.exact[2]);
  text += fmt::format("    {}, {}, {}, /* threads, chunk, prefetch */\n", std::max(1, compute.threads), chunk,
                      compute.prefetch);
  text += fmt::format("    {}, {}, {}}};\n", partition_name(point), fixed, per_row);
  return text;
}

void add_line(std::string& text, std::string_view label, const std::string& value) {
  if (!value.empty()) text += fmt::format("   {:<9} {}\n", label, value);
}

/// Keeps file names and such from ending the comment they stand in.
std::string in_comment(std::string text) {
  for (size_t at; (at = text.find("*/")) != std::string::npos;) text.replace(at, 2, "* /");
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' '; }, ' ');
  return text;
}

/// Whether values are stored where there may be no nonzero: below slots, or at the end of an index that is
/// walked whole.
bool stores_fill(const schedule::FormatSchedule& format) {
  size_t last = format.levels.size() - 1;
  while (format.levels[last].kind == schedule::LevelKind::kSingleton) --last;
  return format.levels[last].kind != schedule::LevelKind::kCompressed;
}

/// What waco_create_* takes, everything else being WACO_UNFIT: coordinates are as wide, and blocks as whole,
/// as the shape that the kernel was made for.
std::string fits(const SuperSchedule& point, const Binding& binding, int64_t most_fill) {
  std::vector<std::string> limits;
  const auto& format = point.format;
  for (int mode = 0; mode < schedule::sparse_order(point.problem.op); ++mode) {
    const auto m = static_cast<size_t>(mode);
    const std::string counted = mode == 1 && format.skewed()
                                    ? "diagonals"
                                    : std::string(1, schedule::index_name(point.problem.op, mode));
    for (size_t l = 0; l < format.levels.size(); ++l) {
      const schedule::Var var = format.levels[l].var;
      const int32_t bytes = binding.crd_bytes[l];
      if (var.index != mode || var.inner) continue;
      if (bytes == 1 || bytes == 2)
        limits.push_back(fmt::format("up to {} {}", format.split[m] * (int64_t{1} << 8 * bytes), counted));
      if (bytes == 4)
        limits.push_back(format.split[m] > 1 ? fmt::format("up to {} * 2^31 {}", format.split[m], counted)
                                             : fmt::format("up to 2^31 {}", counted));
    }
    if (format.split[m] > 1 && binding.exact[m])
      limits.push_back(fmt::format("whole blocks of {} {}", format.split[m], counted));
  }
  if (binding.pos_bytes == 4) limits.push_back("fewer than 2^31 stored positions");
  if (format.sort_window > 1)
    limits.push_back(fmt::format("up to {} rows", (INT32_MAX / format.split[0] - 1) * format.split[0]));
  if (format.clustered()) limits.push_back("up to 2^30 rows, columns and nonzeros");
  if (stores_fill(format))
    limits.push_back(fmt::format("up to {} values stored per nonzero (beyond 256 MB)", most_fill));
  return fmt::format("{}", fmt::join(limits, ", "));
}

std::string header_comment(const SuperSchedule& point, const Binding& binding, const Provenance& from,
                           KernelKind kind, int64_t most_fill) {
  std::string text = "/* A sparse kernel with its storage format, in one file.\n\n";
  add_line(text, "plan", to_text(point));
  add_line(text, "made by", in_comment(from.tool));
  if (!from.matrix.empty())
    add_line(text, "matrix",
             in_comment(fmt::format("{}, {} nonzeros, pattern {}", from.matrix, from.num_nonzeros,
                                    from.matrix_hash)));
  add_line(text, "fits", fits(point, binding, most_fill));
  add_line(text, "tried on", in_comment(from.machine));
  add_line(text, "measured", in_comment(from.measured));
  if (stores_fill(point.format))
    add_line(text, "zeros",
             "stores some, times elements of B and C that no nonzero meets: all must be finite");
  const auto [fixed, per_row] = scratch_formula(point);
  add_line(text, "calls",
           fixed + per_row > 0 ? "one at a time with the same handle, which holds working memory"
                               : "any number at a time with the same handle");
  text += fmt::format(R"(
   Compile   {3} -std=c++17 {0} -fopenmp -c kernel.cpp
   Link      {3} main.o kernel.o -fopenmp   (with {3} where main is C, too)
   Test      {3} -std=c++17 {0} -fopenmp -DWACO_SELF_TEST kernel.cpp -o self_test && ./self_test {1}
   Use       #define WACO_DECLARATIONS_ONLY
             #include "kernel.cpp"   (or copy the declarations below; C and C++)

             waco_handle* handle;
             if ({2}, 0, {4}, &handle)) ...
             waco_run(handle, B, C, out);            any number of times
             waco_update_values(handle, values);     new values, same pattern
             waco_destroy(handle);
*/
)",
                      kind == KernelKind::kFixedCsr ? kBaselineFlagsForUsers : kKernelFlags,
                      point.problem.op == schedule::Op::kMttkrp ? "tensor.tns" : "matrix.mtx",
                      point.problem.op == schedule::Op::kMttkrp
                          ? "waco_create_coo(dims, nnz, coords, values"
                          : "waco_create_csr(rows, cols, row_ptr, col_idx, values",
                      from.compiler, point.problem.rhs);
  return text;
}

/// Compilers warn of functions that a file defines and does not call: what formats share, not all of them
/// need.
constexpr std::string_view kImplementationBegin = R"(#ifndef WACO_DECLARATIONS_ONLY
#pragma GCC diagnostic ignored "-Wunused-function"
)";

/// How the packer's text names a direct way, and the templates that hold it.
struct DirectWayText {
  std::string_view function;
  std::vector<std::string_view> parts;
};

DirectWayText direct_way_text(DirectPacking way) {
  switch (way) {
    case DirectPacking::kNone:
      break;
    case DirectPacking::kConcordant:
      return {"waco_pack_concordant", {"pack_concordant.hpp"}};
    case DirectPacking::kLanes:
      return {"waco_pack_lanes", {"pack_lanes.hpp"}};
    case DirectPacking::kBlocks:
      return {"waco_pack_blocks", {"pack_members.hpp", "pack_block_chunk.hpp", "pack_blocks.hpp"}};
    case DirectPacking::kHalves:
      return {"waco_pack_halves",
              {"pack_members.hpp", "pack_block_chunk.hpp", "pack_blocks.hpp", "pack_halves.hpp"}};
    case DirectPacking::kColumns:
      return {"waco_pack_columns", {"pack_columns.hpp"}};
  }
  return {"nullptr", {}};
}

/// The packer with the direct way of this format only, so that no compiler reads what the kernel never calls.
std::string packer_text(const SuperSchedule& point, int64_t most_fill, int pos_bytes) {
  const DirectWayText direct = direct_way_text(direct_packing(to_abi(point.format, point.problem.op)));
  std::string text =
      fmt::format("#define WACO_VALUE_BYTES {}\n#define WACO_POS_BYTES {}\n#define WACO_DIRECT_WAY {}\n",
                  schedule::value_bytes(point.problem.type), pos_bytes, direct.function);
  if (stores_fill(point.format))
    text += fmt::format("#ifndef WACO_MAX_FILL\n#define WACO_MAX_FILL {}\n#endif\n", most_fill);
  std::vector<std::string_view> parts{"pack_memory.hpp", "pack_storage.hpp", "pack_state.hpp",
                                      "pack_check.hpp",  "pack_sizes.hpp",   "pack_sort.hpp",
                                      "pack_slices.hpp", "pack_rows.hpp"};
  const auto add = [&](const std::vector<std::string_view>& more) {
    parts.insert(parts.end(), more.begin(), more.end());
  };
  if (point.format.clustered())
    add({"pack_cluster.hpp"});
  else
    text += "#define WACO_WITHOUT_CLUSTER\n";
  add(direct.parts);
  add({"pack_count.hpp", "pack_fill.hpp", "pack_order.hpp", "packer.hpp", "partition.hpp"});
  for (const std::string_view part : parts) text += "\n" + without_own_includes(template_text(part));
  return text;
}

}  // namespace

OperandShape any_shape(bool skewed) {
  // Primes, which no split divides; skewed, coordinates of four bytes hold the sum of two.
  constexpr int64_t kPrime = (int64_t{1} << 31) - 1, kHalf = (int64_t{1} << 30) - 35;
  const int64_t dim = skewed ? kHalf : kPrime;
  return {{dim, dim, dim}, kPrime};
}

std::string emit_standalone(const SuperSchedule& point, const OperandShape& shape, int vector_bytes,
                            const Provenance& provenance, KernelKind kind) {
  Binding binding = bind(point, shape.dims, shape.num_positions_bound, vector_bytes);
  if (kind == KernelKind::kFixedCsr)  // the kernel that is measured has no narrow coordinates
    for (int32_t& bytes : binding.crd_bytes)
      if (bytes > 0) bytes = std::max(bytes, 4);
  const std::string plan =
      fmt::format("{}\n{}", kernel_text(point, binding, kind), plan_text(point, binding, kind));
  const std::string implementation =
      replace_region(without_own_includes(template_text("standalone.hpp")), "// waco: default plan begin",
                     "// waco: default plan end", plan);
  std::string text = header_comment(point, binding, provenance, kind, max_fill(shape));
  for (const std::string& section :
       {std::string(template_text("interface.hpp")), std::string(kImplementationBegin),
        std::string(template_text("abi.hpp")), packer_text(point, max_fill(shape), binding.pos_bytes),
        implementation, std::string("#ifdef WACO_SELF_TEST\n"),
        without_own_includes(template_text("self_test.hpp")),
        std::string("#endif /* WACO_SELF_TEST */\n\n#endif /* WACO_DECLARATIONS_ONLY */\n")})
    text.append(section).append("\n");
  text.pop_back();
  return text;
}

}  // namespace waco::codegen
