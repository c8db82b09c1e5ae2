// Each number is a task of its own on a shared sample, so that threads share the work evenly.
#include "waco/pattern/spread_features.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "waco/pattern/distinct_keys.hpp"
#include "waco/pattern/spread_sample.hpp"

namespace waco::pattern {
namespace {

constexpr int kLineShift = 4;  // 16 floats in a cache line
constexpr std::array<int64_t, 4> kWindows{1 << 8, 1 << 11, 1 << 14, 1 << 17};

using Sample = std::vector<std::vector<int64_t>>;

/// Numbers computed by tasks and named in the order they were asked for.
class TaskList {
 public:
  explicit TaskList(const matrix::SparseTensor& tensor, int threads)
      : tensor_(tensor), sample_(sample_runs(tensor, threads)), threads_(threads) {}

  const Sample& sample() const { return sample_; }
  size_t size() const { return sample_[0].size(); }
  double dim(int mode) const { return static_cast<double>(tensor_.dims[static_cast<size_t>(mode)]); }

  /// log2 of distinct cells of 2^shift in every mode, per sample; the first mode comes sorted.
  void add_cells(int shift) {
    add(fmt::format("cells_{}", int64_t{1} << shift), [this, shift](StampSet& seen) {
      seen.restart();
      int64_t found = 0;
      for (size_t n = 0; n < size(); ++n) {
        uint64_t item = static_cast<uint64_t>(sample_[1][n] >> shift);
        if (sample_.size() == 3)
          item = hash_key((item << 32) + static_cast<uint64_t>(sample_[2][n] >> shift));
        found += seen.insert(make_key(sample_[0][n] >> shift, static_cast<int64_t>(item)));
      }
      return std::log2(static_cast<double>(std::max<int64_t>(1, found)) /
                       static_cast<double>(std::max<size_t>(1, size())));
    });
  }

  /// Of the values key_of(sample): distinct ones, evenness, and the share of the most frequent.
  template <typename KeyOf>
  void add_concentration(const std::string& what, double num_values, KeyOf key_of) {
    const size_t first = results_.size();
    for (const char* name : {"distinct", "concentration", "most", "top_16", "top_256", "top_4096"})
      names_.push_back(fmt::format("{}_{}", what, name));
    results_.resize(first + 6);
    tasks_.push_back([this, first, num_values, key_of](StampSet&) {
      std::vector<uint64_t> keys(size());
      for (size_t n = 0; n < keys.size(); ++n) keys[n] = key_of(n);
      const Concentration c = concentration(keys);
      const auto share = [&](int64_t of) {
        return c.samples > 0 ? static_cast<double>(of) / static_cast<double>(c.samples) : 0;
      };
      results_[first] = std::log2(std::max(1e-6, share(c.distinct)));
      results_[first + 1] = std::log2(0.125 + c.relative_to(num_values));
      results_[first + 2] = std::log2(1e-4 + share(c.most));
      for (size_t t = 0; t < c.top.size(); ++t) results_[first + 3 + t] = share(c.top[t]);
    });
  }

  void add_mode(const std::string& what, int mode, int shift) {
    const auto& coords = sample_[static_cast<size_t>(mode)];
    add_concentration(what, std::ceil(std::ldexp(dim(mode), -shift)),
                      [&coords, shift](size_t n) { return static_cast<uint64_t>(coords[n] >> shift); });
  }

  void add_windows(const std::string& what, int mode, int shift) {
    for (const int64_t window : kWindows)
      add(fmt::format("{}_in_{}", what, window), [this, mode, shift, window](StampSet& seen) {
        return std::log2(distinct_in_windows(tensor_, mode, shift, window, seen));
      });
  }

  void finish(FeatureList& features) {
    run_tasks(tasks_, threads_);
    for (size_t r = 0; r < results_.size(); ++r) features.add(names_[r], results_[r]);
  }

 private:
  template <typename Compute>
  void add(std::string name, Compute compute) {
    const size_t at = results_.size();
    names_.push_back(std::move(name));
    results_.push_back(0);
    tasks_.push_back([this, at, compute](StampSet& seen) { results_[at] = compute(seen); });
  }

  const matrix::SparseTensor& tensor_;
  Sample sample_;
  int threads_;
  std::vector<std::string> names_;
  std::vector<double> results_;
  std::vector<std::function<void(StampSet&)>> tasks_;
};

/// Distance of the nonzeros from the diagonal, in columns and relative to their number.
void add_diagonal(const Sample& sample, double rows, double cols, FeatureList& features) {
  constexpr std::array<double, 5> kDistances{1, 16, 256, 4096, 65536};
  constexpr std::array<double, 3> kRelative{0.001, 0.01, 0.1};
  std::array<int64_t, kDistances.size()> near{};
  std::array<int64_t, kRelative.size()> relatively_near{};
  const double slope = rows > 0 ? cols / rows : 0;
  double sum = 0;
  for (size_t n = 0; n < sample[0].size(); ++n) {
    const double distance =
        std::abs(static_cast<double>(sample[1][n]) - slope * static_cast<double>(sample[0][n]));
    for (size_t d = 0; d < near.size(); ++d) near[d] += distance <= kDistances[d];
    for (size_t d = 0; d < kRelative.size(); ++d) relatively_near[d] += distance <= kRelative[d] * cols;
    sum += distance;
  }
  const auto samples = static_cast<double>(sample[0].size());
  for (size_t d = 0; d < near.size(); ++d)
    features.add_share(fmt::format("diagonal_within_{}", kDistances[d]), static_cast<double>(near[d]),
                       samples);
  for (size_t d = 0; d < kRelative.size(); ++d)
    features.add_share(fmt::format("diagonal_within_share_{}", kRelative[d]),
                       static_cast<double>(relatively_near[d]), samples);
  features.add_share("diagonal_distance", sum, samples * cols);
}

/// A pair of modes as one value, to be told apart from others.
uint64_t pair_key(int64_t a, int64_t b) {
  return hash_key((static_cast<uint64_t>(a) << 32) ^ static_cast<uint64_t>(b)) >> 1;
}

}  // namespace

void add_spread_features(const matrix::SparseTensor& matrix, int threads, FeatureList& features) {
  TaskList tasks(matrix, threads);
  tasks.add_mode("columns", 1, 0);
  tasks.add_mode("column_lines", 1, kLineShift);
  tasks.add_windows("columns", 1, 0);
  tasks.add_windows("column_lines", 1, kLineShift);
  for (int shift = 5; shift <= 15; ++shift) tasks.add_cells(shift);
  add_diagonal(tasks.sample(), tasks.dim(0), tasks.dim(1), features);
  tasks.finish(features);
}

void add_tensor_spread_features(const matrix::SparseTensor& tensor, int threads, FeatureList& features) {
  TaskList tasks(tensor, threads);
  const Sample& sample = tasks.sample();
  for (const int mode : {0, 1, 2}) tasks.add_mode(fmt::format("mode{}", mode), mode, 0);
  for (const auto& [a, b] : {std::pair{0, 1}, std::pair{0, 2}, std::pair{1, 2}}) {
    const auto &first = sample[static_cast<size_t>(a)], &second = sample[static_cast<size_t>(b)];
    tasks.add_concentration(fmt::format("modes{}{}", a, b), tasks.dim(a) * tasks.dim(b),
                            [&first, &second](size_t n) { return pair_key(first[n], second[n]); });
  }
  for (const int mode : {1, 2}) tasks.add_windows(fmt::format("mode{}", mode), mode, 0);
  for (int shift = 4; shift <= 15; ++shift) tasks.add_cells(shift);
  tasks.finish(features);
}

}  // namespace waco::pattern
