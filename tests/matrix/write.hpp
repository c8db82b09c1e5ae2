// Writing tensors as text files, to be read again.
#pragma once

#include <charconv>
#include <filesystem>
#include <string>

#include "waco/base/error.hpp"
#include "waco/base/file_replacement.hpp"
#include "waco/matrix/sparse_tensor.hpp"

namespace waco::matrix {

template <typename Number>
void append_number(std::string& text, Number number, char separator) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  text.append(digits, end);
  text.push_back(separator);
}

inline int64_t count_lower(const SparseTensor& tensor) {
  int64_t count = 0;
  for (size_t i = 0; i < tensor.values.size(); ++i) count += tensor.coords[0][i] >= tensor.coords[1][i];
  return count;
}

struct WriteOptions {
  bool symmetric = false;  ///< write the lower triangle only; the matrix must be symmetric
  bool pattern = false;    ///< leave out the values
};

/// Writes a matrix in the Matrix Market coordinate format. Reading gives the same doubles.
inline void write_matrix_market(const SparseTensor& tensor, const std::filesystem::path& path,
                                const WriteOptions& options = {}) {
  WACO_ASSERT(tensor.order() == 2);
  std::string text =
      fmt::format("%%MatrixMarket matrix coordinate {} {}\n", options.pattern ? "pattern" : "real",
                  options.symmetric ? "symmetric" : "general");
  append_number(text, tensor.dims[0], ' ');
  append_number(text, tensor.dims[1], ' ');
  append_number(text, options.symmetric ? count_lower(tensor) : tensor.num_nonzeros(), '\n');
  for (size_t i = 0; i < tensor.values.size(); ++i) {
    const int64_t row = tensor.coords[0][i];
    const int64_t col = tensor.coords[1][i];
    if (options.symmetric && row < col) continue;
    append_number(text, row + 1, ' ');
    append_number(text, col + 1, options.pattern ? '\n' : ' ');
    if (!options.pattern) append_number(text, tensor.values[i], '\n');
  }
  write_file_atomically(path, text);
}

/// Writes a tensor or matrix in the FROSTT format (.tns), of which dimensions beyond the largest coordinates
/// are no part.
inline void write_frostt(const SparseTensor& tensor, const std::filesystem::path& path) {
  std::string text;
  for (size_t i = 0; i < tensor.values.size(); ++i) {
    for (const auto& column : tensor.coords) append_number(text, column[i] + 1, ' ');
    append_number(text, tensor.values[i], '\n');
  }
  write_file_atomically(path, text);
}

}  // namespace waco::matrix
