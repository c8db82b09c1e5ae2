// See reference_packer.hpp.
#include "reference_packer.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <optional>
#include <set>

#include "waco/codegen/storage.hpp"

namespace waco::codegen {

using matrix::SparseTensor;
using schedule::FormatSchedule;
using schedule::Level;
using schedule::LevelKind;

namespace {

using Path = std::vector<int64_t>;

int64_t extent_of(const FormatSchedule& format, const std::vector<int64_t>& dims, const Level& level) {
  const int64_t split = format.split[level.var.index], dim = dims[level.var.index];
  if (split == 1) return dim;
  return level.var.inner ? split : (dim + split - 1) / split;
}

/// What storage should hold: paths of all positions of the last level and the arrays of every level.
struct Reference {
  std::vector<std::vector<int64_t>> pos, crd;          ///< by level
  std::vector<std::optional<Path>> positions{Path{}};  ///< of the level reached so far; nullopt for padding
  std::vector<int64_t> row_of;
  int64_t width = 0;
};

class ReferencePacker {
 public:
  ReferencePacker(const SparseTensor& tensor, const FormatSchedule& format)
      : tensor_(tensor), format_(format) {
    for (int64_t n = 0; n < tensor.num_nonzeros(); ++n) paths_.push_back(path_of(n, tensor.coords[0][n]));
    const size_t levels = format.levels.size();
    result_.pos.resize(levels);
    result_.crd.resize(levels);
  }

  Reference run() {
    for (size_t l = 0; l < format_.levels.size();) {
      size_t last = l;
      while (last + 1 < format_.levels.size() && format_.levels[last + 1].kind == LevelKind::kSingleton)
        ++last;
      const LevelKind kind = format_.levels[l].kind;
      if (kind == LevelKind::kUncompressed) uncompressed(l);
      if (kind == LevelKind::kCompressed) compressed(l, last);
      if (kind == LevelKind::kEll || kind == LevelKind::kSliced) slots(l, last);
      l = last + 1;
    }
    return std::move(result_);
  }

  /// Level coordinates of nonzero n, its row replaced by `row`.
  Path path_of(int64_t n, int64_t row) const {
    Path path;
    for (const Level& level : format_.levels) {
      const int64_t x = level.var.index == 0 ? row : tensor_.coords[level.var.index][n];
      const int64_t split = format_.split[level.var.index];
      path.push_back(split == 1 ? x : level.var.inner ? x % split : x / split);
    }
    return path;
  }

 private:
  int64_t extent(size_t l) const { return extent_of(format_, tensor_.dims, format_.levels[l]); }

  /// Distinct coordinates of levels first .. last by the path above them.
  std::map<Path, std::set<Path>> children(size_t first, size_t last) const {
    std::map<Path, std::set<Path>> result;
    for (const Path& path : paths_)
      result[Path(path.begin(), path.begin() + first)].insert(
          Path(path.begin() + first, path.begin() + last + 1));
    return result;
  }

  void uncompressed(size_t l) {
    std::vector<std::optional<Path>> next;
    for (const auto& parent : result_.positions) {
      for (int64_t c = 0; c < extent(l); ++c) {
        next.push_back(parent);
        if (parent) next.back()->push_back(c);
      }
    }
    result_.positions = std::move(next);
  }

  void append(size_t first, const std::optional<Path>& parent, const Path& tuple, bool padding,
              std::vector<std::optional<Path>>& next) {
    for (size_t i = 0; i < tuple.size(); ++i) result_.crd[first + i].push_back(tuple[i]);
    next.push_back(std::nullopt);
    if (padding) return;
    next.back() = *parent;
    next.back()->insert(next.back()->end(), tuple.begin(), tuple.end());
  }

  void compressed(size_t first, size_t last) {
    auto tuples = children(first, last);
    std::vector<std::optional<Path>> next;
    result_.pos[first].push_back(0);
    for (const auto& parent : result_.positions) {
      for (const Path& tuple : tuples[*parent]) append(first, parent, tuple, false, next);
      result_.pos[first].push_back(static_cast<int64_t>(next.size()));
    }
    result_.positions = std::move(next);
  }

