// LIBXSMM's sparse times dense product (spmdm), which takes the dense form of a small matrix and slices it.
// Its other sparse path compiles the nonzeros into code and is made for tiny operators.
#include <libxsmm.h>

#include "apps/bench/peers/dense_form.hpp"
#include "apps/bench/peers/libraries.hpp"
#include "waco/base/error.hpp"

namespace waco::bench {
namespace {

class LibxsmmRun : public PreparedPeer {
 public:
  explicit LibxsmmRun(const PeerInput& input) : input_(input) {
    const Buffer dense = dense_form(input);
    libxsmm_init();
    libxsmm_spmdm_init(static_cast<int>(input.num_rows()), static_cast<int>(input.problem.rhs),
                       static_cast<int>(input.num_columns()), input.threads, &handle_, &slices_);
    const int blocks = libxsmm_spmdm_get_num_createSparseSlice_blocks(&handle_);
    const int threads = input.threads;
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int thread = 0; thread < threads; ++thread)
      for (int block = thread; block < blocks; block += threads)
        libxsmm_spmdm_createSparseSlice_fp32_thread(&handle_, 'N', dense.as<float>(), slices_, block, thread,
                                                    threads);
  }
  ~LibxsmmRun() override {
    libxsmm_spmdm_destroy(&handle_);
  }
  LibxsmmRun(const LibxsmmRun&) = delete;
  LibxsmmRun& operator=(const LibxsmmRun&) = delete;

  void run(void* out) override {
    const int blocks = libxsmm_spmdm_get_num_compute_blocks(&handle_);
    const int threads = input_.threads;
    const float one = 1, zero = 0;
    const auto* b = static_cast<const float*>(input_.dense[0]);
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int thread = 0; thread < threads; ++thread)
      for (int block = thread; block < blocks; block += threads)
        libxsmm_spmdm_compute_fp32_thread(&handle_, 'N', 'N', &one, slices_, b, 'N', &zero,
                                          static_cast<float*>(out), block, thread, threads);
  }

  /// 16-bit row and column indices inside every slice.
  int64_t stored_bytes() const override {
    const int64_t slices = int64_t{handle_.mb} * handle_.kb;
    return input_.num_nonzeros() * 6 + slices * (handle_.bm + 1) * 2;
  }

 private:
  PeerInput input_;
  libxsmm_spmdm_handle handle_{};
  libxsmm_CSR_sparseslice* slices_ = nullptr;
};

std::optional<std::string> refusal(const PeerInput& input) {
  if (input.problem.op != schedule::Op::kSpmm) return "LIBXSMM's sparse product is spmm";
  if (input.f64()) return "LIBXSMM's sparse product is f32 only";
  return refuse_large_dense_form(input);
}

}  // namespace

Library libxsmm_library() {
  return {"libxsmm",
          "LIBXSMM spmdm",
          LIBXSMM_VERSION,
          fmt::format("only spmm f32 where the dense form takes at most {} MB", kMaxDenseFormBytes >> 20),
          {{"libxsmm", "libxsmm", "spmdm: sliced from the dense form", refusal,
            [](const PeerInput& input) { return std::make_unique<LibxsmmRun>(input); }}}};
}

}  // namespace waco::bench
