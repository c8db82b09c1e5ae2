// Writing tensors as text files that anybody can read.
#pragma once

#include <filesystem>

#include "waco/matrix/sparse_tensor.hpp"

namespace waco::matrix {

struct WriteOptions {
  bool symmetric = false;  ///< write the lower triangle only; the matrix must be symmetric
  bool pattern = false;    ///< leave out the values
};

/// Writes a matrix of order 2 (UsageError otherwise) in the Matrix Market coordinate format, in one step:
/// `path` holds all of it or what it held before. Reading gives the same doubles. Throws EnvironmentError.
void write_matrix_market(const SparseTensor& tensor, const std::filesystem::path& path,
                         const WriteOptions& options = {});

/// Writes a tensor or matrix in the FROSTT format (.tns) in one step. Dimensions beyond the largest
/// coordinates are not part of the format. Throws EnvironmentError.
void write_frostt(const SparseTensor& tensor, const std::filesystem::path& path);

}  // namespace waco::matrix
