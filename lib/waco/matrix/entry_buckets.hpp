// The entries of a matrix between its text and its tensor: in narrow form, dealt to buckets of neighbouring
// rows, so that every bucket is sorted straight into the tensor while it is in cache.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "waco/matrix/entry_parser.hpp"
#include "waco/matrix/row_buckets.hpp"
#include "waco/matrix/sparse_tensor.hpp"

namespace waco::matrix {

/// Takes parsed pieces of text from several threads. Needs 16 bytes for an entry, 8 without a value, where
/// the tensor needs 24.
class EntryBuckets {
 public:
  /// Whether the coordinates of a matrix of `dims` fit in the narrow form.
  static bool fits(const std::array<int64_t, 3>& dims) {
    constexpr int64_t kLargest = int64_t{1} << 32;
    return dims[0] <= kLargest && dims[1] <= kLargest;
  }

  /// `likely_entries`, which may be far off, decides the number of buckets only. Threads are numbered from 0
  /// to `threads`, exclusive.
  EntryBuckets(const EntryFormat& format, int64_t likely_entries, int threads);

  /// Stores the entries of a piece; the numbers of the pieces give their order in the text. Different pieces
  /// may be dealt at the same time by different threads.
  void deal(size_t piece, const EntryChunk& chunk, int thread);

  /// To be called after the last piece.
  void close();

  int64_t num_entries() const;  ///< mirror images included

  /// Fills coordinates and values of `tensor`, sorted; equal coordinates stay in the order of the text.
  /// Returns how many entries equal the one before them.
  int64_t sort_into(SparseTensor& tensor) const;

 private:
  /// One piece of the text: its entries ordered by bucket, in a bucket by their order in the text.
  struct Piece {
    size_t number = 0;
    const uint64_t* keys = nullptr;    ///< row << 32 | column
    const double* values = nullptr;    ///< nullptr for patterns
    const uint32_t* begins = nullptr;  ///< of the buckets first_bucket + i, [num_buckets + 1]
    int64_t first_bucket = 0;
    int64_t num_buckets = 0;
    int64_t size = 0;
  };
  /// Memory that one thread deals from, whose blocks stay where they are, and what it dealt.
  struct Arena {
    std::vector<Piece> pieces;
    std::vector<std::unique_ptr<uint64_t[]>> blocks;
    size_t block_words = 0;
    size_t used_words = 0;
    uint64_t* take(size_t words);
  };
  struct Segment {
    const uint64_t* keys;
    const double* values;
    int64_t size;
  };
  /// An entry on its way to its place; `position` keeps equal keys in order.
  struct Entry {
    uint64_t key;
    int64_t position;
    double value;
  };
  /// Reused from bucket to bucket by one thread.
  struct Scratch {
    std::vector<Segment> segments;
    std::vector<int64_t> starts;
    std::vector<Entry> entries;
  };

  std::vector<int64_t> bucket_begins() const;
  void find_segments(int64_t bucket, Scratch& scratch) const;
  void sort_by_rows(int64_t bucket, int64_t begin, SparseTensor& tensor, Scratch& scratch) const;
  int64_t finish_rows(int64_t bucket, int64_t begin, SparseTensor& tensor, Scratch& scratch) const;
  int64_t sort_by_comparison(int64_t begin, SparseTensor& tensor, Scratch& scratch) const;

  bool has_value_;
  int threads_;
  RowBuckets buckets_;
  std::vector<Piece> pieces_;  ///< in the order of the text, once closed

  std::vector<Arena> arenas_;                  ///< [threads]
  std::vector<std::vector<uint32_t>> counts_;  ///< [threads], reused from piece to piece
};

}  // namespace waco::matrix
