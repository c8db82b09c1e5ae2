// Eigen: a mapped row-major sparse matrix times a dense vector or row-major matrix, on OpenMP threads.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/bench/peers/eigen_product.hpp"
#include "apps/bench/peers/libraries.hpp"

namespace waco::bench {
namespace {

template <class T>
class EigenRun : public PreparedPeer {
 public:
  explicit EigenRun(const PeerInput& input) : input_(input) { use_eigen_threads(input.threads); }

  void run(void* out) override {
    const int64_t rhs = input_.problem.op == schedule::Op::kSpmv ? 0 : input_.problem.rhs;
    eigen_product<T>({input_.num_rows(), input_.num_columns(), input_.num_nonzeros(), rhs, input_.row_begin,
                      input_.columns, static_cast<const T*>(input_.values),
                      static_cast<const T*>(input_.dense[0]), static_cast<T*>(out)});
  }
  int64_t stored_bytes() const override { return input_.csr_bytes(sizeof(int32_t)); }

 private:
  PeerInput input_;
};

std::optional<std::string> refusal(const PeerInput& input) {
  const schedule::Op op = input.problem.op;
  if (op == schedule::Op::kSpmv || (op == schedule::Op::kSpmm && input.problem.rhs > 1)) return std::nullopt;
  if (op == schedule::Op::kSpmm) return "Eigen has no row-major matrix of one column";
  return fmt::format("Eigen has no {}", schedule::name(op));
}

std::unique_ptr<PreparedPeer> prepare(const PeerInput& input) {
  if (input.f64()) return std::make_unique<EigenRun<double>>(input);
  return std::make_unique<EigenRun<float>>(input);
}

}  // namespace

Library eigen_library() {
  return {"eigen",
          "Eigen",
          fmt::format("{}", fmt::join(eigen_version(), ".")),
          eigen_is_native() ? "compiled with -O3 -march=native and OpenMP"
                            : "compiled with -O3 and OpenMP, without -march=native",
          {{"eigen", "eigen", "row-major sparse times dense", refusal, prepare}}};
}

}  // namespace waco::bench
