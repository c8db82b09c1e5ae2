// One streaming pass per thread: row starts are found without branches in blocks that stay in L1, then rows
// are counted.
#include "waco/pattern/row_lengths.hpp"

#include <algorithm>

#include "waco/base/parallel.hpp"
#include "waco/pattern/divider.hpp"

namespace waco::pattern {
namespace {

constexpr int64_t kMaxWindows = 16;

/// What one thread has counted.
struct Counts {
  std::vector<int64_t> num_of_length = std::vector<int64_t>(RowLengths::kCounted, 0);
  std::vector<int64_t> longer;
  int64_t num_nonempty = 0;
  int64_t num_changes = 0;
  std::array<int64_t, 2> longest_chunk{};
  int64_t first_row = -1, first_length = 0, last_row = -1, last_length = 0;
};

/// Changes of length between two nonempty rows with nothing but empty rows between them.
int64_t changes_between(int64_t row, int64_t length, int64_t next_row, int64_t next_length) {
  return next_row == row + 1 ? length != next_length : 2;
}

class Scan {
 public:
  Scan(const std::vector<int64_t>& rows, int64_t window_step, std::vector<std::vector<int32_t>>& windows)
      : rows_(rows.data()), window_step_(window_step), windows_(windows) {}

  /// Nonzeros [begin, end), whole chunks of rows.
  Counts run(int64_t begin, int64_t end) {
    if (begin == end) return std::move(counts_);
    constexpr int64_t kBlock = 4096;
    std::array<int32_t, kBlock> starts;
    int64_t open = begin, previous = rows_[begin];
    for (int64_t block = begin; block < end; block += kBlock) {
      const int64_t size = std::min(kBlock, end - block);
      size_t found = 0;
      for (int64_t n = 0; n < size; ++n) {
        const int64_t row = rows_[block + n];
        starts[found] = static_cast<int32_t>(n);
        found += row != previous;
        previous = row;
      }
      for (size_t s = 0; s < found; ++s) {
        const int64_t start = block + starts[s];
        add_row(rows_[open], start - open);
        open = start;
      }
    }
    add_row(rows_[open], end - open);
    leave_chunks();
    return std::move(counts_);
  }

 private:
  void add_row(int64_t row, int64_t length) {
    if (counts_.num_nonempty++ == 0) {
      counts_.first_row = row;
      counts_.first_length = length;
    } else {
      counts_.num_changes += changes_between(counts_.last_row, counts_.last_length, row, length);
    }
    counts_.last_row = row;
    counts_.last_length = length;
    if (length < RowLengths::kCounted)
      ++counts_.num_of_length[static_cast<size_t>(length)];
    else
      counts_.longer.push_back(length);
    if (row / RowLengths::kChunks[0] != chunk_[0]) enter_chunk(row);
    in_chunk_[0] += length;
    window_[row % RowLengths::kChunks[1]] = static_cast<int32_t>(std::min<int64_t>(length, INT32_MAX));
  }

  void leave_chunk(size_t which) {
    counts_.longest_chunk[which] = std::max(counts_.longest_chunk[which], in_chunk_[which]);
    in_chunk_[which] = 0;
  }

  void leave_chunks() {
    in_chunk_[1] += in_chunk_[0];
    leave_chunk(0);
    leave_chunk(1);
  }

  /// A small chunk ends: it is part of the large one, which may end, too.
  void enter_chunk(int64_t row) {
    in_chunk_[1] += in_chunk_[0];
    leave_chunk(0);
    chunk_[0] = row / RowLengths::kChunks[0];
    if (row / RowLengths::kChunks[1] == chunk_[1]) return;
    leave_chunk(1);
    chunk_[1] = row / RowLengths::kChunks[1];
    const int64_t block = row / RowLengths::kWindow;
    window_ = nowhere_.data();
    if (block % window_step_ != 0) return;
    const int64_t in_window = row % RowLengths::kWindow / RowLengths::kChunks[1] * RowLengths::kChunks[1];
    window_ = windows_[static_cast<size_t>(block / window_step_)].data() + in_window;
  }

