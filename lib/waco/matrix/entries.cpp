// Reads the coordinate list of a text in parallel into a tensor.
#include "waco/matrix/entries.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "waco/base/error.hpp"

namespace waco::matrix {
namespace {

/// Large arrays that are written once from front to back gain from large pages.
template <typename T>
void reserve_large(std::vector<T>& array, int64_t capacity) {
  constexpr uintptr_t kHugePage = uintptr_t{1} << 21;
  array.reserve(static_cast<size_t>(capacity));
  const auto begin = (reinterpret_cast<uintptr_t>(array.data()) + kHugePage - 1) / kHugePage * kHugePage;
  const auto end = reinterpret_cast<uintptr_t>(array.data() + array.capacity()) / kHugePage * kHugePage;
  if (end > begin) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

void reserve(SparseTensor& tensor, const EntryFormat& format, int64_t max_entries,
             int64_t likely_text_bytes) {
  const int64_t shortest_line = 2 * (format.order + (format.has_value ? 1 : 0));
  const int64_t entries = std::min(max_entries, likely_text_bytes / shortest_line + 1);
  const int64_t capacity = format.symmetry == Symmetry::kGeneral ? entries : 2 * entries;
  for (auto& column : tensor.coords) reserve_large(column, capacity);
  reserve_large(tensor.values, capacity);
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

void append(const EntryChunk& chunk, SparseTensor& tensor) {
  for (int mode = 0; mode < tensor.order(); ++mode) {
    auto& column = tensor.coords[static_cast<size_t>(mode)];
    column.insert(column.end(), chunk.coords(mode), chunk.coords(mode) + chunk.size());
  }
  tensor.values.insert(tensor.values.end(), chunk.values(), chunk.values() + chunk.size());
}

}  // namespace

EntryCounts read_entries(TextReader& text, const EntryFormat& format, int64_t max_entries,
                         int64_t likely_text_bytes, const ReadOptions& options, SparseTensor& tensor) {
  if (likely_text_bytes >= 0 && max_entries < std::numeric_limits<int64_t>::max()) {
    reserve(tensor, format, max_entries, likely_text_bytes);
  }
  EntryCounts counts;
  counts.last_line = text.line_number();
  std::vector<EntryChunk> chunks;
  for (std::string_view block = text.next_block(); !block.empty(); block = text.next_block()) {
    const std::vector<std::string_view> pieces = cut(block, options.chunk_bytes);
    const auto num_pieces = static_cast<int64_t>(pieces.size());
    if (chunks.size() < pieces.size()) chunks.resize(pieces.size());
    const int64_t room = max_entries - counts.num_entries;
#pragma omp parallel for schedule(dynamic, 1) num_threads(options.threads) if (num_pieces > 1)
    for (int64_t i = 0; i < num_pieces; ++i) {
      chunks[static_cast<size_t>(i)].parse(pieces[static_cast<size_t>(i)], format, room);
    }
    for (size_t i = 0; i < pieces.size(); ++i) {
      EntryChunk& chunk = chunks[i];
      const int64_t left = max_entries - counts.num_entries;
      if (chunk.num_entries() > left) chunk.parse(pieces[i], format, left);  // to find the first one too many
      counts.last_line += chunk.num_lines();
      if (!chunk.fault().empty()) throw InputError(text.name(), counts.last_line, chunk.fault());
      append(chunk, tensor);
      counts.num_entries += chunk.num_entries();
      counts.num_not_finite += chunk.num_not_finite();
      counts.has_lower |= chunk.has_lower();
      counts.has_upper |= chunk.has_upper();
    }
  }
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
