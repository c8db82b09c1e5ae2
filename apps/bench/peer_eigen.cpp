// Eigen: a mapped row-major sparse matrix times a dense vector or row-major matrix, on OpenMP threads.
#include <fmt/format.h>

#include <Eigen/Core>
#include <Eigen/SparseCore>

#include "apps/bench/libraries.hpp"

namespace waco::bench {
namespace {

#ifdef WACO_NATIVE_EIGEN
constexpr const char* kRemark = "compiled with -O3 -march=native and OpenMP";
#else
constexpr const char* kRemark = "compiled with -O3 and OpenMP, without -march=native";
#endif

template <class T>
class EigenRun : public PreparedPeer {
 public:
  explicit EigenRun(const PeerInput& input)
      : input_(input),
        matrix_(input.num_rows(), input.num_columns(), input.num_nonzeros(), input.row_begin, input.columns,
                static_cast<const T*>(input.values)) {
    Eigen::setNbThreads(input.threads);
  }

  void run(void* out) override {
    const auto* b = static_cast<const T*>(input_.dense[0]);
    auto* c = static_cast<T*>(out);
    if (input_.problem.op == schedule::Op::kSpmv) {
      Eigen::Map<const Vector> x(b, input_.num_columns());
      Eigen::Map<Vector>(c, input_.num_rows()).noalias() = matrix_ * x;
    } else {
      Eigen::Map<const Dense> x(b, input_.num_columns(), input_.problem.rhs);
      Eigen::Map<Dense>(c, input_.num_rows(), input_.problem.rhs).noalias() = matrix_ * x;
    }
  }
  int64_t stored_bytes() const override { return input_.csr_bytes(sizeof(int32_t)); }

 private:
  using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;
  using Dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

  PeerInput input_;
  Eigen::Map<const Eigen::SparseMatrix<T, Eigen::RowMajor, int32_t>> matrix_;
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
  const std::string version =
      fmt::format("{}.{}.{}", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION);
  return {"eigen",
          "Eigen",
          version,
          kRemark,
          {{"eigen", "eigen", "row-major sparse times dense", refusal, prepare}}};
}

}  // namespace waco::bench
