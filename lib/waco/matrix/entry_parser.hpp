// Parses a piece of a coordinate list: lines of 1-based indices and at most one value.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

namespace waco::matrix {

enum class Symmetry {
  kGeneral,
  kSymmetric,      ///< every entry off the diagonal also stands for its mirror image
  kSkewSymmetric,  ///< the same, negated; no diagonal
};

/// What the lines of a file look like.
struct EntryFormat {
  int order = 2;          ///< indices of a line, 2 or 3
  bool has_value = true;  ///< without one it is 1
  Symmetry symmetry = Symmetry::kGeneral;
  char comment = '%';
  /// Largest index per mode.
  std::array<int64_t, 3> dims = {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::max(),
                                 std::numeric_limits<int64_t>::max()};

  /// Bytes of the shortest entry: one digit and one separator for each of its numbers.
  int64_t shortest_line() const { return 2 * (order + (has_value ? 1 : 0)); }
};

/// What a piece of text holds.
struct EntrySummary {
  int64_t num_lines = 0;       ///< up to and with the faulty one
  int64_t num_entries = 0;     ///< lines with an entry
  int64_t num_not_finite = 0;  ///< values that are inf or nan
  int64_t num_beyond_f32 = 0;  ///< others that are infinite in f32
  bool has_lower = false;      ///< an entry below the diagonal was seen (symmetric only)
  bool has_upper = false;
  std::string fault;  ///< what is wrong with the last line, "" when nothing is
};

/// The entries of one piece of text, in file order, every mirror image behind its entry. Memory is kept from
/// one piece to the next.
class EntryChunk {
 public:
  /// Parses `text`, whole lines that all end in '\n', up to the first fault or, when there are more than
  /// `max_entries`, up to the line of the first one too many.
  void parse(std::string_view text, const EntryFormat& format, int64_t max_entries);

  int64_t size() const { return size_; }  ///< entries with their mirror images
  const int64_t* coords(int mode) const {
    return coords_[static_cast<size_t>(mode)].get();
  }                                                       ///< 0-based, [size]
  const double* values() const { return values_.get(); }  ///< [size]

  const EntrySummary& summary() const { return summary_; }
  int64_t num_lines() const { return summary_.num_lines; }
  const std::string& fault() const { return summary_.fault; }

 private:
  void reserve(int64_t capacity, int order);
  template <int kOrder, bool kHasValue>
  void parse_lines(const char* p, const char* end, const EntryFormat& format, int64_t max_entries);
  template <int kOrder>
  bool append(const std::array<int64_t, 3>& index, double value, Symmetry symmetry);

  std::array<std::unique_ptr<int64_t[]>, 3> coords_;
  std::unique_ptr<double[]> values_;
  int64_t capacity_ = 0;
  int capacity_order_ = 0;
  int64_t size_ = 0;
  EntrySummary summary_;
};

/// Why `line` (without its end) isn't an entry, and what to do about it.
std::string describe_fault(std::string_view line, const EntryFormat& format);

/// `text` in quotes as part of a one-line message: control characters replaced, cut after 40.
std::string in_quotes(std::string_view text);

}  // namespace waco::matrix
