// The four operations by name and number.
#include "waco/schedule/op.hpp"

#include <fmt/format.h>

#include <array>
#include <cctype>

#include "waco/base/error.hpp"

namespace waco::schedule {
namespace {

struct OpFacts {
  Op op;
  std::string_view name;
  std::string_view indices;  ///< modes of the sparse operand, then the dense index
  int sparse_order;
  int64_t default_rhs;
};

constexpr std::array<OpFacts, 4> kOps{{
    {Op::kSpmv, "spmv", "ik", 2, 1},
    {Op::kSpmm, "spmm", "ikj", 2, 256},
    {Op::kSddmm, "sddmm", "ijk", 2, 256},
    {Op::kMttkrp, "mttkrp", "iklj", 3, 16},
}};

const OpFacts& facts(Op op) {
  return kOps[static_cast<size_t>(op)];
}

}  // namespace

int sparse_order(Op op) {
  return facts(op).sparse_order;
}

bool has_dense_index(Op op) {
  return op != Op::kSpmv;
}

bool dense_index_is_reduced(Op op) {
  return op == Op::kSddmm;
}

bool output_is_sparse(Op op) {
  return op == Op::kSddmm;
}

bool mode_is_output(Op op, int mode) {
  return mode == 0 || (op == Op::kSddmm && mode == 1);
}

bool index_is_output(Op op, int index) {
  return index < sparse_order(op) ? mode_is_output(op, index) : !dense_index_is_reduced(op);
}

char index_name(Op op, int index) {
  const std::string_view indices = facts(op).indices;
  WACO_ASSERT(index >= 0 && index < static_cast<int>(indices.size()));
  return indices[static_cast<size_t>(index)];
}

int64_t default_rhs(Op op) {
  return facts(op).default_rhs;
}

int value_bytes(ValueType type) {
  return type == ValueType::kF64 ? 8 : 4;
}

double num_flops(const Problem& problem, int64_t num_nonzeros) {
  const double per_place = problem.op == Op::kMttkrp ? 3 : 2;
  return per_place * static_cast<double>(num_nonzeros) * static_cast<double>(problem.rhs);
}

std::string to_text(const Problem& problem) {
  const std::string text = fmt::format("{} {}", name(problem.op), name(problem.type));
  if (!has_dense_index(problem.op)) return text;
  const int letter = std::toupper(index_name(problem.op, sparse_order(problem.op)));
  return fmt::format("{} {}={}", text, static_cast<char>(letter), problem.rhs);
}

std::string_view name(Op op) {
  return facts(op).name;
}

std::string_view name(ValueType type) {
  return type == ValueType::kF64 ? "f64" : "f32";
}

std::optional<Op> parse_op(std::string_view text) {
  for (const OpFacts& candidate : kOps)
    if (candidate.name == text) return candidate.op;
  return std::nullopt;
}

std::optional<ValueType> parse_value_type(std::string_view text) {
  if (text == "f32") return ValueType::kF32;
  if (text == "f64") return ValueType::kF64;
  return std::nullopt;
}

}  // namespace waco::schedule
