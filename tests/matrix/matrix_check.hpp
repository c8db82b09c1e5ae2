// Small tensors as text that a test can spell out.
#pragma once

#include <fmt/format.h>

#include <string>

#include "waco/matrix/reshape.hpp"
#include "waco/matrix/sparse_tensor.hpp"

namespace waco::matrix {

/// "2x3: (0,1)=5 (1,0)=2.5": coordinates from 0, values in the shortest form that is exact.
inline std::string to_string(const SparseTensor& tensor) {
  std::string text;
  for (const int64_t dim : tensor.dims) text += (text.empty() ? "" : "x") + std::to_string(dim);
  text += ":";
  for (size_t i = 0; i < tensor.values.size(); ++i) {
    std::string index;
    for (const auto& column : tensor.coords) index += (index.empty() ? "" : ",") + std::to_string(column[i]);
    text += fmt::format(" ({})={}", index, tensor.values[i]);
  }
  return text;
}

/// Whether coordinates are sorted, distinct and within the dimensions, and all arrays of one length.
inline bool is_valid(const SparseTensor& tensor) {
  if (tensor.coords.size() != tensor.dims.size()) return false;
  for (const auto& column : tensor.coords) {
    if (column.size() != tensor.values.size()) return false;
  }
  for (size_t i = 0; i < tensor.values.size(); ++i) {
    bool after = i == 0;
    for (size_t mode = 0; mode < tensor.dims.size(); ++mode) {
      const int64_t coord = tensor.coords[mode][i];
      if (coord < 0 || coord >= tensor.dims[mode]) return false;
      if (after) continue;
      if (coord < tensor.coords[mode][i - 1]) return false;
      after = coord > tensor.coords[mode][i - 1];
    }
    if (!after) return false;
  }
  return true;
}

inline bool is_symmetric(const SparseTensor& tensor) {
  const SparseTensor other = reshape(tensor, parse_step("transpose"));
  return other.coords == tensor.coords && other.values == tensor.values;
}

}  // namespace waco::matrix
