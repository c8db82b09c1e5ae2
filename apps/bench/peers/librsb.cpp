// librsb: recursive sparse blocks, with its autotuner run on the real operands for a limited time.
#include <rsb.h>

#include <array>

#include "apps/bench/peers/libraries.hpp"
#include "waco/base/error.hpp"

namespace waco::bench {
namespace {

constexpr double kTuningLimit_s = 5;

void check(rsb_err_t error, const char* what) {
  if (error == RSB_ERR_NO_ERROR) return;
  std::array<char, 256> text{};
  rsb_strerror_r(error, text.data(), text.size());
  throw EnvironmentError(fmt::format("{} failed: {}", what, text.data()));
}

/// Of all calls from now on, whatever the matrix.
void use_threads(rsb_int_t threads) {
  check(rsb_lib_set_opt(RSB_IO_WANT_EXECUTING_THREADS, &threads), "rsb_lib_set_opt");
}

/// Starts the library once; it is left running until the program ends.
void start(int threads) {
  static const rsb_err_t started = rsb_lib_init(RSB_NULL_INIT_OPTIONS);
  check(started, "rsb_lib_init");
  use_threads(threads);
}

/// A librsb matrix, freed with its owner.
class Handle {
 public:
  Handle() = default;
  ~Handle() {
    if (matrix != nullptr) rsb_mtx_free(matrix);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  rsb_mtx_t* matrix = nullptr;
};

class LibrsbRun : public PreparedPeer {
 public:
  explicit LibrsbRun(const PeerInput& input) : input_(input) {
    start(input.threads);
    const rsb_type_t type = input.f64() ? RSB_NUMERICAL_TYPE_DOUBLE : RSB_NUMERICAL_TYPE_FLOAT;
    rsb_err_t error = RSB_ERR_NO_ERROR;
    matrix_.matrix = rsb_mtx_alloc_from_csr_const(
        input.values, input.row_begin, input.columns, static_cast<rsb_nnz_idx_t>(input.num_nonzeros()), type,
        static_cast<rsb_coo_idx_t>(input.num_rows()), static_cast<rsb_coo_idx_t>(input.num_columns()), 1, 1,
        RSB_FLAG_NOFLAGS, &error);
    check(error, "rsb_mtx_alloc_from_csr_const");
    const auto width = static_cast<rsb_coo_idx_t>(input.problem.rhs);
    rsb_int_t threads = -1;  // to be tried out, up to those that execute
    // Zero rounds: as many as the time allows.
    check(rsb_tune_spmm(&matrix_.matrix, nullptr, &threads, 0, kTuningLimit_s, RSB_TRANSPOSITION_N, one(),
                        nullptr, width, RSB_FLAG_WANT_ROW_MAJOR_ORDER, input.dense[0], width, zero(),
                        input.out, width),
          "rsb_tune_spmm");
    // The tuner tells on how many threads its choice is fastest, and leaves it to the caller to use them.
    if (threads > 0 && threads < input.threads) use_threads(threads);
  }

  void run(void* out) override {
    const auto width = static_cast<rsb_coo_idx_t>(input_.problem.rhs);
    const rsb_err_t error =
        input_.problem.op == schedule::Op::kSpmv
            ? rsb_spmv(RSB_TRANSPOSITION_N, one(), matrix_.matrix, input_.dense[0], 1, zero(), out, 1)
            : rsb_spmm(RSB_TRANSPOSITION_N, one(), matrix_.matrix, width, RSB_FLAG_WANT_ROW_MAJOR_ORDER,
                       input_.dense[0], width, zero(), out, width);
    if (error != RSB_ERR_NO_ERROR) check(error, "rsb_spmv or rsb_spmm");
  }

  int64_t stored_bytes() const override {
    size_t bytes = 0;
    const rsb_err_t error = rsb_mtx_get_info(matrix_.matrix, RSB_MIF_TOTAL_SIZE__TO__SIZE_T, &bytes);
    return error == RSB_ERR_NO_ERROR ? static_cast<int64_t>(bytes) : input_.csr_bytes(sizeof(int32_t));
  }

 private:
  const void* one() const { return input_.f64() ? static_cast<const void*>(&kOne64) : &kOne32; }
  const void* zero() const { return input_.f64() ? static_cast<const void*>(&kZero64) : &kZero32; }

  static constexpr double kOne64 = 1, kZero64 = 0;
  static constexpr float kOne32 = 1, kZero32 = 0;
  PeerInput input_;
  Handle matrix_;
};

std::optional<std::string> refusal(const PeerInput& input) {
  return refuse_all_but_spmv_and_spmm(input, "librsb");
}

/// 10300 is 1.3.0.
std::string version() {
  return fmt::format("{}.{}.{}", RSB_LIBRSB_VER / 10000, RSB_LIBRSB_VER / 100 % 100, RSB_LIBRSB_VER % 100);
}

}  // namespace

Library librsb_library() {
  return {"librsb",
          "librsb",
          version(),
          fmt::format("tuned by rsb_tune_spmm for at most about {:.0f} s", kTuningLimit_s),
          {{"librsb", "librsb", "autotuned recursive sparse blocks", refusal,
            [](const PeerInput& input) { return std::make_unique<LibrsbRun>(input); }}}};
}

}  // namespace waco::bench
