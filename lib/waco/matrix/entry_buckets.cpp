// The entries of a matrix between its text and its tensor: in narrow form, dealt to buckets of neighbouring
// rows.
#include "waco/matrix/entry_buckets.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <numeric>
#include <utility>

#include "waco/base/error.hpp"
#include "waco/base/parallel.hpp"

namespace waco::matrix {
namespace {

constexpr size_t kFirstBlockWords = size_t{1} << 12;
constexpr size_t kLargestBlockWords = size_t{1} << 20;

inline int64_t row_of(uint64_t key) {
  return static_cast<int64_t>(key >> 32);
}

inline int64_t col_of(uint64_t key) {
  return static_cast<int64_t>(key & 0xffffffffu);
}

}  // namespace

uint64_t* EntryBuckets::Arena::take(size_t words) {
  if (blocks.empty() || block_words - used_words < words) {
    block_words = std::max(words, std::clamp(2 * block_words, kFirstBlockWords, kLargestBlockWords));
    blocks.push_back(std::make_unique_for_overwrite<uint64_t[]>(block_words));
    used_words = 0;
  }
  return blocks.back().get() + std::exchange(used_words, used_words + words);
}

EntryBuckets::EntryBuckets(const EntryFormat& format, int64_t likely_entries, int threads)
    : has_value_(format.has_value),
      threads_(threads),
      buckets_(format.dims[0], likely_entries, threads),
      arenas_(static_cast<size_t>(threads)),
      counts_(static_cast<size_t>(threads)) {
  WACO_ASSERT(format.order == 2 && fits(format.dims));
}

void EntryBuckets::deal(size_t piece, const EntryChunk& chunk, int thread) {
  const int64_t size = chunk.size();
  if (size == 0) return;
  WACO_ASSERT(size <= std::numeric_limits<uint32_t>::max());
  const int64_t* const rows = chunk.coords(0);
  const int64_t* const cols = chunk.coords(1);
  const double* const values = chunk.values();
  const auto [low, high] = std::minmax_element(rows, rows + size);
  Piece result;
  result.first_bucket = *low >> buckets_.shift;
  result.num_buckets = (*high >> buckets_.shift) - result.first_bucket + 1;
  result.size = size;

  // Counts, then where each bucket begins, then where its next entry goes.
  const auto buckets = static_cast<size_t>(result.num_buckets);
  std::vector<uint32_t>& next = counts_[static_cast<size_t>(thread)];
  next.assign(buckets + 1, 0);
  const auto bucket_of = [&](int64_t row) {
    return static_cast<size_t>((row >> buckets_.shift) - result.first_bucket);
  };
  for (int64_t i = 0; i < size; ++i) ++next[bucket_of(rows[i]) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  Arena& arena = arenas_[static_cast<size_t>(thread)];
  auto* const begins = reinterpret_cast<uint32_t*>(arena.take((buckets + 2) / 2));
  std::copy(next.begin(), next.end(), begins);

  uint64_t* const keys = arena.take(static_cast<size_t>(size));
  const auto key_of = [&](int64_t i) {
    return static_cast<uint64_t>(rows[i]) << 32 | static_cast<uint64_t>(cols[i]);
  };
  if (has_value_) {
    auto* const to = reinterpret_cast<double*>(arena.take(static_cast<size_t>(size)));
    for (int64_t i = 0; i < size; ++i) {
      const uint32_t at = next[bucket_of(rows[i])]++;
      keys[at] = key_of(i);
      to[at] = values[i];
    }
    result.values = to;
  } else {
    for (int64_t i = 0; i < size; ++i) keys[next[bucket_of(rows[i])]++] = key_of(i);
  }
  result.keys = keys;
  result.begins = begins;
  result.number = piece;
  arena.pieces.push_back(result);
}

void EntryBuckets::close() {
  for (const Arena& arena : arenas_) pieces_.insert(pieces_.end(), arena.pieces.begin(), arena.pieces.end());
  std::sort(pieces_.begin(), pieces_.end(),
            [](const Piece& a, const Piece& b) { return a.number < b.number; });
}

int64_t EntryBuckets::num_entries() const {
  int64_t count = 0;
  for (const Piece& piece : pieces_) count += piece.size;
  return count;
}

/// Where the entries of each bucket begin in the tensor, [num_buckets + 1].
std::vector<int64_t> EntryBuckets::bucket_begins() const {
  std::vector<int64_t> begins(static_cast<size_t>(buckets_.count) + 1);
  for (const Piece& piece : pieces_) {
    int64_t* const counts = begins.data() + piece.first_bucket + 1;
    for (int64_t i = 0; i < piece.num_buckets; ++i) counts[i] += piece.begins[i + 1] - piece.begins[i];
  }
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  return begins;
}

/// Finds the entries of a bucket, in the order of the text.
void EntryBuckets::find_segments(int64_t bucket, Scratch& scratch) const {
  scratch.segments.clear();
  for (const Piece& piece : pieces_) {
    const int64_t i = bucket - piece.first_bucket;
    if (i < 0 || i >= piece.num_buckets) continue;
    const uint32_t begin = piece.begins[i];
    const int64_t size = piece.begins[i + 1] - begin;
    if (size == 0) continue;
    scratch.segments.push_back(
        {piece.keys + begin, piece.values == nullptr ? nullptr : piece.values + begin, size});
  }
}

/// Orders a bucket with a counting sort over its rows, which leaves the columns in the order of the text.
void EntryBuckets::sort_by_rows(int64_t bucket, int64_t begin, SparseTensor& tensor, Scratch& scratch) const {
  const int64_t first_row = bucket << buckets_.shift;
  scratch.starts.assign((size_t{1} << buckets_.shift) + 1, 0);
  int64_t* const starts = scratch.starts.data();
  for (const Segment& segment : scratch.segments) {
    for (int64_t i = 0; i < segment.size; ++i) ++starts[row_of(segment.keys[i]) - first_row + 1];
  }
  std::partial_sum(scratch.starts.begin(), scratch.starts.end(), scratch.starts.begin());
  int64_t* const cols = tensor.coords[1].data() + begin;
  double* const values = tensor.values.data() + begin;
  for (const Segment& segment : scratch.segments) {
    if (segment.values == nullptr) {
      for (int64_t i = 0; i < segment.size; ++i) {
        cols[starts[row_of(segment.keys[i]) - first_row]++] = col_of(segment.keys[i]);
      }
      continue;
    }
    for (int64_t i = 0; i < segment.size; ++i) {
      const int64_t at = starts[row_of(segment.keys[i]) - first_row]++;
      cols[at] = col_of(segment.keys[i]);
      values[at] = segment.values[i];
    }
  }
}

/// Writes the rows of a bucket and sorts those whose columns need it. Every start is at the end of its row.
int64_t EntryBuckets::finish_rows(int64_t bucket, int64_t begin, SparseTensor& tensor,
                                  Scratch& scratch) const {
  int64_t* const rows = tensor.coords[0].data() + begin;
  int64_t* const cols = tensor.coords[1].data() + begin;
  double* const values = tensor.values.data() + begin;
  int64_t num_equal = 0;
  int64_t row = bucket << buckets_.shift;
  int64_t first = 0;
  scratch.starts.pop_back();
  for (const int64_t last : scratch.starts) {
    bool sorted = true;
    for (int64_t i = first; i < last; ++i) rows[i] = row;
    for (int64_t i = first + 1; i < last; ++i) sorted &= cols[i - 1] <= cols[i];
    if (!sorted) {
      scratch.entries.clear();
      scratch.entries.reserve(static_cast<size_t>(last - first));
      for (int64_t i = first; i < last; ++i) {
        scratch.entries.push_back({static_cast<uint64_t>(cols[i]), i, values[i]});
      }
      std::sort(scratch.entries.begin(), scratch.entries.end(), [](const Entry& a, const Entry& b) {
        return a.key != b.key ? a.key < b.key : a.position < b.position;
      });
      for (int64_t i = first; i < last; ++i) {
        const Entry& entry = scratch.entries[static_cast<size_t>(i - first)];
        cols[i] = static_cast<int64_t>(entry.key);
        values[i] = entry.value;
      }
    }
    for (int64_t i = first + 1; i < last; ++i) num_equal += cols[i - 1] == cols[i];
    first = last;
    ++row;
  }
  return num_equal;
}

/// Orders a bucket of many more rows than entries.
int64_t EntryBuckets::sort_by_comparison(int64_t begin, SparseTensor& tensor, Scratch& scratch) const {
  std::vector<Entry>& entries = scratch.entries;
  entries.clear();
  for (const Segment& segment : scratch.segments) {
    for (int64_t i = 0; i < segment.size; ++i) {
      entries.push_back({segment.keys[i], static_cast<int64_t>(entries.size()),
                         segment.values == nullptr ? 1 : segment.values[i]});
    }
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.key != b.key ? a.key < b.key : a.position < b.position;
  });
  int64_t num_equal = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    const size_t at = static_cast<size_t>(begin) + i;
    tensor.coords[0][at] = row_of(entries[i].key);
    tensor.coords[1][at] = col_of(entries[i].key);
    tensor.values[at] = entries[i].value;
    num_equal += i > 0 && entries[i - 1].key == entries[i].key;
  }
  return num_equal;
}

