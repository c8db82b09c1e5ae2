// OpenBLAS on the dense form of small matrices: what storing every zero would give.
#include <dlfcn.h>

#include "apps/bench/peers/dense_form.hpp"
#include "apps/bench/peers/libraries.hpp"
#include "waco/base/error.hpp"

namespace waco::bench {
namespace {

constexpr int kRowMajor = 101, kNoTranspose = 111;  // of the C interface of BLAS
constexpr int kSerial = 0, kPthreads = 1;           // answers of openblas_get_parallel

using Sgemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int, float,
                       float*, int);
using Dgemm = void (*)(int, int, int, int, int, int, double, const double*, int, const double*, int, double,
                       double*, int);
using Sgemv = void (*)(int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
using Dgemv = void (*)(int, int, int, int, double, const double*, int, const double*, int, double, double*,
                       int);

/// The library, loaded apart from all others: MKL defines the same names, and the first would win.
struct OpenBlas {
  void* handle = nullptr;
  Sgemm sgemm = nullptr;
  Dgemm dgemm = nullptr;
  Sgemv sgemv = nullptr;
  Dgemv dgemv = nullptr;
  void (*set_num_threads)(int) = nullptr;
  int parallel = -1;
  std::string config;

  bool complete() const {
    return sgemm != nullptr && dgemm != nullptr && sgemv != nullptr && dgemv != nullptr &&
           set_num_threads != nullptr;
  }
};

template <class F>
void look_up(void* handle, const char* name, F& function) {
  function = reinterpret_cast<F>(::dlsym(handle, name));
}

const OpenBlas& open_blas() {
  static const OpenBlas blas = [] {
    OpenBlas b;
#if !defined(__SANITIZE_ADDRESS__)  // which does not work with libraries bound to themselves
    b.handle = ::dlopen(WACO_OPENBLAS_LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
#endif
    if (b.handle == nullptr) return b;
    look_up(b.handle, "cblas_sgemm", b.sgemm);
    look_up(b.handle, "cblas_dgemm", b.dgemm);
    look_up(b.handle, "cblas_sgemv", b.sgemv);
    look_up(b.handle, "cblas_dgemv", b.dgemv);
    look_up(b.handle, "openblas_set_num_threads", b.set_num_threads);
    int (*parallel)() = nullptr;
    const char* (*config)() = nullptr;
    look_up(b.handle, "openblas_get_parallel", parallel);
    look_up(b.handle, "openblas_get_config", config);
    if (parallel != nullptr) b.parallel = parallel();
    if (config != nullptr) b.config = config();
    return b;
  }();
  return blas;
}

class OpenBlasRun : public PreparedPeer {
 public:
  explicit OpenBlasRun(const PeerInput& input) : input_(input), dense_(dense_form(input)) {
    open_blas().set_num_threads(input.threads);
  }

  void run(void* out) override {
    const OpenBlas& blas = open_blas();
    if (input_.f64())
      multiply(blas.dgemm, blas.dgemv, static_cast<double*>(out));
    else
      multiply(blas.sgemm, blas.sgemv, static_cast<float*>(out));
  }
  int64_t stored_bytes() const override { return input_.dense_form_bytes(); }

 private:
  template <class Gemm, class Gemv, class T>
  void multiply(Gemm gemm, Gemv gemv, T* out) {
    const auto rows = static_cast<int>(input_.num_rows());
    const auto columns = static_cast<int>(input_.num_columns());
    const auto width = static_cast<int>(input_.problem.rhs);
    const auto* b = static_cast<const T*>(input_.dense[0]);
    if (input_.problem.op == schedule::Op::kSpmv)
      gemv(kRowMajor, kNoTranspose, rows, columns, 1, dense_.as<T>(), columns, b, 1, 0, out, 1);
    else
      gemm(kRowMajor, kNoTranspose, kNoTranspose, rows, width, columns, 1, dense_.as<T>(), columns, b, width,
           0, out, width);
  }

  PeerInput input_;
  Buffer dense_;
};

std::optional<std::string> refusal(const PeerInput& input) {
  const schedule::Op op = input.problem.op;
  if (op != schedule::Op::kSpmv && op != schedule::Op::kSpmm)
    return fmt::format("BLAS has no {}", schedule::name(op));
  if (input.threads > 1 && open_blas().parallel == kSerial)
    return "is the build without threads; install libopenblas-openmp-dev";
  return refuse_large_dense_form(input);
}

}  // namespace

Library openblas_library() {
  Library library{"openblas", "OpenBLAS on the dense form", "", "", {}};
  const OpenBlas& blas = open_blas();
  if (!blas.complete()) {
    library.remark = fmt::format("{} can't be loaded", WACO_OPENBLAS_LIBRARY);
    return library;
  }
  if (blas.parallel == kPthreads) {
    library.remark = "is the build with threads of its own; install libopenblas-openmp-dev";
    return library;
  }
  library.version = blas.config.empty() ? "unknown" : blas.config;
  library.remark = fmt::format("only where the dense form takes at most {} MB", kMaxDenseFormBytes >> 20);
  library.peers.push_back({"openblas", "openblas", "gemm or gemv on the dense form", refusal,
                           [](const PeerInput& input) { return std::make_unique<OpenBlasRun>(input); }});
  return library;
}

}  // namespace waco::bench
