// The calls of Eigen alone, in a file of their own: it may be compiled for the build machine's processor, and
// whatever else were compiled with it could run on others, where the linker finds the same function twice.
#pragma once

#include <array>
#include <cstdint>

namespace waco::bench {

/// CSR arrays as Eigen maps them, and dense operands of `rhs` columns, row-major; 0: vectors.
template <class T>
struct EigenOperands {
  int64_t rows, columns, nonzeros, rhs;
  const int32_t *row_begin, *column_of;
  const T *values, *b;
  T* c;
};

/// C = A * B, on the threads of use_eigen_threads.
template <class T>
void eigen_product(const EigenOperands<T>& operands);

void use_eigen_threads(int threads);
std::array<int, 3> eigen_version();
/// Whether this was compiled with -march=native.
bool eigen_is_native();

}  // namespace waco::bench
