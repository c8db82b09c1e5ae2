// Where the tensors of a safetensors file stand: length, JSON header, data.
#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace waco::model {

static_assert(std::endian::native == std::endian::little, "safetensors are little-endian");

/// A tensor in the content of a file.
struct TensorPlace {
  std::vector<int64_t> shape;
  std::string_view bytes;  ///< product(shape) little-endian floats, row-major; not aligned to anything
};

using TensorLayout = std::map<std::string, TensorPlace, std::less<>>;

/// The tensors of a file's content, all within it. Throws InputError, naming `source`, when it is not in the
/// layout, is truncated, or holds other types than F32.
TensorLayout tensor_layout(const std::string& source, std::string_view content);

/// Throws InputError that names the tensor and both shapes; -1 in `expected` stands for any size.
void check_shape(const std::string& source, std::string_view name, const std::vector<int64_t>& shape,
                 const std::vector<int64_t>& expected);
/// The error for a tensor that a file lacks.
[[noreturn]] void fail_missing(const std::string& source, std::string_view name,
                               const std::vector<int64_t>& expected);

}  // namespace waco::model
