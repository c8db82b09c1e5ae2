// Intel MKL's inspector-executor routines: CSR with and without hints, and BSR where the matrix has blocks.
#include <mkl.h>
#include <mkl_spblas.h>

#include "apps/bench/peers/libraries.hpp"
#include "waco/base/error.hpp"
#include "waco/base/machine.hpp"
#include "waco/pattern/cell_count.hpp"

namespace waco::bench {
namespace {

constexpr int kExpectedCalls = 10000;
constexpr double kMaxBlockFill = 1.6;

void check(sparse_status_t status, const char* what) {
  if (status != SPARSE_STATUS_SUCCESS)
    throw EnvironmentError(fmt::format("{} failed with status {}", what, static_cast<int>(status)));
}

/// An mkl matrix handle, destroyed with its owner.
class Handle {
 public:
  Handle() = default;
  ~Handle() {
    if (matrix != nullptr) mkl_sparse_destroy(matrix);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  sparse_matrix_t matrix = nullptr;
};

/// MKL copies nothing until it is asked to optimise, and takes arrays that it could write to.
void create_csr(Handle& handle, const PeerInput& input) {
  auto* rows = const_cast<MKL_INT*>(input.row_begin);
  auto* columns = const_cast<MKL_INT*>(input.columns);
  const auto num_rows = static_cast<MKL_INT>(input.num_rows());
  const auto num_columns = static_cast<MKL_INT>(input.num_columns());
  if (input.f64()) {
    auto* values = static_cast<double*>(const_cast<void*>(input.values));
    check(mkl_sparse_d_create_csr(&handle.matrix, SPARSE_INDEX_BASE_ZERO, num_rows, num_columns, rows,
                                  rows + 1, columns, values),
          "mkl_sparse_d_create_csr");
  } else {
    auto* values = static_cast<float*>(const_cast<void*>(input.values));
    check(mkl_sparse_s_create_csr(&handle.matrix, SPARSE_INDEX_BASE_ZERO, num_rows, num_columns, rows,
                                  rows + 1, columns, values),
          "mkl_sparse_s_create_csr");
  }
}

/// Blocks of `block` x `block` that hold a nonzero.
int64_t num_blocks(const PeerInput& input, int block) {
  return pattern::count_cells(*input.tensor, {block, block, 0});
}

class MklRun : public PreparedPeer {
 public:
  /// `block` 0: CSR.
  MklRun(const PeerInput& input, bool hint, int block) : input_(input), block_(block) {
    mkl_set_dynamic(0);
    mkl_set_num_threads(input.threads);
    general_.type = SPARSE_MATRIX_TYPE_GENERAL;
    create_csr(matrix_, input);
    if (block > 0) convert();
    if (hint) optimize();
  }

  void run(void* out) override {
    const auto status = input_.problem.op == schedule::Op::kSpmv ? spmv(out) : spmm(out);
    if (status != SPARSE_STATUS_SUCCESS) check(status, "mkl_sparse_mv or _mm");
  }
  int64_t stored_bytes() const override {
    if (block_ == 0) return input_.csr_bytes(sizeof(MKL_INT));
    const int64_t blocks = num_blocks(input_, block_);
    return blocks * block_ * block_ * schedule::value_bytes(input_.problem.type) +
           (blocks + input_.num_rows() / block_ + 1) * static_cast<int64_t>(sizeof(MKL_INT));
  }

 private:
  sparse_status_t spmv(void* out) {
    if (input_.f64())
      return mkl_sparse_d_mv(SPARSE_OPERATION_NON_TRANSPOSE, 1, matrix_.matrix, general_,
                             static_cast<const double*>(input_.dense[0]), 0, static_cast<double*>(out));
    return mkl_sparse_s_mv(SPARSE_OPERATION_NON_TRANSPOSE, 1, matrix_.matrix, general_,
                           static_cast<const float*>(input_.dense[0]), 0, static_cast<float*>(out));
  }

