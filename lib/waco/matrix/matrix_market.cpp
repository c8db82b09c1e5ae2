// Reading the Matrix Market coordinate format.
#include "waco/matrix/matrix_market.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <vector>

#include "waco/base/error.hpp"
#include "waco/matrix/entries.hpp"
#include "waco/matrix/line.hpp"
#include "waco/matrix/number.hpp"

namespace waco::matrix {
namespace {

/// What stands above the entries.
struct Header {
  bool has_value = true;  ///< false for "pattern": every value is 1
  Symmetry symmetry = Symmetry::kGeneral;
  int64_t num_rows = 0;
  int64_t num_cols = 0;
  int64_t num_entries = 0;  ///< as stored, without mirror images
};

constexpr const char* kBannerExample = "'%%MatrixMarket matrix coordinate real general'";

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

std::vector<std::string> lower_words_of(std::string_view line) {
  std::vector<std::string> words;
  for (const std::string_view word : words_of(line)) words.push_back(lower(word));
  return words;
}

[[noreturn]] void fail(const TextReader& text, const std::string& message) {
  throw InputError(text.name(), text.line_number(), message);
}

bool field_has_value(const TextReader& text, const std::string& field) {
  if (field == "real" || field == "double" || field == "integer" || field == "unsigned-integer") return true;
  if (field == "pattern") return false;
  if (field == "complex") {
    fail(text,
         "complex values are not supported; write the real part, or real and imaginary parts as two files");
  }
  fail(text, fmt::format("unknown field {}; expected real, integer or pattern", in_quotes(field)));
}

Symmetry symmetry_of(const TextReader& text, const std::string& word) {
  if (word == "general") return Symmetry::kGeneral;
  if (word == "symmetric") return Symmetry::kSymmetric;
  if (word == "skew-symmetric") return Symmetry::kSkewSymmetric;
  if (word == "hermitian") fail(text, "hermitian matrices are complex, which is not supported");
  fail(text,
       fmt::format("unknown symmetry {}; expected general, symmetric or skew-symmetric", in_quotes(word)));
}

void read_banner(TextReader& text, Header& header) {
  const auto line = text.next_line();
  if (!line || !is_matrix_market_banner(*line)) fail(text, fmt::format("expected {}", kBannerExample));
  const std::vector<std::string> words = lower_words_of(*line);
  if (words.size() < 5) {
    fail(text, fmt::format("the first line is incomplete; it should read like {}", kBannerExample));
  }
  if (words[1] != "matrix") {
    fail(text, fmt::format("the file holds a {}; only 'matrix' is supported", in_quotes(words[1])));
  }
  if (words[2] == "array") {
    fail(text, "a dense ('array') matrix; convert it to 'coordinate', one line for each nonzero");
  }
  if (words[2] != "coordinate") {
    fail(text, fmt::format("unknown format {}; expected coordinate", in_quotes(words[2])));
  }
  header.has_value = field_has_value(text, words[3]);
  header.symmetry = symmetry_of(text, words[4]);
  if (!header.has_value && header.symmetry == Symmetry::kSkewSymmetric) {
    fail(text,
         "a pattern has no signs and can't be skew-symmetric; write 'symmetric', or 'real' with values");
  }
}

void read_size_line(TextReader& text, std::string_view line, Header& header) {
  constexpr const char* kExpected = "expected the size line, 'ROWS COLUMNS ENTRIES'";
  const std::array<int64_t*, 3> sizes = {&header.num_rows, &header.num_cols, &header.num_entries};
  const std::vector<std::string_view> words = words_of(line);
  if (words.size() != sizes.size()) fail(text, fmt::format("{}, found {}", kExpected, in_quotes(line)));
  for (size_t i = 0; i < sizes.size(); ++i) {
    const std::string word = std::string(words[i]) + '\n';
    const char* p = word.c_str();
    const NumberStatus status = parse_index(p, *sizes[i]);
    if (status == NumberStatus::kOutOfRange) {
      fail(text, fmt::format("{} does not fit in 64 bits; correct the size line", in_quotes(words[i])));
    }
    if (status != NumberStatus::kOk) fail(text, fmt::format("{}, found {}", kExpected, in_quotes(line)));
  }
  if (header.num_rows == 0 || header.num_cols == 0) {
    fail(text, fmt::format("a {} x {} matrix has no elements; there is nothing to tune", header.num_rows,
                           header.num_cols));
  }
  if (header.symmetry != Symmetry::kGeneral && header.num_rows != header.num_cols) {
    fail(text, fmt::format("a symmetric matrix must be square, not {} x {}; correct the size line or write "
                           "'general' in the first line",
                           header.num_rows, header.num_cols));
  }
}

/// Lines that were summed into others.
struct Duplicates {
  int64_t num_lines = 0;      ///< mirror images, which were summed, too, count with their lines
  bool off_diagonal = false;  ///< some stand off the diagonal, in a symmetric file
};

/// Of the `expanded` entries that the lines stand for.
Duplicates find_duplicates(const Header& header, const EntryCounts& counts, int64_t expanded,
                           const SparseTensor& tensor) {
  const int64_t num_merged = expanded - tensor.num_nonzeros();
  if (header.symmetry == Symmetry::kGeneral || num_merged == 0) return {num_merged, false};
  int64_t diagonal = 0;
  for (size_t p = 0; p < tensor.values.size(); ++p) diagonal += tensor.coords[0][p] == tensor.coords[1][p];
  const int64_t diagonal_lines = 2 * counts.num_entries - expanded;
  return {counts.num_entries - (tensor.num_nonzeros() + diagonal) / 2,
          num_merged > diagonal_lines - diagonal};
}

/// What reading did beyond storing the lines.
std::vector<std::string> describe(const Header& header, const EntryCounts& counts, int64_t expanded,
                                  int64_t num_duplicates) {
  std::vector<std::string> notes;
  if (!header.has_value) notes.push_back("pattern: every value is 1");
  if (header.symmetry != Symmetry::kGeneral) {
    notes.push_back(fmt::format("{}: {} entries expanded to {}",
                                header.symmetry == Symmetry::kSymmetric ? "symmetric" : "skew-symmetric",
                                counts.num_entries, expanded));
  }
  note_oddities(counts, num_duplicates, notes);
  return notes;
}

struct Body {
  EntryCounts counts;
  int64_t expanded = 0;  ///< entries with their mirror images
};

void check_complete(const TextReader& text, const Header& header, int64_t size_line,
                    const EntryCounts& counts) {
  if (counts.num_entries >= header.num_entries) return;
  throw InputError(
      text.name(), counts.last_line,
      fmt::format(
          "the file ends after {} of the {} entries that line {} declares; it is cut off, or the size "
          "line is wrong",
          counts.num_entries, header.num_entries, size_line));
}

/// Reads the entries of a matrix whose coordinates fit in 32 bits.
Body read_narrow_body(TextReader& text, const Header& header, const EntryFormat& format,
                      const ReadOptions& options, SparseTensor& tensor) {
  const int64_t size_line = text.line_number();
  EntryBuckets buckets(format, header.num_entries, options.threads);
  Body body;
  body.counts = read_entries(text, format, header.num_entries, options, buckets);
  check_complete(text, header, size_line, body.counts);
  body.expanded = buckets.num_entries();
  if (buckets.sort_into(tensor) > 0) sort_and_merge(tensor, options.threads);
  return body;
}

/// Reads the entries of any matrix.
Body read_wide_body(TextReader& text, const Header& header, const EntryFormat& format,
                    int64_t likely_text_bytes, const ReadOptions& options, SparseTensor& tensor) {
  const int64_t size_line = text.line_number();
  Body body;
  body.counts = read_entries(text, format, header.num_entries, likely_text_bytes, options, tensor);
  check_complete(text, header, size_line, body.counts);
  body.expanded = tensor.num_nonzeros();
  sort_and_merge(tensor, options.threads);
  return body;
}

/// Reads banner, comments and size line. Throws InputError.
Header read_header(TextReader& text) {
  Header header;
  read_banner(text, header);
  while (const auto line = text.next_line()) {
    const char first = first_character(*line);
    if (first == '\0' || first == '%') continue;
    read_size_line(text, *line, header);
    return header;
  }
  fail(text, "the file ends before its size line, 'ROWS COLUMNS ENTRIES'; it is cut off");
}

}  // namespace

bool is_matrix_market_banner(std::string_view line) {
  constexpr std::string_view kBanner = "%%matrixmarket";
  return lower(line.substr(0, kBanner.size())) == kBanner &&
         (line.size() == kBanner.size() || kBlanks.find(line[kBanner.size()]) != std::string_view::npos);
}

ReadResult read_matrix_market(TextReader& text, int64_t likely_text_bytes, const ReadOptions& options) {
  const Header header = read_header(text);
  check_order(text, 2, options);
  EntryFormat format;
  format.has_value = header.has_value;
  format.symmetry = header.symmetry;
  format.dims = {header.num_rows, header.num_cols, 1};

  // Of a text of unknown length the size line's word is all there is: to refuse by it takes nothing.
  int64_t least = header.num_entries;
  if (likely_text_bytes >= 0) least = std::min(least, likely_text_bytes / format.shortest_line() + 1);
  if (format.symmetry != Symmetry::kGeneral)  // all but those on the diagonal stand for two
    least = std::max(least, 2 * std::min(least, int64_t{1} << 61) - header.num_rows);
  check_limit(text, least, options);
  // In buckets, and sorted; of few rows the entries of one row for each thread once more.
  const bool has_long_rows = header.num_rows <= 4 * int64_t{options.threads};
  check_memory(text, least, (header.has_value ? 40 : 32) + (has_long_rows ? 24 : 0));

  ReadResult result;
  SparseTensor& tensor = result.tensor;
  tensor.dims = {header.num_rows, header.num_cols};
  tensor.coords.resize(2);
  const auto [counts, expanded] =
      EntryBuckets::fits(format.dims)
          ? read_narrow_body(text, header, format, options, tensor)
          : read_wide_body(text, header, format, likely_text_bytes, options, tensor);
  check_limit(text, tensor.num_nonzeros(), options);
  const Duplicates duplicates = find_duplicates(header, counts, expanded, tensor);
  if (duplicates.off_diagonal && counts.has_lower && counts.has_upper) {
    throw InputError(
        text.name(), 1,
        "declared symmetric, yet entries stand on both sides of the diagonal and some twice; keep one "
        "triangle, or write 'general' in the first line");
  }
  result.notes = describe(header, counts, expanded, duplicates.num_lines);
  return result;
}

}  // namespace waco::matrix
