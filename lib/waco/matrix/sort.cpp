// Sorting coordinates in parallel: entries are dealt, in their order, to buckets of neighbouring rows, then
// every bucket is sorted by itself while it is in cache. Column-major files need no comparison sort at all.
#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <memory>
#include <new>
#include <numeric>
#include <utility>
#include <vector>

#include "waco/base/error.hpp"
#include "waco/base/machine.hpp"
#include "waco/base/parallel.hpp"
#include "waco/matrix/row_buckets.hpp"
#include "waco/matrix/sparse_tensor.hpp"

namespace waco::matrix {
namespace {

using Columns = std::array<const int64_t*, 3>;

/// Lexicographic order of two entries over the modes from `first` on: negative, 0 or positive.
inline int compare(const Columns& coords, int order, int first, int64_t a, int64_t b) {
  for (int mode = first; mode < order; ++mode) {
    const int64_t* const column = coords[static_cast<size_t>(mode)];
    if (column[a] != column[b]) return column[a] < column[b] ? -1 : 1;
  }
  return 0;
}

Columns columns_of(const SparseTensor& tensor) {
  Columns columns{};
  for (size_t mode = 0; mode < tensor.coords.size(); ++mode) columns[mode] = tensor.coords[mode].data();
  return columns;
}

struct Scan {
  bool sorted = true;
  int64_t num_duplicates = 0;  ///< neighbours with equal coordinates
};

Scan scan(const SparseTensor& tensor, int threads) {
  const Columns coords = columns_of(tensor);
  const int order = tensor.order();
  const int64_t count = tensor.num_nonzeros();
  int64_t descents = 0;
  int64_t duplicates = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : descents, duplicates)
  for (int64_t i = 1; i < count; ++i) {
    const int sign = compare(coords, order, 0, i - 1, i);
    descents += sign > 0;
    duplicates += sign == 0;
  }
  return {descents == 0, duplicates};
}

/// The coordinates that an entry is sorted by, as far as they fit one number, and where it lies.
struct Entry {
  uint64_t key;
  int64_t at;
};

/// Lexicographic order over the modes from `first` on, then of places. Sorting looks at far more pairs than
/// there are entries: packed keys keep that to memory that is walked in order.
class PackedOrder {
 public:
  PackedOrder(const std::vector<int64_t>& dims, const Columns& columns, int first)
      : columns_(columns), order_(static_cast<int>(dims.size())), first_(first), end_(first) {
    for (int used_bits = 0; end_ < order_; ++end_) {
      const int bits = std::bit_width(static_cast<uint64_t>(dims[static_cast<size_t>(end_)] - 1));
      if (used_bits + bits > 64) break;
      used_bits += bits;
      bits_[static_cast<size_t>(end_)] = bits;
    }
  }
  Entry entry(int64_t at) const {
    uint64_t key = 0;
    for (int mode = first_; mode < end_; ++mode) {
      const auto m = static_cast<size_t>(mode);
      key = key << bits_[m] | static_cast<uint64_t>(columns_[m][at]);
    }
    return {key, at};
  }
  bool operator()(const Entry& a, const Entry& b) const {
    if (a.key != b.key) return a.key < b.key;
    const int sign = compare(columns_, order_, end_, a.at, b.at);
    return sign != 0 ? sign < 0 : a.at < b.at;
  }

 private:
  const Columns& columns_;
  int order_;
  int first_, end_;  ///< the modes in the key
  std::array<int, 3> bits_{};
};

/// Sorts one tensor; holds the second copy of it that this takes.
class BucketSort {
 public:
  BucketSort(SparseTensor& tensor, int threads);
  /// Returns the number of neighbours with equal coordinates afterwards.
  int64_t run();

 private:
  /// Reused from bucket to bucket by one thread.
  struct Scratch {
    std::vector<int64_t> order;
    std::vector<int64_t> starts;
    std::vector<Entry> entries;
  };
  void partition();
  void check_scratch() const;
  int64_t sort_bucket(int64_t bucket, Scratch& scratch);
  void order_by_rows(int64_t bucket, Scratch& scratch) const;
  /// Sorts order[begin .. end) by the modes from `first_mode` on, unless it is sorted.
  void order_by_comparison(int64_t begin, int64_t end, int first_mode, Scratch& scratch) const;