  sparse_status_t spmm(void* out) {
    const auto width = static_cast<MKL_INT>(input_.problem.rhs);
    if (input_.f64())
      return mkl_sparse_d_mm(SPARSE_OPERATION_NON_TRANSPOSE, 1, matrix_.matrix, general_,
                             SPARSE_LAYOUT_ROW_MAJOR, static_cast<const double*>(input_.dense[0]), width,
                             width, 0, static_cast<double*>(out), width);
    return mkl_sparse_s_mm(SPARSE_OPERATION_NON_TRANSPOSE, 1, matrix_.matrix, general_,
                           SPARSE_LAYOUT_ROW_MAJOR, static_cast<const float*>(input_.dense[0]), width, width,
                           0, static_cast<float*>(out), width);
  }

  void convert() {
    Handle csr;
    std::swap(csr.matrix, matrix_.matrix);
    check(mkl_sparse_convert_bsr(csr.matrix, block_, SPARSE_LAYOUT_ROW_MAJOR, SPARSE_OPERATION_NON_TRANSPOSE,
                                 &matrix_.matrix),
          "mkl_sparse_convert_bsr");
  }

  void optimize() {
    check(mkl_sparse_set_memory_hint(matrix_.matrix, SPARSE_MEMORY_AGGRESSIVE), "mkl_sparse_set_memory_hint");
    if (input_.problem.op == schedule::Op::kSpmv) {
      check(mkl_sparse_set_mv_hint(matrix_.matrix, SPARSE_OPERATION_NON_TRANSPOSE, general_, kExpectedCalls),
            "mkl_sparse_set_mv_hint");
    } else {
      check(mkl_sparse_set_mm_hint(matrix_.matrix, SPARSE_OPERATION_NON_TRANSPOSE, general_,
                                   SPARSE_LAYOUT_ROW_MAJOR, static_cast<MKL_INT>(input_.problem.rhs),
                                   kExpectedCalls),
            "mkl_sparse_set_mm_hint");
    }
    check(mkl_sparse_optimize(matrix_.matrix), "mkl_sparse_optimize");
  }

  PeerInput input_;
  int block_;
  matrix_descr general_{};
  Handle matrix_;
};

std::optional<std::string> refusal(const PeerInput& input, int block) {
  auto general = refuse_all_but_spmv_and_spmm(input, "MKL");
  if (general || block == 0) return general;
  if (input.num_rows() % block != 0 || input.num_columns() % block != 0)
    return fmt::format("{0}x{0} blocks do not divide the matrix", block);
  const int64_t blocks = num_blocks(input, block);
  const double fill = static_cast<double>(blocks * block * block) / static_cast<double>(input.num_nonzeros());
  if (fill >= kMaxBlockFill) return fmt::format("{0}x{0} blocks store {1:.1f} values a nonzero", block, fill);
  return std::nullopt;
}

Peer peer(const std::string& name, const std::string& note, bool hint, int block) {
  return {name, "mkl", note, [block](const PeerInput& input) { return refusal(input, block); },
          [hint, block](const PeerInput& input) { return std::make_unique<MklRun>(input, hint, block); }};
}

std::string version() {
  MKLVersion version;
  mkl_get_version(&version);
  return fmt::format("{} update {}", version.MajorVersion, version.UpdateVersion);
}

/// MKL chooses its code by the vendor's name.
std::string remark() {
  const std::string cpu = describe_machine().cpu_model;
  return cpu.find("AMD") == std::string::npos
             ? ""
             : "on AMD processors MKL takes its generic path, not the one for their vector units";
}

}  // namespace

Library mkl_library() {
  Library library{"mkl", "Intel MKL, inspector-executor", version(), remark(), {}};
  library.peers.push_back(peer("mkl_csr", "CSR, no hint", false, 0));
  library.peers.push_back(peer("mkl_csr_hint", "CSR, hints and mkl_sparse_optimize", true, 0));
  for (const int block : {2, 3, 4})
    library.peers.push_back(peer(fmt::format("mkl_bsr{}", block),
                                 fmt::format("BSR of {0}x{0} blocks, hints", block), true, block));
  return library;
}

}  // namespace waco::bench
