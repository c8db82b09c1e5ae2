// SuiteSparse:GraphBLAS. Products accumulate into a full, zeroed result, which is its fast path; sddmm is a
// masked product by dots, then an element-wise multiplication by A.
extern "C" {
#include <GraphBLAS.h>
}

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "apps/bench/peers/first_touch.hpp"
#include "apps/bench/peers/libraries.hpp"
#include "waco/base/error.hpp"

namespace waco::bench {
namespace {

void check(GrB_Info info, const char* what) {
  if (info != GrB_SUCCESS)
    throw EnvironmentError(fmt::format("{} failed with status {}", what, static_cast<int>(info)));
}

/// Starts the library once; it is left running until the program ends.
void start(int threads) {
  static const GrB_Info started = GrB_init(GrB_BLOCKING);
  check(started, "GrB_init");
  check(GxB_Global_Option_set_INT32(GxB_GLOBAL_NTHREADS, threads), "GxB_Global_Option_set");
}

struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};

/// Memory as the library takes it over.
template <class T>
std::unique_ptr<T, FreeMemory> allocate(int64_t count) {
  auto* memory = static_cast<T*>(std::malloc(static_cast<size_t>(std::max<int64_t>(count, 1)) * sizeof(T)));
  if (memory == nullptr) throw std::bad_alloc();
  return std::unique_ptr<T, FreeMemory>(memory);
}

/// The caller's dense array as a full matrix by rows, or as a vector, without a copy.
class FullArray {
 public:
  /// `columns` 0: a vector.
  FullArray(GrB_Type type, int64_t rows, int64_t columns, int64_t value_bytes)
      : bytes_(static_cast<GrB_Index>(rows * std::max<int64_t>(columns, 1) * value_bytes)) {
    if (columns == 0) {
      check(GrB_Vector_new(&vector, type, static_cast<GrB_Index>(rows)), "GrB_Vector_new");
    } else {
      check(GrB_Matrix_new(&matrix, type, static_cast<GrB_Index>(rows), static_cast<GrB_Index>(columns)),
            "GrB_Matrix_new");
      check(GxB_Matrix_Option_set_INT32(matrix, GxB_FORMAT, GxB_BY_ROW), "GxB_Matrix_Option_set");
    }
  }
  ~FullArray() {
    if (lent_) give_back();  // or the library would free what it does not own
    if (vector != nullptr) GrB_Vector_free(&vector);
    if (matrix != nullptr) GrB_Matrix_free(&matrix);
  }
  FullArray(const FullArray&) = delete;
  FullArray& operator=(const FullArray&) = delete;

  void lend(void* array) {
    check(vector != nullptr ? GxB_Vector_pack_Full(vector, &array, bytes_, false, nullptr)
                            : GxB_Matrix_pack_FullR(matrix, &array, bytes_, false, nullptr),
          "packing a full array");
    lent_ = true;
  }
  /// The array that was lent; null when the library has put another in its place.
  void* give_back() {
    void* array = nullptr;
    GrB_Index bytes = 0;
    bool iso = false;
    const GrB_Info info = vector != nullptr ? GxB_Vector_unpack_Full(vector, &array, &bytes, &iso, nullptr)
                                            : GxB_Matrix_unpack_FullR(matrix, &array, &bytes, &iso, nullptr);
    lent_ = false;
    return info == GrB_SUCCESS && !iso ? array : nullptr;
  }

  GrB_Vector vector = nullptr;
  GrB_Matrix matrix = nullptr;

