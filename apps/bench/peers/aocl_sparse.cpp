// AMD's AOCL-Sparse (version 4 or newer): CSR with a hint, optimised.
#include <aoclsparse.h>

#include <cmath>
#include <cstring>

#include "apps/bench/peers/libraries.hpp"
#include "waco/base/error.hpp"

namespace waco::bench {
namespace {

constexpr aoclsparse_int kExpectedCalls = 10000;

void check(aoclsparse_status status, const char* what) {
  if (status != aoclsparse_status_success)
    throw EnvironmentError(fmt::format("{} failed with status {}", what, static_cast<int>(status)));
}

/// A matrix and its descriptor, destroyed with their owner.
class Handles {
 public:
  Handles() = default;
  ~Handles() {
    if (descriptor != nullptr) aoclsparse_destroy_mat_descr(descriptor);
    if (matrix != nullptr) aoclsparse_destroy(&matrix);
  }
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
  aoclsparse_matrix matrix = nullptr;
  aoclsparse_mat_descr descriptor = nullptr;
};

class AoclRun : public PreparedPeer {
 public:
  explicit AoclRun(const PeerInput& input) : input_(input) {
    static_assert(sizeof(aoclsparse_int) == sizeof(int32_t), "the library with 32-bit indices is expected");
    const auto rows = static_cast<aoclsparse_int>(input.num_rows());
    const auto columns = static_cast<aoclsparse_int>(input.num_columns());
    const auto count = static_cast<aoclsparse_int>(input.num_nonzeros());
    auto* begin = const_cast<aoclsparse_int*>(input.row_begin);
    auto* column = const_cast<aoclsparse_int*>(input.columns);
    void* values = const_cast<void*>(input.values);
    check(input.f64() ? aoclsparse_create_dcsr(&handles_.matrix, aoclsparse_index_base_zero, rows, columns,
                                               count, begin, column, static_cast<double*>(values))
                      : aoclsparse_create_scsr(&handles_.matrix, aoclsparse_index_base_zero, rows, columns,
                                               count, begin, column, static_cast<float*>(values)),
          "aoclsparse_create_csr");
    check(aoclsparse_create_mat_descr(&handles_.descriptor), "aoclsparse_create_mat_descr");
    check(is_spmv() ? aoclsparse_set_mv_hint(handles_.matrix, aoclsparse_operation_none, handles_.descriptor,
                                             kExpectedCalls)
                    : aoclsparse_set_mm_hint(handles_.matrix, aoclsparse_operation_none, handles_.descriptor,
                                             kExpectedCalls),
          "aoclsparse_set_hint");
    check(aoclsparse_optimize(handles_.matrix), "aoclsparse_optimize");
  }

  void run(void* out) override {
    if (is_poisoned(out)) clear(out);
    check(is_spmv() ? spmv(out) : spmm(out), "aoclsparse_mv or _csrmm");
  }
  int64_t stored_bytes() const override { return input_.csr_bytes(sizeof(aoclsparse_int)); }

 private:
  bool is_spmv() const { return input_.problem.op == schedule::Op::kSpmv; }

  /// Whether the result holds the NaNs that show in a check what is not written.
  bool is_poisoned(const void* out) const {
    return input_.f64() ? std::isnan(*static_cast<const double*>(out))
                        : std::isnan(*static_cast<const float*>(out));
  }

  /// Even with beta = 0 the library reads the result, and a NaN stays one.
  void clear(void* out) const {
    const int64_t count = input_.num_rows() * input_.problem.rhs;
    std::memset(out, 0, static_cast<size_t>(count * schedule::value_bytes(input_.problem.type)));
  }

  aoclsparse_status spmv(void* out) const {
    if (input_.f64()) {
      const double one = 1, zero = 0;
      return aoclsparse_dmv(aoclsparse_operation_none, &one, handles_.matrix, handles_.descriptor,
                            static_cast<const double*>(input_.dense[0]), &zero, static_cast<double*>(out));
    }
    const float one = 1, zero = 0;
    return aoclsparse_smv(aoclsparse_operation_none, &one, handles_.matrix, handles_.descriptor,
                          static_cast<const float*>(input_.dense[0]), &zero, static_cast<float*>(out));
  }

  aoclsparse_status spmm(void* out) const {
    const auto width = static_cast<aoclsparse_int>(input_.problem.rhs);
    if (input_.f64())
      return aoclsparse_dcsrmm(aoclsparse_operation_none, 1, handles_.matrix, handles_.descriptor,
                               aoclsparse_order_row, static_cast<const double*>(input_.dense[0]), width,
                               width, 0, static_cast<double*>(out), width);
    return aoclsparse_scsrmm(aoclsparse_operation_none, 1, handles_.matrix, handles_.descriptor,
                             aoclsparse_order_row, static_cast<const float*>(input_.dense[0]), width, width,
                             0, static_cast<float*>(out), width);
  }

  PeerInput input_;
  Handles handles_;
};

std::optional<std::string> refusal(const PeerInput& input) {
  return refuse_all_but_spmv_and_spmm(input, "AOCL-Sparse");
}

}  // namespace

Library aocl_sparse_library() {
  return {"aocl_sparse",
          "AMD AOCL-Sparse",
          aoclsparse_get_version(),
          "",
          {{"aocl_sparse", "aocl_sparse", "CSR, hint and aoclsparse_optimize", refusal,
            [](const PeerInput& input) { return std::make_unique<AoclRun>(input); }}}};
}

}  // namespace waco::bench
