// Sampling by position, and counting what was sampled.
#include "waco/pattern/spread_sample.hpp"

#include <algorithm>
#include <bit>

#include "waco/base/parallel.hpp"
#include "waco/pattern/distinct_keys.hpp"

namespace waco::pattern {
namespace {

constexpr int64_t kRun = 8;  // one cache line of coordinates
constexpr int64_t kMostRuns = 8192;
constexpr int64_t kLongWindow = int64_t{1}
                                << 14;  // all of it is looked at; of longer ones a share of the values

/// Stretches of consecutive nonzeros, each a whole number of windows unless the pattern ends before.
std::vector<std::pair<int64_t, int64_t>> stretches(int64_t nonzeros, int64_t window) {
  const int64_t length = std::max(window, kLongWindow);
  const int64_t count = window > kLongWindow ? 2 : 4;
  std::vector<std::pair<int64_t, int64_t>> result;
  for (int64_t s = 0; s < count; ++s) {
    const int64_t begin = nonzeros <= count * length ? s * length : (nonzeros - length) / (count - 1) * s;
    if (begin < nonzeros) result.emplace_back(begin, std::min(nonzeros, begin + length));
  }
  return result;
}

}  // namespace

std::vector<std::vector<int64_t>> sample_runs(const matrix::SparseTensor& tensor, int threads) {
  const int64_t nonzeros = tensor.num_nonzeros();
  const bool all = nonzeros <= kMostRuns * kRun;
  const int64_t size = all ? nonzeros : kMostRuns * kRun;
  std::vector<std::vector<int64_t>> sample(tensor.coords.size(),
                                           std::vector<int64_t>(static_cast<size_t>(size)));
  for (size_t mode = 0; mode < sample.size(); ++mode) {
    const int64_t* coords = tensor.coords[mode].data();
    int64_t* out = sample[mode].data();
    if (all) {
      std::copy(coords, coords + nonzeros, out);
      continue;
    }
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t run = 0; run < kMostRuns; ++run) {
      const int64_t begin =
          static_cast<int64_t>(static_cast<__int128>(nonzeros - kRun) * run / (kMostRuns - 1));
      std::copy(coords + begin, coords + begin + kRun, out + run * kRun);
    }
  }
  return sample;
}

double Concentration::relative_to(double num_values) const {
  const auto n = static_cast<double>(samples);
  return n > 1 ? num_values * pairs / (n * (n - 1)) : 1;
}

Concentration concentration(const std::vector<uint64_t>& values) {
  Concentration result;
  result.samples = static_cast<int64_t>(values.size());
  const size_t capacity = std::bit_ceil(values.size() + values.size() / 2 + 1);
  std::vector<uint64_t> keys(capacity, 0);  // value + 1; 0 is free
  std::vector<int32_t> counts(capacity, 0);
  for (const uint64_t value : values) {
    uint64_t& key = slot_of_key(keys, value);
    key = value + 1;
    result.most = std::max<int64_t>(result.most, ++counts[static_cast<size_t>(&key - keys.data())]);
  }
  std::vector<int64_t> num_of_count(static_cast<size_t>(result.most) + 1, 0);
  for (const int32_t count : counts) ++num_of_count[static_cast<size_t>(count)];
  std::array<int64_t, 3> left = Concentration::kTop;
  for (int64_t count = result.most; count > 0; --count) {
    const int64_t values_of = num_of_count[static_cast<size_t>(count)];
    result.distinct += values_of;
    result.pairs +=
        static_cast<double>(values_of) * static_cast<double>(count) * static_cast<double>(count - 1);
    for (size_t t = 0; t < left.size(); ++t) {
      const int64_t taken = std::min(left[t], values_of);
      result.top[t] += taken * count;
      left[t] -= taken;
    }
  }
  return result;
}

double distinct_in_windows(const matrix::SparseTensor& tensor, int mode, int shift, int64_t window,
                           StampSet& seen) {
  const int64_t* coords = tensor.coords[static_cast<size_t>(mode)].data();
  const int window_bits = std::countr_zero(static_cast<uint64_t>(window));
  double distinct = 0, looked_at = 0;
  for (const auto& [begin, end] : stretches(tensor.num_nonzeros(), window)) {
    seen.restart();
    int64_t found = 0;
    looked_at += static_cast<double>(end - begin);
    if (end - begin <= kLongWindow) {
      for (int64_t n = begin; n < end; ++n)
        found += seen.insert(make_key((n - begin) >> window_bits, coords[n] >> shift));
      distinct += static_cast<double>(found);
      continue;
    }
    const int unseen_bits = window_bits - std::countr_zero(static_cast<uint64_t>(kLongWindow));
    for (int64_t n = begin; n < end; ++n) {
      const int64_t value = coords[n] >> shift;
      if (static_cast<uint64_t>(value) * 0x9e3779b97f4a7c15ull >> (64 - unseen_bits) == 0)
        found += seen.insert(make_key(0, value));
    }
    distinct += static_cast<double>(found << unseen_bits);
  }
  return looked_at > 0 ? std::min(1.0, std::max(1.0, distinct) / looked_at) : 1;
}

void run_tasks(const std::vector<std::function<void(StampSet&)>>& tasks, int threads) {
  for_each_parallel(
      static_cast<int64_t>(tasks.size()), threads, [] { return StampSet(kTaskTableBits); },
      [&](int64_t t, StampSet& seen) { tasks[static_cast<size_t>(t)](seen); });
}

}  // namespace waco::pattern
