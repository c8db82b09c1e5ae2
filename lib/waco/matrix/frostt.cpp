// The FROSTT text format of sparse tensors (.tns).
#include "waco/matrix/frostt.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "waco/base/error.hpp"
#include "waco/matrix/entries.hpp"
#include "waco/matrix/line.hpp"

namespace waco::matrix {
namespace {

/// Number of indices of the first entry, which is left to be read again.
int find_order(TextReader& text) {
  while (const auto line = text.next_line()) {
    const char first = first_character(*line);
    if (first == '\0' || first == '#') continue;
    const bool begins_with_digit = first >= '0' && first <= '9';
    const std::string_view entry = line->substr(0, line->find('#'));  // a comment there is told of later
    const int order = static_cast<int>(words_of(entry).size()) - 1;
    if (!begins_with_digit) {
      throw InputError(
          text.name(), text.line_number(),
          fmt::format("neither a Matrix Market file, whose first line begins with '%%MatrixMarket', nor "
                      "a .tns tensor: found {}",
                      in_quotes(*line)));
    }
    if (order < 2) {
      throw InputError(
          text.name(), text.line_number(),
          fmt::format("{} is no nonzero of a tensor, 'I J K VALUE'; {}", in_quotes(*line),
                      order == 1 ? "an edge list needs the first two lines of a Matrix Market file"
                      : line->find(',') != std::string_view::npos
                          ? "numbers stand apart by blanks, not commas"
                          : "a .tns file has no header lines"));
    }
    if (order > 3) {
      throw InputError(
          text.name(), text.line_number(),
          fmt::format("a tensor of order {}; only orders 2 and 3 are supported: sum over the other modes",
                      order));
    }
    text.unread_line();
    return order;
  }
  throw InputError(text.name(), 0, "the file holds no entries, and a .tns file no dimensions without them");
}

int64_t largest(const std::vector<int64_t>& column, int threads) {
  const auto count = static_cast<int64_t>(column.size());
  int64_t result = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(max : result) if (count > 100000)
  for (int64_t i = 0; i < count; ++i) result = std::max(result, column[static_cast<size_t>(i)]);
  return result;
}

/// Whether a matrix looks like the body of a Matrix Market file whose first lines are lost: the first entry
/// would be its size line. What is named a .tns is one.
bool is_headless_matrix_market(const std::string& name, const SparseTensor& tensor) {
  if (name.ends_with(".tns") || name.ends_with(".tns.gz")) return false;
  const int64_t count = tensor.num_nonzeros();
  return tensor.order() == 2 && count > 1 && tensor.values[0] == static_cast<double>(count - 1) &&
         tensor.coords[0][0] + 1 == tensor.dims[0] && tensor.coords[1][0] + 1 == tensor.dims[1];
}

}  // namespace

ReadResult read_frostt(TextReader& text, const ReadOptions& options) {
  EntryFormat format;
  format.order = find_order(text);
  check_order(text, format.order, options);
  format.comment = '#';
  ReadResult result;
  SparseTensor& tensor = result.tensor;
  tensor.dims.resize(static_cast<size_t>(format.order));
  tensor.coords.resize(tensor.dims.size());
  const EntryCounts counts =
      read_entries(text, format, std::numeric_limits<int64_t>::max(), -1, options, tensor);
  for (size_t mode = 0; mode < tensor.dims.size(); ++mode) {
    tensor.dims[mode] = largest(tensor.coords[mode], options.threads) + 1;
  }
  if (is_headless_matrix_market(text.name(), tensor)) {
    throw InputError(
        text.name(), 0,
        "looks like a Matrix Market file without its first line; put '%%MatrixMarket matrix coordinate "
        "real general' in front");
  }
  const int64_t num_merged = sort_and_merge(tensor, options.threads);
  note_oddities(counts, num_merged, result.notes);
  return result;
}

}  // namespace waco::matrix