  /// Stored rows in order, longest first inside every window; rows beyond the matrix are empty.
  void sort_rows(size_t first, size_t last) {
    const auto tuples = children(first, last);
    const int64_t stored = extent(0) * format_.split[0];
    std::vector<int64_t> length(stored, 0);
    for (const auto& [parent, set] : tuples) length[parent[0] * format_.split[0] + parent[1]] = set.size();
    std::vector<int64_t> rows(stored);
    for (int64_t r = 0; r < stored; ++r) rows[r] = r;
    for (int64_t begin = 0; begin < stored; begin += format_.sort_window) {
      const auto end = rows.begin() + std::min(begin + format_.sort_window, stored);
      std::stable_sort(rows.begin() + begin, end,
                       [&](int64_t a, int64_t b) { return length[a] > length[b]; });
    }
    std::vector<int64_t> stored_of(stored);
    for (int64_t r = 0; r < stored; ++r) {
      stored_of[rows[r]] = r;
      result_.row_of.push_back(rows[r] < tensor_.dims[0] ? rows[r] : -1);
    }
    for (int64_t n = 0; n < tensor_.num_nonzeros(); ++n)
      paths_[n] = path_of(n, stored_of[tensor_.coords[0][n]]);
  }

  void slots(size_t first, size_t last) {
    if (format_.sort_window > 1) sort_rows(first, last);
    auto tuples = children(first, last);
    const int64_t slices = extent(0), lanes = format_.split[0];
    size_t longest = 0;
    for (const auto& [parent, set] : tuples) longest = std::max(longest, set.size());
    const bool fixed = format_.levels[first].kind == LevelKind::kEll;
    if (fixed) result_.width = static_cast<int64_t>(longest);
    std::vector<std::optional<Path>> next;
    int64_t sum = 0;
    for (int64_t slice = 0; slice < slices; ++slice) {
      std::vector<std::vector<Path>> rows;
      size_t width = fixed ? longest : 0;
      for (int64_t lane = 0; lane < lanes; ++lane) {
        const std::set<Path>& row = tuples[{slice, lane}];
        rows.emplace_back(row.begin(), row.end());
        width = std::max(width, row.size());
      }
      if (!fixed) result_.pos[first].push_back(sum);
      sum += static_cast<int64_t>(width);
      for (size_t slot = 0; slot < width; ++slot) {
        for (int64_t lane = 0; lane < lanes; ++lane) {
          const std::vector<Path>& row = rows[lane];
          const Path padding = row.empty() ? Path(last - first + 1, 0) : row.back();
          append(first, Path{slice, lane}, slot < row.size() ? row[slot] : padding, slot >= row.size(), next);
        }
      }
    }
    if (!fixed) result_.pos[first].push_back(sum);
    result_.positions = std::move(next);
  }

