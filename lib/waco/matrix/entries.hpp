// Reads the coordinate list of a text in parallel into a tensor.
#pragma once

#include <cstdint>
#include <string>

#include "waco/matrix/entry_buckets.hpp"
#include "waco/matrix/entry_parser.hpp"
#include "waco/matrix/read.hpp"
#include "waco/matrix/sparse_tensor.hpp"
#include "waco/matrix/text_reader.hpp"

namespace waco::matrix {

/// What the text of a coordinate list turned out to hold.
struct EntryCounts {
  int64_t num_entries = 0;     ///< lines with an entry; mirror images are not counted
  int64_t num_not_finite = 0;  ///< of them, with a value of inf or nan
  int64_t num_beyond_f32 = 0;  ///< of them, with another that is infinite in f32
  int64_t last_line = 0;       ///< 1-based number of the text's last line
  bool has_lower = false;      ///< an entry below the diagonal was seen (symmetric files only)
  bool has_upper = false;
};

/// Appends what is left of `text` to the coordinates and values of `tensor`, in file order. More than
/// `max_entries` lines with an entry are an error. Where `likely_text_bytes` isn't negative, memory for
/// `max_entries` is taken at once, but never more than a text of that length could fill. Throws InputError.
EntryCounts read_entries(TextReader& text, const EntryFormat& format, int64_t max_entries,
                         int64_t likely_text_bytes, const ReadOptions& options, SparseTensor& tensor);

/// The same, dealt to `buckets`, whose threads are those of `options`.
EntryCounts read_entries(TextReader& text, const EntryFormat& format, int64_t max_entries,
                         const ReadOptions& options, EntryBuckets& buckets);

/// Throws TooLargeError where reading on takes `bytes_each` for each of so many nonzeros, and less memory is
/// free.
void check_memory(const TextReader& text, int64_t num_nonzeros, int64_t bytes_each);
/// Throws UsageError for a file of another order than `options` need.
void check_order(const TextReader& text, int order, const ReadOptions& options);
/// Throws InputError for more nonzeros than `options` allow.
void check_limit(const TextReader& text, int64_t num_nonzeros, const ReadOptions& options);

/// Adds what people should know about the entries to `notes`; `num_merged` is how many were summed into
/// others.
void note_oddities(const EntryCounts& counts, int64_t num_merged, std::vector<std::string>& notes);

}  // namespace waco::matrix