 private:
  GrB_Index bytes_;
  bool lent_ = false;
};

/// What the library makes of the sparse operand and for sddmm, freed with its owner.
class Objects {
 public:
  Objects() = default;
  ~Objects() {
    if (by_dots != nullptr) GrB_Descriptor_free(&by_dots);
    if (d != nullptr) GrB_Matrix_free(&d);
    if (a != nullptr) GrB_Matrix_free(&a);
  }
  Objects(const Objects&) = delete;
  Objects& operator=(const Objects&) = delete;
  GrB_Matrix a = nullptr;
  GrB_Matrix d = nullptr;  ///< result of sddmm
  GrB_Descriptor by_dots = nullptr;
};

class GraphblasRun : public PreparedPeer {
 public:
  explicit GraphblasRun(const PeerInput& input) : input_(input) {
    start(input.threads);
    type_ = input.f64() ? GrB_FP64 : GrB_FP32;
    semiring_ = input.f64() ? GrB_PLUS_TIMES_SEMIRING_FP64 : GrB_PLUS_TIMES_SEMIRING_FP32;
    plus_ = input.f64() ? GrB_PLUS_FP64 : GrB_PLUS_FP32;
    times_ = input.f64() ? GrB_TIMES_FP64 : GrB_TIMES_FP32;
    make_sparse();
    const bool spmv = input.problem.op == schedule::Op::kSpmv;
    const int64_t width = spmv ? 0 : input.problem.rhs;
    const int64_t value_bytes = schedule::value_bytes(input.problem.type);
    if (input.problem.op == schedule::Op::kSddmm) {
      b_ = std::make_unique<FullArray>(type_, input.num_rows(), width, value_bytes);
      c_ = std::make_unique<FullArray>(type_, input.num_columns(), width, value_bytes);
      c_->lend(const_cast<void*>(input.dense[1]));
      check(GrB_Matrix_new(&own_.d, type_, rows(), columns()), "GrB_Matrix_new");
      check(GrB_Descriptor_new(&own_.by_dots), "GrB_Descriptor_new");
      check(GrB_Descriptor_set(own_.by_dots, GrB_MASK, GrB_STRUCTURE), "GrB_Descriptor_set");
      check(GrB_Descriptor_set(own_.by_dots, GrB_OUTP, GrB_REPLACE), "GrB_Descriptor_set");
      check(GrB_Descriptor_set(own_.by_dots, GrB_INP1, GrB_TRAN), "GrB_Descriptor_set");
      check(GrB_Descriptor_set(own_.by_dots, GxB_AxB_METHOD, GxB_AxB_DOT), "GrB_Descriptor_set");
    } else {
      b_ = std::make_unique<FullArray>(type_, input.num_columns(), width, value_bytes);
      c_ = std::make_unique<FullArray>(type_, input.num_rows(), width, value_bytes);
    }
    b_->lend(const_cast<void*>(input.dense[0]));
  }

  void run(void* out) override {
    if (input_.problem.op == schedule::Op::kSddmm) return sddmm();
    zero(out);
    c_->lend(out);
    const GrB_Info info = c_->vector != nullptr
                              ? GrB_mxv(c_->vector, nullptr, plus_, semiring_, own_.a, b_->vector, nullptr)
                              : GrB_mxm(c_->matrix, nullptr, plus_, semiring_, own_.a, b_->matrix, nullptr);
    const void* back = c_->give_back();
    check(info, "GrB_mxv or GrB_mxm");
    if (back != out) throw EnvironmentError("GraphBLAS did not work in place");
  }

  void finish(void* out) override {
    if (input_.problem.op != schedule::Op::kSddmm) return;
    auto count = static_cast<GrB_Index>(input_.num_nonzeros());
    check(GrB_Matrix_wait(own_.d, GrB_MATERIALIZE), "GrB_Matrix_wait");
    check(input_.f64()
              ? GrB_Matrix_extractTuples_FP64(nullptr, nullptr, static_cast<double*>(out), &count, own_.d)
              : GrB_Matrix_extractTuples_FP32(nullptr, nullptr, static_cast<float*>(out), &count, own_.d),
          "GrB_Matrix_extractTuples");
  }

  int64_t stored_bytes() const override { return input_.csr_bytes(sizeof(GrB_Index)); }

