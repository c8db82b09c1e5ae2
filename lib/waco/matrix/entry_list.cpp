// Joining the blocks of a generation.
#include "waco/matrix/entry_list.hpp"

#include <omp.h>

#include <atomic>
#include <numeric>
#include <utility>

#include "waco/base/error.hpp"
#include "waco/base/machine.hpp"
#include "waco/base/parallel.hpp"

namespace waco::matrix {

SparseTensor generate_blocks(std::vector<int64_t> dims, int64_t num_items, int64_t block_items,
                             const FillBlock& fill) {
  WACO_ASSERT(block_items >= 1);
  const int64_t num_blocks = (num_items + block_items - 1) / block_items;
  std::vector<EntryList> blocks(static_cast<size_t>(num_blocks));
  const int threads = omp_get_max_threads();
  std::atomic<int64_t> filled_bytes{0};
  for_each_parallel(num_blocks, threads, [&](int64_t block) {
    const int64_t begin = block * block_items;
    EntryList& entries = blocks[static_cast<size_t>(block)];
    fill(begin, std::min(begin + block_items, num_items), entries);
    // Joining them takes as much again; that is asked for now and then.
    constexpr int kOften = 28;
    const auto bytes = static_cast<int64_t>(entries.values.size() * (dims.size() + 1) * sizeof(int64_t));
    const int64_t before = filled_bytes.fetch_add(bytes);
    if (before >> kOften != (before + bytes) >> kOften) require_memory(before + bytes);
  });
  std::vector<int64_t> starts(blocks.size() + 1);
  for (size_t block = 0; block < blocks.size(); ++block) {
    starts[block + 1] = starts[block] + static_cast<int64_t>(blocks[block].values.size());
  }
  SparseTensor tensor;
  tensor.dims = std::move(dims);
  tensor.coords.resize(tensor.dims.size());
  for (auto& column : tensor.coords) column.resize(static_cast<size_t>(starts.back()));
  tensor.values.resize(static_cast<size_t>(starts.back()));
  for_each_parallel(num_blocks, threads, [&](int64_t i) {
    const auto block = static_cast<size_t>(i);
    EntryList entries = std::move(blocks[block]);  // freed as soon as it is copied
    for (size_t mode = 0; mode < tensor.coords.size(); ++mode) {
      std::copy(entries.coords[mode].begin(), entries.coords[mode].end(),
                tensor.coords[mode].begin() + starts[block]);
    }
    std::copy(entries.values.begin(), entries.values.end(), tensor.values.begin() + starts[block]);
  });
  sort_and_merge(tensor);
  return tensor;
}

int64_t skewed_below(Random& random, int64_t bound, double skew) {
  const double u = random.uniform();
  const auto quarters = static_cast<int64_t>(skew * 4 + 0.5);
  double power = 1;
  for (int64_t i = 0; i < quarters / 4; ++i) power *= u;
  if (quarters % 4 >= 2) power *= std::sqrt(u);
  if (quarters % 2 == 1) power *= std::sqrt(std::sqrt(u));
  return std::min(static_cast<int64_t>(power * static_cast<double>(bound)), bound - 1);
}

std::vector<int64_t> random_permutation(int64_t n, Random random) {
  require_memory(n * static_cast<int64_t>(sizeof(int64_t)));
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (int64_t i = n - 1; i > 0; --i) {
    std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(below(random, i + 1))]);
  }
  return order;
}

}  // namespace waco::matrix