  const int64_t* rows_;
  int64_t window_step_;
  std::vector<std::vector<int32_t>>& windows_;
  Counts counts_;
  std::array<int64_t, 2> chunk_{-1, -1};
  std::array<int64_t, 2> in_chunk_{};
  std::array<int32_t, 128> nowhere_{};  ///< takes the lengths of rows that are in no window
  int32_t* window_ = nowhere_.data();
};

/// Sampled windows, filled with zeros; returns the step between them in windows.
int64_t make_windows(RowLengths& lengths) {
  const int64_t blocks = num_cells_along(lengths.num_rows, RowLengths::kWindow);
  const int64_t step = std::max<int64_t>(1, num_cells_along(blocks, kMaxWindows));
  for (int64_t block = 0; block < blocks; block += step)
    lengths.windows.emplace_back(
        static_cast<size_t>(std::min(RowLengths::kWindow, lengths.num_rows - block * RowLengths::kWindow)),
        0);
  return step;
}

void merge(RowLengths& lengths, std::vector<Counts>& all) {
  int64_t last_row = -1, last_length = 0, num_nonempty = 0;
  for (Counts& counts : all) {
    if (counts.num_nonempty == 0) continue;
    for (size_t n = 0; n < lengths.num_of_length.size(); ++n)
      lengths.num_of_length[n] += counts.num_of_length[n];
    lengths.longer.insert(lengths.longer.end(), counts.longer.begin(), counts.longer.end());
    lengths.num_changes += counts.num_changes;
    if (last_row >= 0)
      lengths.num_changes += changes_between(last_row, last_length, counts.first_row, counts.first_length);
    else
      lengths.num_changes += counts.first_row > 0;
    for (size_t c = 0; c < 2; ++c)
      lengths.longest_chunk[c] = std::max(lengths.longest_chunk[c], counts.longest_chunk[c]);
    num_nonempty += counts.num_nonempty;
    last_row = counts.last_row;
    last_length = counts.last_length;
  }
  lengths.num_changes += last_row >= 0 && last_row + 1 < lengths.num_rows;
  lengths.num_of_length[0] = lengths.num_rows - num_nonempty;
  std::sort(lengths.longer.begin(), lengths.longer.end(), std::greater<>());
}

}  // namespace

int64_t RowLengths::longest() const {
  int64_t result = 0;
  for_each_length([&](int64_t length, int64_t) { result = std::max(result, length); });
  return result;
}

RowLengths measure_row_lengths(const matrix::SparseTensor& tensor, int threads) {
  RowLengths lengths;
  const std::vector<int64_t>& rows = tensor.coords[0];
  lengths.num_rows = tensor.dims[0];
  lengths.num_nonzeros = tensor.num_nonzeros();
  lengths.num_of_length.assign(RowLengths::kCounted, 0);
  const int64_t step = make_windows(lengths);
  const auto first_of = [&](int64_t row) {
    return static_cast<int64_t>(std::lower_bound(rows.begin(), rows.end(), row) - rows.begin());
  };
  for (size_t part = 0; part <= 64; ++part)
    lengths.part_begin[part] = first_of(
        static_cast<int64_t>(static_cast<__int128>(lengths.num_rows) * static_cast<int64_t>(part) / 64));

  const int num_parts = std::max(1, std::min(threads, static_cast<int>(1 + lengths.num_nonzeros / 16384)));
  std::vector<Counts> counts(static_cast<size_t>(num_parts));
  for_each_parallel(num_parts, num_parts, [&](int64_t part) {
    const auto cut = [&](int64_t p) {
      if (p == 0 || p == num_parts) return p == 0 ? 0 : lengths.num_nonzeros;
      const int64_t row = rows[static_cast<size_t>(lengths.num_nonzeros * p / num_parts)];
      return first_of(row / RowLengths::kChunks[1] * RowLengths::kChunks[1]);
    };
    counts[static_cast<size_t>(part)] = Scan(rows, step, lengths.windows).run(cut(part), cut(part + 1));
  });
  merge(lengths, counts);
  return lengths;
}

}  // namespace waco::pattern
