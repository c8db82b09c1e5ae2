// Reads the coordinate list of a text in parallel into a tensor.
#include "waco/matrix/entries.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <exception>
#include <limits>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "waco/base/error.hpp"
#include "waco/base/machine.hpp"
#include "waco/base/parallel.hpp"

namespace waco::matrix {
namespace {

void reserve(SparseTensor& tensor, const EntryFormat& format, int64_t max_entries,
             int64_t likely_text_bytes) {
  const int64_t entries = std::min(max_entries, likely_text_bytes / format.shortest_line() + 1);
  const int64_t capacity = format.symmetry == Symmetry::kGeneral ? entries : 2 * entries;
  for (auto& column : tensor.coords) column.reserve(static_cast<size_t>(capacity));
  tensor.values.reserve(static_cast<size_t>(capacity));
}

void check_stop(const TextReader& text, const StopToken& stop) {
  if (stop.stop_requested())
    throw Stopped(fmt::format("{}: reading was stopped ({})", text.name(), stop.reason()));
}

/// Cuts a block into pieces of about `chunk_bytes` that end at ends of lines.
std::vector<std::string_view> cut(std::string_view block, size_t chunk_bytes) {
  std::vector<std::string_view> pieces;
  while (!block.empty()) {
    const size_t last = std::min(std::max<size_t>(chunk_bytes, 1), block.size()) - 1;
    const size_t size = block.find('\n', last) + 1;
    pieces.push_back(block.substr(0, size));
    block.remove_prefix(size);
  }
  return pieces;
}

/// The pieces of one block, parsed; their memory is kept for later blocks.
struct Batch {
  std::vector<EntryChunk> chunks;
  size_t num_used = 0;
};

/// Moves what was parsed to the tensor.
void append(Batch& batch, SparseTensor& tensor) {
  for (size_t i = 0; i < batch.num_used; ++i) {
    const EntryChunk& chunk = batch.chunks[i];
    for (int mode = 0; mode < tensor.order(); ++mode) {
      auto& column = tensor.coords[static_cast<size_t>(mode)];
      column.insert(column.end(), chunk.coords(mode), chunk.coords(mode) + chunk.size());
    }
    tensor.values.insert(tensor.values.end(), chunk.values(), chunk.values() + chunk.size());
  }
  batch.num_used = 0;
}

/// Parses `pieces` into `batch` while one thread appends the batch `before` it to the tensor.
void parse_and_append(const std::vector<std::string_view>& pieces, const EntryFormat& format,
                      int64_t max_entries, int threads, Batch& batch, Batch& before, SparseTensor& tensor) {
  const auto num_pieces = static_cast<int64_t>(pieces.size());
  if (batch.chunks.size() < pieces.size()) batch.chunks.resize(pieces.size());
  batch.num_used = pieces.size();
  for_each_parallel(1 + num_pieces, num_pieces > 1 ? threads : 1, [&](int64_t i) {
    if (i == 0) return append(before, tensor);
    const auto piece = static_cast<size_t>(i - 1);
    batch.chunks[piece].parse(pieces[piece], format, max_entries);
  });
}

/// Adds the piece of text behind those counted to the counts. Throws InputError for a fault, or the first
/// entry too many.
void count(const TextReader& text, std::string_view piece, const EntryFormat& format, int64_t max_entries,
           const EntrySummary& parsed, EntryCounts& counts) {
  const int64_t left = max_entries - counts.num_entries;
  if (parsed.num_entries > left) {
    EntryChunk chunk;  // to find its line
    chunk.parse(piece, format, left);
    throw InputError(text.name(), counts.last_line + chunk.num_lines(), chunk.fault());
  }
  counts.last_line += parsed.num_lines;
  if (!parsed.fault.empty()) throw InputError(text.name(), counts.last_line, parsed.fault);
  counts.num_entries += parsed.num_entries;
  counts.num_not_finite += parsed.num_not_finite;
  counts.num_beyond_f32 += parsed.num_beyond_f32;
  counts.has_lower |= parsed.has_lower;
  counts.has_upper |= parsed.has_upper;
}

/// Reads and parses a text in pieces, each by the thread that takes it, so that no thread waits for another
/// except to read.
class PieceReader {
 public:
  PieceReader(TextReader& text, const EntryFormat& format, int64_t max_entries, const ReadOptions& options,
              EntryBuckets& buckets)
      : text_(text), format_(format), max_entries_(max_entries), options_(options), buckets_(buckets) {}
  EntryCounts run();

 private:
  void work(int thread);
  bool take(TextPiece& piece, size_t& number);
  void finish(const TextPiece& piece, size_t number, const EntrySummary& parsed);

  TextReader& text_;
  const EntryFormat& format_;
  int64_t max_entries_;
  const ReadOptions& options_;
  EntryBuckets& buckets_;

