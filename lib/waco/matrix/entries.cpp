// Reads the coordinate list of a text in parallel into a tensor.
#include "waco/matrix/entries.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <limits>
#include <vector>

#include "waco/base/error.hpp"

namespace waco::matrix {
namespace {

void reserve(SparseTensor& tensor, const EntryFormat& format, int64_t max_entries,
             int64_t likely_text_bytes) {
  const int64_t shortest_line = 2 * (format.order + (format.has_value ? 1 : 0));
  const int64_t entries = std::min(max_entries, likely_text_bytes / shortest_line + 1);
  const int64_t capacity = format.symmetry == Symmetry::kGeneral ? entries : 2 * entries;
  for (auto& column : tensor.coords) column.reserve(static_cast<size_t>(capacity));
  tensor.values.reserve(static_cast<size_t>(capacity));
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
  std::exception_ptr failure;  // only memory can run out here
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads) if (num_pieces > 1)
  for (int64_t i = -1; i < num_pieces; ++i) {
    try {
      if (i < 0) {
        append(before, tensor);
      } else {
        batch.chunks[static_cast<size_t>(i)].parse(pieces[static_cast<size_t>(i)], format, max_entries);
      }
    } catch (...) {
#pragma omp critical(waco_parse_failure)
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

/// Adds a parsed batch to the counts. Throws InputError for the first fault, or the first entry too many.
void count(const TextReader& text, const std::vector<std::string_view>& pieces, const EntryFormat& format,
           int64_t max_entries, Batch& batch, EntryCounts& counts) {
  for (size_t i = 0; i < batch.num_used; ++i) {
    EntryChunk& chunk = batch.chunks[i];
    const int64_t left = max_entries - counts.num_entries;
    if (chunk.num_entries() > left) chunk.parse(pieces[i], format, left);  // to find its line
    counts.last_line += chunk.num_lines();
    if (!chunk.fault().empty()) throw InputError(text.name(), counts.last_line, chunk.fault());
    counts.num_entries += chunk.num_entries();
    counts.num_not_finite += chunk.num_not_finite();
    counts.has_lower |= chunk.has_lower();
    counts.has_upper |= chunk.has_upper();
  }
}

}  // namespace

EntryCounts read_entries(TextReader& text, const EntryFormat& format, int64_t max_entries,
                         int64_t likely_text_bytes, const ReadOptions& options, SparseTensor& tensor) {
  if (likely_text_bytes >= 0 && max_entries < std::numeric_limits<int64_t>::max()) {
    reserve(tensor, format, max_entries, likely_text_bytes);
  }
  EntryCounts counts;
  counts.last_line = text.line_number();
  std::array<Batch, 2> batches;
  size_t turn = 0;
  for (std::string_view block = text.next_block(); !block.empty(); block = text.next_block()) {
    const std::vector<std::string_view> pieces = cut(block, options.chunk_bytes);
    Batch& batch = batches[turn];
    turn = 1 - turn;
    parse_and_append(pieces, format, max_entries - counts.num_entries, options.threads, batch, batches[turn],
                     tensor);
    count(text, pieces, format, max_entries, batch, counts);
  }
  append(batches[1 - turn], tensor);
  return counts;
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
}

}  // namespace waco::matrix