int64_t EntryBuckets::sort_into(SparseTensor& tensor) const {
  const std::vector<int64_t> begins = bucket_begins();
  const auto count = static_cast<size_t>(begins.back());
  const int threads = begins.back() < kSerialBelow ? 1 : threads_;
  const size_t at_once = threads == 1 ? 0 : count;
  for_each_parallel(3, threads, [&](int64_t array) {
    std::vector<int64_t>* const coords = array < 2 ? &tensor.coords[static_cast<size_t>(array)] : nullptr;
    coords != nullptr ? coords->reserve(count) : tensor.values.reserve(count);
    coords != nullptr ? coords->resize(at_once) : tensor.values.resize(at_once, 1.0);
  });

  std::atomic<int64_t> num_equal{0};
  const auto sort_bucket = [&](int64_t bucket, Scratch& scratch) {
    const int64_t begin = begins[static_cast<size_t>(bucket)];
    const int64_t end = begins[static_cast<size_t>(bucket) + 1];
    if (threads == 1) {  // grown by what stays in cache until it is filled
      for (auto& column : tensor.coords) column.resize(static_cast<size_t>(end));
      tensor.values.resize(static_cast<size_t>(end), 1.0);
    }
    if (begin == end) return;
    find_segments(bucket, scratch);
    if (buckets_.has_few_rows(end - begin)) {
      sort_by_rows(bucket, begin, tensor, scratch);
      num_equal += finish_rows(bucket, begin, tensor, scratch);
    } else {
      num_equal += sort_by_comparison(begin, tensor, scratch);
    }
  };
  for_each_parallel(
      buckets_.count, threads, [] { return Scratch(); }, sort_bucket);
  return num_equal;
}

}  // namespace waco::matrix
