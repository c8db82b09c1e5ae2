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

/// Hashes of kTogether blocks that follow each other, all whole but maybe the last one there is: each waits
/// for its own multiplications only.
constexpr int64_t kTogether = 4;
void hash_blocks(const SparseTensor& tensor, int64_t first, uint64_t* hashes) {
  const int64_t count = tensor.num_nonzeros();
  int64_t sizes[kTogether];
  for (int64_t b = 0; b < kTogether; ++b) {
    sizes[b] = std::clamp<int64_t>(count - (first + b) * kHashBlock, 0, kHashBlock);
    hashes[b] = 0x243f6a8885a308d3ull;
  }
  const int64_t common = sizes[kTogether - 1];  // of the shortest
  const auto add = [&](int64_t b, int64_t n) {
    for (const auto& coords : tensor.coords)
      hashes[b] =
          mix(hashes[b], static_cast<uint64_t>(coords[static_cast<size_t>((first + b) * kHashBlock + n)]));
  };
  for (int64_t n = 0; n < common; ++n)
    for (int64_t b = 0; b < kTogether; ++b) add(b, n);
  for (int64_t b = 0; b < kTogether; ++b)
    for (int64_t n = common; n < sizes[b]; ++n) add(b, n);
}

}  // namespace

std::array<int64_t, 3> three_dims(const std::vector<int64_t>& dims) {
  std::array<int64_t, 3> three{1, 1, 1};
  std::copy(dims.begin(), dims.end(), three.begin());
  return three;
}

std::vector<int64_t> row_pointers(const SparseTensor& tensor) {
  WACO_ASSERT(tensor.order() >= 1);
  if (tensor.dims[0] > kMostRowsUnchecked && tensor.dims[0] > available_memory_bytes() / 8) {
    throw TooLargeError(fmt::format("{}: pointers to its {} rows do not fit in memory; remove empty rows",
                                    tensor.name, tensor.dims[0]));
  }
  const std::vector<int64_t>& rows = tensor.coords[0];
  std::vector<int64_t> pointers(static_cast<size_t>(tensor.dims[0]) + 1);
  const int64_t count = tensor.num_nonzeros();
  constexpr int64_t kWorthThreads = 1 << 17;
#pragma omp parallel for schedule(static) if (count > kWorthThreads)
  for (int64_t i = 0; i <= count; ++i) {
    // Rows after that of the nonzero before, up to this one's, begin here.
    const int64_t first = i > 0 ? rows[static_cast<size_t>(i) - 1] + 1 : 0;
    const int64_t last = i < count ? rows[static_cast<size_t>(i)] : tensor.dims[0];
    for (int64_t row = first; row <= last; ++row) pointers[static_cast<size_t>(row)] = i;
  }
  return pointers;
}

std::string pattern_hash(const SparseTensor& tensor) {
  const int64_t count = tensor.num_nonzeros();
  const int64_t num_blocks = (count + kHashBlock - 1) / kHashBlock;
  const int64_t num_groups = (num_blocks + kTogether - 1) / kTogether;
  std::vector<uint64_t> blocks(static_cast<size_t>(num_groups * kTogether));
#pragma omp parallel for schedule(static) if (num_groups > 1)
  for (int64_t group = 0; group < num_groups; ++group)
    hash_blocks(tensor, group * kTogether, blocks.data() + group * kTogether);
  blocks.resize(static_cast<size_t>(num_blocks));
  uint64_t hash = 0x13198a2e03707344ull;
  for (const int64_t dim : tensor.dims) hash = mix(hash, static_cast<uint64_t>(dim));
  hash = mix(hash, static_cast<uint64_t>(count));
  for (const uint64_t block : blocks) hash = mix(hash, block);
  hash = mix(hash, std::rotl(hash, 32));
  return fmt::format("{:016x}", hash);
}

}  // namespace waco::matrix
