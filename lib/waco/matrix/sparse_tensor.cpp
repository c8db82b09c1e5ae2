// What every stage asks of a tensor: its row pointers and its identity.
#include "waco/matrix/sparse_tensor.hpp"

#include <algorithm>
#include <bit>

#include "waco/base/error.hpp"
#include "waco/base/machine.hpp"

namespace waco::matrix {
namespace {

/// Entries hashed in one piece; part of the hash's definition.
constexpr int64_t kHashBlock = int64_t{1} << 16;
/// Row pointers of more rows are compared with the memory there is, before it is taken.
constexpr int64_t kMostRowsUnchecked = int64_t{1} << 24;

uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
  return hash ^ (hash >> 29);
}

uint64_t hash_block(const SparseTensor& tensor, int64_t begin, int64_t end) {
  uint64_t hash = 0x243f6a8885a308d3ull;
  for (int64_t i = begin; i < end; ++i) {
    for (const auto& coords : tensor.coords) {
      hash = mix(hash, static_cast<uint64_t>(coords[static_cast<size_t>(i)]));
    }
  }
  return hash;
}

}  // namespace

std::vector<int64_t> row_pointers(const SparseTensor& tensor) {
  WACO_ASSERT(tensor.order() >= 1);
  if (tensor.dims[0] > kMostRowsUnchecked && tensor.dims[0] > available_memory_bytes() / 8) {
    throw EnvironmentError(fmt::format("{}: pointers to its {} rows do not fit in memory; remove empty rows",
                                       tensor.name, tensor.dims[0]));
  }
  const std::vector<int64_t>& rows = tensor.coords[0];
  std::vector<int64_t> pointers(static_cast<size_t>(tensor.dims[0]) + 1);
  size_t next = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto row = static_cast<size_t>(rows[i]);
    while (next <= row) pointers[next++] = static_cast<int64_t>(i);
  }
  std::fill(pointers.begin() + static_cast<int64_t>(next), pointers.end(), tensor.num_nonzeros());
  return pointers;
}

std::string pattern_hash(const SparseTensor& tensor) {
  const int64_t count = tensor.num_nonzeros();
  const int64_t num_blocks = (count + kHashBlock - 1) / kHashBlock;
  std::vector<uint64_t> blocks(static_cast<size_t>(num_blocks));
#pragma omp parallel for schedule(static) if (num_blocks > 1)
  for (int64_t block = 0; block < num_blocks; ++block) {
    blocks[static_cast<size_t>(block)] =
        hash_block(tensor, block * kHashBlock, std::min(count, (block + 1) * kHashBlock));
  }
  uint64_t hash = 0x13198a2e03707344ull;
  for (const int64_t dim : tensor.dims) hash = mix(hash, static_cast<uint64_t>(dim));
  hash = mix(hash, static_cast<uint64_t>(count));
  for (const uint64_t block : blocks) hash = mix(hash, block);
  hash = mix(hash, std::rotl(hash, 32));
  return fmt::format("{:016x}", hash);
}

}  // namespace waco::matrix
