// Writing tensors as text files that anybody can read.
#include "waco/matrix/write.hpp"

#include <charconv>
#include <string>

#include "waco/base/error.hpp"
#include "waco/base/files.hpp"

namespace waco::matrix {
namespace {

template <typename Number>
void append_number(std::string& text, Number number, char separator) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  text.append(digits, end);
  text.push_back(separator);
}

int64_t count_lower(const SparseTensor& tensor) {
  int64_t count = 0;
  for (size_t i = 0; i < tensor.values.size(); ++i) count += tensor.coords[0][i] >= tensor.coords[1][i];
  return count;
}

}  // namespace

void write_matrix_market(const SparseTensor& tensor, const std::filesystem::path& path,
                         const WriteOptions& options) {
  if (tensor.order() != 2) throw UsageError("only matrices can be written as .mtx, not tensors of order 3");
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

void write_frostt(const SparseTensor& tensor, const std::filesystem::path& path) {
  std::string text;
  for (size_t i = 0; i < tensor.values.size(); ++i) {
    for (const auto& column : tensor.coords) append_number(text, column[i] + 1, ' ');
    append_number(text, tensor.values[i], '\n');
  }
  write_file_atomically(path, text);
}

}  // namespace waco::matrix
