// Choosing blocks and collecting their accesses.
#include "waco/model/access_sample.hpp"

#include <omp.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "waco/base/parallel.hpp"
#include "waco/base/random.hpp"

namespace waco::model {

namespace {

constexpr int64_t kAccesses = int64_t{1} << 15;  // wanted
constexpr int64_t kLeastBlocks = 32;             // kept: fewer would say little about the others
constexpr int64_t kTracedWhole = int64_t{1} << 18;

/// The number of each block of `dim` coordinates among those that are kept; -1 for the others.
std::vector<int32_t> block_numbers(int64_t dim, std::span<const int64_t> starts) {
  std::vector<int32_t> number(static_cast<size_t>(dim >> AccessSample::kBlockBits) + 1, -1);
  for (size_t n = 0; n < starts.size(); ++n)
    number[static_cast<size_t>(starts[n] >> AccessSample::kBlockBits)] = static_cast<int32_t>(n);
  return number;
}

AccessSample empty_sample(int64_t length, int64_t dim, std::vector<int64_t> blocks) {
  AccessSample sample;
  sample.length = length;
  sample.dim = dim;
  sample.starts = std::move(blocks);
  return sample;
}

int32_t place_of(int32_t block, int64_t coord) {
  return static_cast<int32_t>((static_cast<int64_t>(block) << AccessSample::kBlockBits) +
                              (coord & (AccessSample::kBlock - 1)));
}

/// Of a stretch of the accesses, those that are kept.
struct Part {
  std::vector<int32_t> times, places;
};

Part part_of(std::span<const int64_t> coords, std::span<const int32_t> visits,
             const std::vector<int32_t>& number, int64_t begin, int64_t end) {
  Part part;
  // Without a branch: what is kept is overwritten or not by the next access.
  size_t room = static_cast<size_t>(end - begin) / 8 + 1024, count = 0;
  part.times.resize(room);
  part.places.resize(room);
  for (auto t = static_cast<size_t>(begin); t < static_cast<size_t>(end); ++t) {
    const int64_t c = visits.empty() ? coords[t] : coords[static_cast<size_t>(visits[t])];
    const int32_t block = number[static_cast<size_t>(c >> AccessSample::kBlockBits)];
    part.times[count] = static_cast<int32_t>(t);
    part.places[count] = place_of(block, c);
    count += block >= 0 ? 1 : 0;
    if (count < room) continue;
    room *= 2;
    part.times.resize(room);
    part.places.resize(room);
  }
  part.times.resize(count);
  part.places.resize(count);
  return part;
}

}  // namespace

std::vector<int64_t> sampled_blocks(int64_t dim, int64_t length) {
  const int64_t num_blocks = dim >> AccessSample::kBlockBits;  // a partial one at the end is left out
  int64_t stretch = 1;
  while (length / (2 * stretch) >= kAccesses && num_blocks / (2 * stretch) >= kLeastBlocks) stretch *= 2;
  if (length <= kTracedWhole || stretch == 1) return {};
  Random random(static_cast<uint64_t>(dim));
  std::vector<int64_t> starts;
  for (int64_t begin = 0; begin + stretch <= num_blocks; begin += stretch)
    starts.push_back((begin + static_cast<int64_t>(random.below(static_cast<uint64_t>(stretch))))
                     << AccessSample::kBlockBits);
  return starts;
}

AccessSample sample_accesses(std::span<const int64_t> coords, int64_t dim, std::span<const int32_t> visits,
                             std::vector<int64_t> blocks) {
  AccessSample sample = empty_sample(static_cast<int64_t>(coords.size()), dim, std::move(blocks));
  const std::vector<int32_t> number = block_numbers(dim, sample.starts);
  const int64_t num_parts = sample.length > kTracedWhole ? omp_get_max_threads() : 1;
  std::vector<Part> parts(static_cast<size_t>(num_parts));
  for_each_parallel(num_parts, static_cast<int>(num_parts), [&](int64_t n) {
    const int64_t begin = sample.length * n / num_parts, end = sample.length * (n + 1) / num_parts;
    parts[static_cast<size_t>(n)] = part_of(coords, visits, number, begin, end);
  });
  for (const Part& part : parts) {
    sample.times.insert(sample.times.end(), part.times.begin(), part.times.end());
    sample.places.insert(sample.places.end(), part.places.begin(), part.places.end());
  }
  return sample;
}

AccessSample sample_rows(std::span<const int64_t> row_pointers, std::vector<int64_t> blocks) {
  AccessSample sample =
      empty_sample(row_pointers.back(), static_cast<int64_t>(row_pointers.size()) - 1, std::move(blocks));
  const auto begin_of = [&](int64_t row) { return row_pointers[static_cast<size_t>(row)]; };
  int64_t count = 0;
  for (const int64_t start : sample.starts) count += begin_of(start + AccessSample::kBlock) - begin_of(start);
  sample.times.resize(static_cast<size_t>(count));
  sample.places.resize(static_cast<size_t>(count));
  size_t next = 0;
  for (size_t n = 0; n < sample.starts.size(); ++n)
    for (int64_t row = sample.starts[n]; row < sample.starts[n] + AccessSample::kBlock; ++row)
      for (int64_t t = begin_of(row); t < begin_of(row + 1); ++t, ++next) {
        sample.times[next] = static_cast<int32_t>(t);
        sample.places[next] = place_of(static_cast<int32_t>(n), row);
      }
  return sample;
}

AccessSample sample_slices(std::span<const int64_t> coords, bool coords_ascend, int64_t dim,
                           std::span<const int64_t> slices, std::span<const int64_t> slice_pointers,
                           std::vector<int64_t> blocks) {
  AccessSample sample = empty_sample(static_cast<int64_t>(coords.size()), dim, std::move(blocks));
  struct Kept {
    int32_t nonzero, place;
  };
  std::vector<Kept> kept;
  std::vector<int32_t> starts(slice_pointers.size(), 0);  // [slices + 1], in what is kept
  const auto keep = [&](size_t n, int32_t block) {
    kept.push_back({static_cast<int32_t>(n), place_of(block, coords[n])});
    ++starts[static_cast<size_t>(slices[n]) + 1];
  };
  if (coords_ascend) {
    auto at = coords.begin();
    for (size_t block = 0; block < sample.starts.size(); ++block) {
      at = std::lower_bound(at, coords.end(), sample.starts[block]);
      for (const int64_t end = sample.starts[block] + AccessSample::kBlock; at != coords.end() && *at < end;
           ++at)
        keep(static_cast<size_t>(at - coords.begin()), static_cast<int32_t>(block));
    }
  } else {
    const std::vector<int32_t> number = block_numbers(dim, sample.starts);
    for (size_t n = 0; n < coords.size(); ++n)
      if (const int32_t block = number[static_cast<size_t>(coords[n] >> AccessSample::kBlockBits)];
          block >= 0)
        keep(n, block);
  }
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  // Those of a slice are kept in order; slice after slice, all are.
  std::vector<Kept> sorted(kept.size());
  std::vector<int32_t> next(starts);
  for (const Kept& access : kept)
    sorted[static_cast<size_t>(next[static_cast<size_t>(slices[static_cast<size_t>(access.nonzero)])]++)] =
        access;
  sample.times.resize(kept.size());
  sample.places.resize(kept.size());
  for (size_t slice = 0; slice + 1 < starts.size(); ++slice) {
    const int64_t begin = slice_pointers[slice], length = slice_pointers[slice + 1] - begin;
    int64_t rank = -1;
    for (int32_t k = starts[slice]; k < starts[slice + 1]; ++k) {
      const Kept& access = sorted[static_cast<size_t>(k)];
      const int64_t about = length * access.nonzero / sample.length;
      rank = std::clamp(about, rank + 1, length - (starts[slice + 1] - k));
      sample.times[static_cast<size_t>(k)] = static_cast<int32_t>(begin + rank);
      sample.places[static_cast<size_t>(k)] = access.place;
    }
  }
  return sample;
}

}  // namespace waco::model
