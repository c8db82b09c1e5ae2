// A mapped row-major sparse matrix times a dense vector or row-major matrix, on OpenMP threads.
#include "apps/bench/peers/eigen_product.hpp"

#include <Eigen/Core>
#include <Eigen/SparseCore>

namespace waco::bench {

template <class T>
void eigen_product(const EigenOperands<T>& operands) {
  using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;
  using Dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto& [rows, columns, nonzeros, rhs, row_begin, column_of, values, b, c] = operands;
  const Eigen::Map<const Eigen::SparseMatrix<T, Eigen::RowMajor, int32_t>> a(rows, columns, nonzeros,
                                                                             row_begin, column_of, values);
  if (rhs == 0)
    Eigen::Map<Vector>(c, rows).noalias() = a * Eigen::Map<const Vector>(b, columns);
  else
    Eigen::Map<Dense>(c, rows, rhs).noalias() = a * Eigen::Map<const Dense>(b, columns, rhs);
}

template void eigen_product(const EigenOperands<float>& operands);
template void eigen_product(const EigenOperands<double>& operands);

void use_eigen_threads(int threads) {
  Eigen::setNbThreads(threads);
}

std::array<int, 3> eigen_version() {
  return {EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION};
}

bool eigen_is_native() {
#ifdef WACO_NATIVE_EIGEN
  return true;
#else
  return false;
#endif
}

}  // namespace waco::bench