 private:
  GrB_Index rows() const { return static_cast<GrB_Index>(input_.num_rows()); }
  GrB_Index columns() const { return static_cast<GrB_Index>(input_.num_columns()); }

  /// CSR with the 64-bit indices of this library.
  void make_sparse() {
    const int64_t count = input_.num_nonzeros();
    const int64_t value_bytes = schedule::value_bytes(input_.problem.type);
    auto row_begin = allocate<GrB_Index>(input_.num_rows() + 1);
    auto column = allocate<GrB_Index>(count);
    auto bytes = allocate<char>(count * value_bytes);
    copy_by_threads(input_.row_begin, input_.num_rows() + 1, row_begin.get(), input_.threads);
    copy_by_threads(input_.columns, count, column.get(), input_.threads);
    copy_by_threads(static_cast<const char*>(input_.values), count * value_bytes, bytes.get(),
                    input_.threads);
    check(GrB_Matrix_new(&own_.a, type_, rows(), columns()), "GrB_Matrix_new");
    // Taken over, or still ours where that failed.
    GrB_Index *rows_taken = row_begin.get(), *columns_taken = column.get();
    void* values_taken = bytes.get();
    check(GxB_Matrix_pack_CSR(own_.a, &rows_taken, &columns_taken, &values_taken,
                              (rows() + 1) * sizeof(GrB_Index),
                              static_cast<GrB_Index>(count) * sizeof(GrB_Index),
                              static_cast<GrB_Index>(count * value_bytes), false, false, nullptr),
          "GxB_Matrix_pack_CSR");
    row_begin.release();
    column.release();
    bytes.release();
  }

  void sddmm() {
    check(GrB_mxm(own_.d, own_.a, nullptr, semiring_, b_->matrix, c_->matrix, own_.by_dots), "GrB_mxm");
    check(GrB_Matrix_eWiseMult_BinaryOp(own_.d, nullptr, nullptr, times_, own_.d, own_.a, nullptr),
          "GrB_eWiseMult");
  }

  void zero(void* out) const {
    const int64_t bytes = input_.num_rows() * input_.problem.rhs * schedule::value_bytes(input_.problem.type);
    const int64_t piece = std::max<int64_t>((bytes / input_.threads + 63) / 64 * 64, 64);
    const int64_t pieces = (bytes + piece - 1) / piece;
#pragma omp parallel for schedule(static) num_threads(input_.threads)
    for (int64_t n = 0; n < pieces; ++n)
      std::memset(static_cast<char*>(out) + n * piece, 0,
                  static_cast<size_t>(std::min(piece, bytes - n * piece)));
  }

  PeerInput input_;
  GrB_Type type_ = nullptr;
  GrB_Semiring semiring_ = nullptr;
  GrB_BinaryOp plus_ = nullptr;
  GrB_BinaryOp times_ = nullptr;
  Objects own_;
  std::unique_ptr<FullArray> b_, c_;
};

std::optional<std::string> refusal(const PeerInput& input) {
  if (input.problem.op == schedule::Op::kMttkrp) return "GraphBLAS has no tensors";
  if (input.num_nonzeros() == 0) return "GraphBLAS is not given empty matrices";
  return std::nullopt;
}

}  // namespace

Library graphblas_library() {
  const std::string version =
      fmt::format("{}.{}.{}", GxB_IMPLEMENTATION_MAJOR, GxB_IMPLEMENTATION_MINOR, GxB_IMPLEMENTATION_SUB);
  return {"graphblas",
          "SuiteSparse:GraphBLAS",
          version,
          "accumulates into a full, zeroed result; 64-bit indices; Debian's build is for generic x86-64",
          {{"graphblas", "graphblas", "mxm, in sddmm masked by A", refusal,
            [](const PeerInput& input) { return std::make_unique<GraphblasRun>(input); }}}};
}

}  // namespace waco::bench