  std::mutex mutex_;  // guards what follows and text_
  bool stopped_ = false;
  std::exception_ptr failure_;          ///< of reading or of memory
  std::vector<EntrySummary> parsed_;    ///< per piece, without lines before it is finished
  int64_t num_finished_ = 0;            ///< entries of the finished pieces
  int64_t bytes_taken_ = 0;             ///< of the pieces that aren't finished
  std::map<size_t, std::string> kept_;  ///< text of pieces that may hold the first entry too many
};

bool PieceReader::take(TextPiece& piece, size_t& number) {
  const std::lock_guard lock(mutex_);
  check_stop(text_, options_.stop);
  if (stopped_ || text_.next_piece(piece, options_.chunk_bytes).empty()) return false;
  number = parsed_.size();
  parsed_.emplace_back();
  bytes_taken_ += static_cast<int64_t>(piece.text().size());
  return true;
}

void PieceReader::finish(const TextPiece& piece, size_t number, const EntrySummary& parsed) {
  {
    const std::lock_guard lock(mutex_);
    parsed_[number] = parsed;
    num_finished_ += parsed.num_entries;
    bytes_taken_ -= static_cast<int64_t>(piece.text().size());
    if (num_finished_ > max_entries_ || !parsed.fault.empty()) stopped_ = true;
    const int64_t most_unfinished = bytes_taken_ / format_.shortest_line();
    if (num_finished_ <= max_entries_ - most_unfinished) return;
  }
  std::string text(piece.text());
  const std::lock_guard lock(mutex_);
  kept_[number] = std::move(text);
}

void PieceReader::work(int thread) {
  try {
    EntryChunk chunk;
    TextPiece piece;
    size_t number = 0;
    while (take(piece, number)) {
      chunk.parse(piece.text(), format_, max_entries_);
      buckets_.deal(number, chunk, thread);
      finish(piece, number, chunk.summary());
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    failure_ = std::current_exception();
    stopped_ = true;
  }
}

EntryCounts PieceReader::run() {
  EntryCounts counts;
  counts.last_line = text_.line_number();
#pragma omp parallel num_threads(options_.threads)
  work(omp_get_thread_num());
  // Pieces are taken in their order: whatever stopped the threads, all before it are parsed.
  for (size_t i = 0; i < parsed_.size() && parsed_[i].num_lines > 0; ++i) {
    const auto kept = kept_.find(i);
    count(text_, kept == kept_.end() ? std::string_view() : kept->second, format_, max_entries_, parsed_[i],
          counts);
  }
  if (failure_) std::rethrow_exception(failure_);
  return counts;
}

}  // namespace

EntryCounts read_entries(TextReader& text, const EntryFormat& format, int64_t max_entries,
                         int64_t likely_text_bytes, const ReadOptions& options, SparseTensor& tensor) {
  if (likely_text_bytes >= 0 && max_entries < std::numeric_limits<int64_t>::max()) {
    reserve(tensor, format, max_entries, likely_text_bytes);
  }
  EntryCounts counts;
  counts.last_line = text.line_number();
  int64_t checked = 0;  // entries that there is memory for
  std::array<Batch, 2> batches;
  size_t turn = 0;
  for (std::string_view block = text.next_block(); !block.empty(); block = text.next_block()) {
    const std::vector<std::string_view> pieces = cut(block, options.chunk_bytes);
    Batch& batch = batches[turn];
    turn = 1 - turn;
    parse_and_append(pieces, format, max_entries - counts.num_entries, options.threads, batch, batches[turn],
                     tensor);
    for (size_t i = 0; i < pieces.size(); ++i) {
      count(text, pieces[i], format, max_entries, batch.chunks[i].summary(), counts);
    }
    check_stop(text, options.stop);
    check_limit(text, counts.num_entries, options);
    if (counts.num_entries > checked) {  // those that are there, once more: arrays grow to twice their size
      check_memory(text, counts.num_entries, 8 * (format.order + 1));
      checked = 2 * counts.num_entries;
    }
  }
  append(batches[1 - turn], tensor);
  return counts;
}

EntryCounts read_entries(TextReader& text, const EntryFormat& format, int64_t max_entries,
                         const ReadOptions& options, EntryBuckets& buckets) {
  EntryCounts counts = PieceReader(text, format, max_entries, options, buckets).run();
  buckets.close();
  return counts;
}

void check_order(const TextReader& text, int order, const ReadOptions& options) {
  if (options.order == 0 || options.order == order) return;
  const auto name = [](int of) { return of == 2 ? "a matrix" : "a 3-D tensor"; };
  throw UsageError(
      fmt::format("{} is {}, and what is asked for needs {}", text.name(), name(order), name(options.order)));
}

void check_limit(const TextReader& text, int64_t num_nonzeros, const ReadOptions& options) {
  if (num_nonzeros > options.most_nonzeros)
    throw InputError(text.name(), 0,
                     fmt::format("has {} nonzeros or more; at most {} are supported", num_nonzeros,
                                 options.most_nonzeros));
}

void check_memory(const TextReader& text, int64_t num_nonzeros, int64_t bytes_each) {
  const double bytes = static_cast<double>(num_nonzeros) * static_cast<double>(bytes_each);
  const auto free = static_cast<double>(available_memory_bytes());
  if (bytes > free)
    throw TooLargeError(fmt::format(
        "{}: {} nonzeros or more: reading them takes {:.1f} GB, and {:.1f} GB are free; use a smaller "
        "matrix or a machine with more memory",
        text.name(), num_nonzeros, bytes * 1e-9, free * 1e-9));
}

void note_oddities(const EntryCounts& counts, int64_t num_merged, std::vector<std::string>& notes) {
  if (num_merged > 0) {
    notes.push_back(
        fmt::format("{} duplicate {} summed", num_merged, num_merged == 1 ? "entry was" : "entries were"));
  }
  if (counts.num_not_finite > 0) {
    notes.push_back(fmt::format("{} {} infinite or not a number", counts.num_not_finite,
                                counts.num_not_finite == 1 ? "value is" : "values are"));
  }
  if (counts.num_beyond_f32 > 0) {
    notes.push_back(fmt::format("{} {} too large for f32", counts.num_beyond_f32,
                                counts.num_beyond_f32 == 1 ? "value is" : "values are"));
  }
}

}  // namespace waco::matrix