  const SparseTensor& tensor_;
  const FormatSchedule& format_;
  std::vector<Path> paths_;
  Reference result_;
};

/// Position in `values` of the n-th nonzero of the input.
int64_t source_of(const waco_storage& storage, int64_t n) {
  int64_t position = 0;
  waco_with_source(&storage, [&](const auto& source) { position = source(n); });
  return position;
}

}  // namespace

std::vector<int64_t> read_crd(const waco_level& level) {
  std::vector<int64_t> result;
  for (int64_t i = 0; level.crd && i < level.num_positions; ++i) result.push_back(waco_load_crd(&level, i));
  return result;
}

std::vector<int64_t> read_pos(const waco_storage& storage, int level, size_t count) {
  std::vector<int64_t> result;
  for (size_t i = 0; storage.level[level].pos && i < count; ++i)
    result.push_back(waco_load_pos(&storage, level, i));
  return result;
}

double stored_value(const waco_storage& storage, int64_t position) {
  return storage.value_bytes == 4 ? static_cast<const float*>(storage.values)[position]
                                  : static_cast<const double*>(storage.values)[position];
}

void require_equal(const waco_storage& storage, const SparseTensor& tensor, const FormatSchedule& format) {
  const Reference expected = ReferencePacker(tensor, format).run();
  int64_t bytes = storage.num_stored * storage.value_bytes;
  for (size_t l = 0; l < format.levels.size(); ++l) {
    INFO("level " << l);
    REQUIRE(read_pos(storage, static_cast<int>(l), expected.pos[l].size()) == expected.pos[l]);
    REQUIRE(read_crd(storage.level[l]) == expected.crd[l]);
    REQUIRE(storage.level[l].extent == extent_of(format, tensor.dims, format.levels[l]));
    bytes += static_cast<int64_t>(expected.pos[l].size()) * storage.pos_bytes +
             static_cast<int64_t>(expected.crd[l].size()) * storage.level[l].crd_bytes;
  }
  REQUIRE(storage.num_stored == static_cast<int64_t>(expected.positions.size()));
  std::vector<int64_t> rows;
  for (size_t r = 0; storage.row_of && r < expected.row_of.size(); ++r) rows.push_back(storage.row_of[r]);
  REQUIRE(rows == expected.row_of);
  REQUIRE(waco::codegen::storage_bytes(storage) == bytes + static_cast<int64_t>(rows.size()) * 4);
  if (!expected.pos.empty() && format.levels.size() > 2) REQUIRE(storage.level[2].width == expected.width);

  ReferencePacker paths(tensor, format);
  std::map<int64_t, int64_t> stored_of;
  for (size_t r = 0; r < rows.size(); ++r) stored_of[rows[r]] = static_cast<int64_t>(r);
  std::map<Path, int64_t> nonzero;
  for (int64_t n = 0; n < tensor.num_nonzeros(); ++n) {
    const int64_t row = tensor.coords[0][n];
    nonzero[paths.path_of(n, rows.empty() ? row : stored_of.at(row))] = n;
  }
  int64_t found = 0;
  for (int64_t i = 0; i < storage.num_stored; ++i) {
    const auto& path = expected.positions[i];
    const auto it = path ? nonzero.find(*path) : nonzero.end();
    const double value = it == nonzero.end() ? 0.0 : tensor.values[it->second];
    if (stored_value(storage, i) != value) FAIL("value at position " << i);
    if (it == nonzero.end()) continue;
    if (source_of(storage, it->second) != i) FAIL("source of nonzero " << it->second);
    ++found;
  }
  REQUIRE(found == tensor.num_nonzeros());
}

void require_identical(const waco_storage& a, const waco_storage& b) {
  REQUIRE(a.num_stored == b.num_stored);
  REQUIRE(a.pos_bytes == b.pos_bytes);
  REQUIRE(bytes_of(a.values, a.num_stored * a.value_bytes) ==
          bytes_of(b.values, b.num_stored * b.value_bytes));
  for (int l = 0; l < a.format.num_levels; ++l) {
    INFO("level " << l);
    REQUIRE(a.level[l].num_positions == b.level[l].num_positions);
    REQUIRE(a.level[l].width == b.level[l].width);
    REQUIRE(a.level[l].crd_bytes == b.level[l].crd_bytes);
    const int64_t crd = a.level[l].num_positions * a.level[l].crd_bytes,
                  pos = waco_pos_count(&a, l) * a.pos_bytes;
    REQUIRE(bytes_of(a.level[l].crd, crd) == bytes_of(b.level[l].crd, crd));
    REQUIRE(bytes_of(a.level[l].pos, pos) == bytes_of(b.level[l].pos, pos));
  }
  const int64_t rows = a.row_of ? a.level[1].num_positions * 4 : 0;
  REQUIRE(bytes_of(a.row_of, rows) == bytes_of(b.row_of, rows));
  for (int64_t n = 0; n < a.num_nonzeros; ++n)
    if (source_of(a, n) != source_of(b, n)) FAIL("source of nonzero " << n);
}

std::string bytes_of(const void* array, int64_t bytes) {
  return array == nullptr ? "null" : std::string(static_cast<const char*>(array), static_cast<size_t>(bytes));
}

}  // namespace waco::codegen
