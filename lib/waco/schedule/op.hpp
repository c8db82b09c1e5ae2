// The four operations, their index variables and the shapes of their dense operands.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace waco::schedule {

/// Indices are numbered: the sparse operand's modes first (0 .. sparse_order-1), then the dense index, if
/// any.
///
/// | op     | expression                              | modes of A | dense index         |
/// |--------|-----------------------------------------|------------|---------------------|
/// | spmv   | C[i] = sum_k A[i,k] B[k]                | i k        | -                   |
/// | spmm   | C[i,j] = sum_k A[i,k] B[k,j]            | i k        | j                   |
/// | sddmm  | D[i,j] = A[i,j] sum_k B[i,k] C[k,j]     | i j        | k (a reduction)     |
/// | mttkrp | D[i,j] = sum_kl A[i,k,l] B[k,j] C[l,j]  | i k l      | j                   |
///
/// Dense operands are row-major but for sddmm's C, which is column-major: element (k, j) is at j * K + k.
enum class Op : uint8_t { kSpmv, kSpmm, kSddmm, kMttkrp };
inline constexpr std::array kAllOps = {Op::kSpmv, Op::kSpmm, Op::kSddmm, Op::kMttkrp};
enum class ValueType : uint8_t { kF32, kF64 };

/// What is computed: op, value type and the size of the dense index (`rhs`; 1 for spmv).
struct Problem {
  Op op = Op::kSpmv;
  ValueType type = ValueType::kF32;
  int64_t rhs = 1;
  bool operator==(const Problem&) const = default;
};

int sparse_order(Op op);             ///< 2, or 3 for mttkrp
bool has_dense_index(Op op);         ///< all but spmv
bool dense_index_is_reduced(Op op);  ///< sddmm only
bool output_is_sparse(Op op);        ///< sddmm only
/// Whether sparse mode `mode` indexes the output (spmv, spmm, mttkrp: mode 0; sddmm: both).
bool mode_is_output(Op op, int mode);
/// The same of any index, numbered as above: the dense one indexes the output unless it is reduced.
bool index_is_output(Op op, int index);
char index_name(Op op, int index);  ///< 'i', 'k', ... ; `index` as numbered above
int64_t default_rhs(Op op);         ///< 1, 256, 256, 16
int value_bytes(ValueType type);    ///< 4 or 8

/// Floating-point operations of one call: 2 (mttkrp: 3) for each nonzero and each place of the dense index,
/// those of stored zeros not counted.
double num_flops(const Problem& problem, int64_t num_nonzeros);

/// "spmv f32", "spmm f32 J=256", "sddmm f64 K=64": how plans begin, and how people are told of it.
std::string to_text(const Problem& problem);
std::string_view name(Op op);           ///< "spmv" ...
std::string_view name(ValueType type);  ///< "f32", "f64"
std::optional<Op> parse_op(std::string_view text);
std::optional<ValueType> parse_value_type(std::string_view text);

}  // namespace waco::schedule
