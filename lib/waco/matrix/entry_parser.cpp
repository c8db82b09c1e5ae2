// Parses a piece of a coordinate list: lines of 1-based indices and at most one value.
#include "waco/matrix/entry_parser.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "waco/base/error.hpp"
#include "waco/matrix/number.hpp"

namespace waco::matrix {
namespace {

inline void skip_blanks(const char*& p) {
  while (*p == ' ' || *p == '\t' || *p == '\r') ++p;
}

/// Behind the '\n' that ends the line of `p`.
inline const char* next_line(const char* p, const char* end) {
  return static_cast<const char*>(std::memchr(p, '\n', static_cast<size_t>(end - p))) + 1;
}

/// One entry and the end of its line; false for anything else, with `p` somewhere in the line.
template <int kOrder, bool kHasValue>
inline bool parse_entry(const char*& p, const std::array<int64_t, 3>& dims, std::array<int64_t, 3>& index,
                        double& value) {
  for (int mode = 0; mode < kOrder; ++mode) {
    const auto m = static_cast<size_t>(mode);
    skip_blanks(p);
    if (parse_index(p, index[m]) != NumberStatus::kOk) return false;
    if (index[m] < 1 || index[m] > dims[m]) return false;
  }
  if constexpr (kHasValue) {
    skip_blanks(p);
    if (parse_value(p, value) != NumberStatus::kOk) return false;
  }
  skip_blanks(p);
  if (*p != '\n') return false;
  ++p;
  return true;
}

}  // namespace

void EntryChunk::reserve(int64_t capacity, int order) {
  if (capacity <= capacity_ && order <= capacity_order_) return;
  const auto size = static_cast<size_t>(capacity);
  for (int mode = 0; mode < order; ++mode) {
    coords_[static_cast<size_t>(mode)] = std::make_unique_for_overwrite<int64_t[]>(size);
  }
  values_ = std::make_unique_for_overwrite<double[]>(size);
  capacity_ = capacity;
  capacity_order_ = order;
}

void EntryChunk::parse(std::string_view text, const EntryFormat& format, int64_t max_entries) {
  WACO_ASSERT(format.order == 2 || (format.order == 3 && format.has_value));
  WACO_ASSERT(text.empty() || text.back() == '\n');
  size_ = 0;
  summary_ = {};
  const auto images = format.symmetry == Symmetry::kGeneral ? 1 : 2;
  reserve((static_cast<int64_t>(text.size()) / format.shortest_line() + 1) * images, format.order);
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  if (format.order == 3) return parse_lines<3, true>(begin, end, format, max_entries);
  if (format.has_value) return parse_lines<2, true>(begin, end, format, max_entries);
  parse_lines<2, false>(begin, end, format, max_entries);
}

template <int kOrder, bool kHasValue>
void EntryChunk::parse_lines(const char* p, const char* end, const EntryFormat& format, int64_t max_entries) {
  std::array<int64_t, 3> index{};
  double value = 1;
  while (p < end) {
    const char* const line = p;
    ++summary_.num_lines;
    skip_blanks(p);
    if (*p == '\n') {
      ++p;
      continue;
    }
    if (*p == format.comment) {
      p = next_line(p, end);
      continue;
    }
    const bool parsed = parse_entry<kOrder, kHasValue>(p, format.dims, index, value);
    if (!parsed || summary_.num_entries == max_entries || !append<kOrder>(index, value, format.symmetry)) {
      const char* const stop = next_line(line, end) - 1;
      summary_.fault = describe_fault(std::string_view(line, static_cast<size_t>(stop - line)), format);
      if (summary_.fault.empty())
        summary_.fault = "there are more entries than the size line declares; correct that line";
      return;
    }
  }
}

/// Stores an entry and its mirror image; false for a diagonal entry of a skew-symmetric matrix that is not 0.
template <int kOrder>
inline bool EntryChunk::append(const std::array<int64_t, 3>& index, double value, Symmetry symmetry) {
  const auto position = static_cast<size_t>(size_);
  for (size_t mode = 0; mode < kOrder; ++mode) coords_[mode][position] = index[mode] - 1;
  values_[position] = value;
  ++size_;
  ++summary_.num_entries;
  if (!(std::abs(value) <= std::numeric_limits<float>::max()))
    ++(std::isfinite(value) ? summary_.num_beyond_f32 : summary_.num_not_finite);
  if (symmetry == Symmetry::kGeneral) return true;
  if (index[0] == index[1]) return symmetry == Symmetry::kSymmetric || value == 0;
  (index[0] > index[1] ? summary_.has_lower : summary_.has_upper) = true;
  coords_[0][position + 1] = index[1] - 1;
  coords_[1][position + 1] = index[0] - 1;
  values_[position + 1] = symmetry == Symmetry::kSkewSymmetric ? -value : value;
  ++size_;
  return true;
}

}  // namespace waco::matrix