  SparseTensor& tensor_;
  int threads_;
  int order_;
  int64_t count_;
  RowBuckets buckets_;
  std::vector<int64_t> begins_;  ///< of the buckets, and the end of the last
  std::array<std::unique_ptr<int64_t[]>, 3> coords_;
  std::unique_ptr<double[]> values_;
  Columns columns_{};
};

BucketSort::BucketSort(SparseTensor& tensor, int threads)
    : tensor_(tensor),
      threads_(threads),
      order_(tensor.order()),
      count_(tensor.num_nonzeros()),
      buckets_(tensor.dims[0], count_, threads) {
  for (int mode = 0; mode < order_; ++mode) {
    const auto m = static_cast<size_t>(mode);
    coords_[m] = std::make_unique_for_overwrite<int64_t[]>(static_cast<size_t>(count_));
    columns_[m] = coords_[m].get();
  }
  values_ = std::make_unique_for_overwrite<double[]>(static_cast<size_t>(count_));
}

/// Deals the entries to the buckets, stably: every thread a contiguous range, earlier threads' entries first.
void BucketSort::partition() {
  const auto buckets = static_cast<size_t>(buckets_.count);
  std::vector<std::vector<int64_t>> next(static_cast<size_t>(threads_), std::vector<int64_t>(buckets));
  begins_.assign(buckets + 1, count_);
  const int64_t* const rows = tensor_.coords[0].data();
  const int64_t share = (count_ + threads_ - 1) / threads_;
#pragma omp parallel for schedule(static, 1) num_threads(threads_)
  for (int t = 0; t < threads_; ++t) {
    std::vector<int64_t>& counts = next[static_cast<size_t>(t)];
    const int64_t end = std::min(count_, (t + 1) * share);
    for (int64_t i = t * share; i < end; ++i) ++counts[static_cast<size_t>(rows[i] >> buckets_.shift)];
  }
  int64_t position = 0;
  for (size_t bucket = 0; bucket < buckets; ++bucket) {
    begins_[bucket] = position;
    for (auto& counts : next) position += std::exchange(counts[bucket], position);
  }
#pragma omp parallel for schedule(static, 1) num_threads(threads_)
  for (int t = 0; t < threads_; ++t) {
    std::vector<int64_t>& to = next[static_cast<size_t>(t)];
    const int64_t end = std::min(count_, (t + 1) * share);
    for (int64_t i = t * share; i < end; ++i) {
      const int64_t at = to[static_cast<size_t>(rows[i] >> buckets_.shift)]++;
      for (int mode = 0; mode < order_; ++mode) {
        const auto m = static_cast<size_t>(mode);
        coords_[m][static_cast<size_t>(at)] = tensor_.coords[m][static_cast<size_t>(i)];
      }
      values_[static_cast<size_t>(at)] = tensor_.values[static_cast<size_t>(i)];
    }
  }
}

/// Orders a bucket with a counting sort over its rows; only rows that need it are sorted further.
void BucketSort::order_by_rows(int64_t bucket, Scratch& scratch) const {
  const int64_t begin = begins_[static_cast<size_t>(bucket)];
  const int64_t end = begins_[static_cast<size_t>(bucket) + 1];
  const int64_t first_row = bucket << buckets_.shift;
  std::vector<int64_t>& starts = scratch.starts;
  starts.assign((size_t{1} << buckets_.shift) + 1, 0);
  for (int64_t i = begin; i < end; ++i) ++starts[static_cast<size_t>(columns_[0][i] - first_row) + 1];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  for (int64_t i = begin; i < end; ++i) {
    scratch.order[static_cast<size_t>(starts[static_cast<size_t>(columns_[0][i] - first_row)]++)] = i;
  }
  // Every start has moved to the end of its row.
  int64_t row_begin = 0;
  for (const int64_t row_end : starts)
    order_by_comparison(std::exchange(row_begin, row_end), row_end, 1, scratch);
}

void BucketSort::order_by_comparison(int64_t begin, int64_t end, int first_mode, Scratch& scratch) const {
  const auto first = scratch.order.begin() + begin;
  const auto last = scratch.order.begin() + end;
  const auto descends = [&](int64_t a, int64_t b) { return compare(columns_, order_, first_mode, a, b) > 0; };
  if (std::adjacent_find(first, last, descends) == last) return;
  const PackedOrder packed(tensor_.dims, columns_, first_mode);
  scratch.entries.clear();
  scratch.entries.reserve(static_cast<size_t>(last - first));
  for (auto at = first; at != last; ++at) scratch.entries.push_back(packed.entry(*at));
  std::sort(scratch.entries.begin(), scratch.entries.end(), packed);
  std::transform(scratch.entries.begin(), scratch.entries.end(), first, [](const Entry& e) { return e.at; });
}

/// What sorting the largest bucket takes, beside the second copy: nearly all entries are in one where the
/// first mode has few rows.
void BucketSort::check_scratch() const {
  int64_t largest = 0;
  for (size_t b = 1; b < begins_.size(); ++b) largest = std::max(largest, begins_[b] - begins_[b - 1]);
  require_memory(largest * static_cast<int64_t>(sizeof(int64_t) + sizeof(Entry)));
}

/// Sorts a bucket back into the tensor.
int64_t BucketSort::sort_bucket(int64_t bucket, Scratch& scratch) {
  const int64_t begin = begins_[static_cast<size_t>(bucket)];
  const int64_t size = begins_[static_cast<size_t>(bucket) + 1] - begin;
  if (size == 0) return 0;
  scratch.order.resize(static_cast<size_t>(size));
  if (buckets_.has_few_rows(size)) {
    order_by_rows(bucket, scratch);
  } else {  // many more rows than entries
    std::iota(scratch.order.begin(), scratch.order.end(), begin);
    order_by_comparison(0, size, 0, scratch);
  }
  for (int mode = 0; mode < order_; ++mode) {
    int64_t* const to = tensor_.coords[static_cast<size_t>(mode)].data() + begin;
    const int64_t* const from = columns_[static_cast<size_t>(mode)];
    for (int64_t i = 0; i < size; ++i) to[i] = from[scratch.order[static_cast<size_t>(i)]];
  }
  double* const to = tensor_.values.data() + begin;
  for (int64_t i = 0; i < size; ++i)
    to[i] = values_[static_cast<size_t>(scratch.order[static_cast<size_t>(i)])];
  int64_t duplicates = 0;
  for (int64_t i = 1; i < size; ++i) {
    const auto at = static_cast<size_t>(i);
    duplicates += compare(columns_, order_, 0, scratch.order[at - 1], scratch.order[at]) == 0;
  }
  return duplicates;
}

int64_t BucketSort::run() {
  partition();
  check_scratch();
  std::atomic<int64_t> duplicates{0};
  for_each_parallel(
      buckets_.count, threads_, [] { return Scratch(); },
      [&](int64_t bucket, Scratch& scratch) { duplicates += sort_bucket(bucket, scratch); });
  return duplicates;
}

/// Sums runs of equal coordinates of a sorted tensor.
void merge(SparseTensor& tensor) {
  const Columns coords = columns_of(tensor);
  const int64_t count = tensor.num_nonzeros();
  size_t last = 0;
  for (size_t i = 1; i < static_cast<size_t>(count); ++i) {
    if (compare(coords, tensor.order(), 0, static_cast<int64_t>(last), static_cast<int64_t>(i)) == 0) {
      tensor.values[last] += tensor.values[i];
      continue;
    }
    ++last;
    for (auto& column : tensor.coords) column[last] = column[i];
    tensor.values[last] = tensor.values[i];
  }
  for (auto& column : tensor.coords) column.resize(last + 1);
  tensor.values.resize(last + 1);
}

}  // namespace

int64_t sort_and_merge(SparseTensor& tensor, int threads) {
  const int64_t count = tensor.num_nonzeros();
  WACO_ASSERT(tensor.order() >= 1 && tensor.order() <= 3 && tensor.coords.size() == tensor.dims.size());
  for (const auto& column : tensor.coords) WACO_ASSERT(static_cast<int64_t>(column.size()) == count);
  if (count < 2) return 0;
  if (threads <= 0) threads = omp_get_max_threads();
  if (count < kSerialBelow) threads = 1;
  Scan found = scan(tensor, threads);
  if (!found.sorted) {
    // Sorting takes as much memory again.
    require_memory(count * (tensor.order() + 1) * static_cast<int64_t>(sizeof(int64_t)));
    found.num_duplicates = BucketSort(tensor, threads).run();
  }
  if (found.num_duplicates > 0) merge(tensor);
  return found.num_duplicates;
}

}  // namespace waco::matrix
