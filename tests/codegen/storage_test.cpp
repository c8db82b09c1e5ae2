// Packing against a slow reference that enumerates positions path by path, on random formats and shapes.
#include "waco/codegen/storage.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "kernels-templates/packer.hpp"
#include "kernels-templates/partition.hpp"
#include "waco/base/error.hpp"
#include "waco/base/random.hpp"
#include "waco/pattern/pattern_counts.hpp"
#include "waco/schedule/storage_size.hpp"

namespace waco::codegen {
namespace {

using matrix::SparseTensor;
using schedule::FormatSchedule;
using schedule::Level;
using schedule::LevelKind;
using schedule::Op;
using schedule::ValueType;
using Path = std::vector<int64_t>;

// ---- Inputs ----

SparseTensor make_tensor(std::vector<int64_t> dims, const std::set<Path>& entries) {
  SparseTensor tensor;
  tensor.name = "test";
  tensor.coords.resize(dims.size());
  tensor.dims = std::move(dims);
  for (const Path& entry : entries) {
    for (size_t m = 0; m < entry.size(); ++m) tensor.coords[m].push_back(entry[m]);
    tensor.values.push_back(static_cast<double>(tensor.values.size() + 1));
  }
  return tensor;
}

/// Up to `nnz` entries, some of them crowded in few rows.
SparseTensor random_tensor(Random& random, std::vector<int64_t> dims, int64_t nnz) {
  std::set<Path> entries;
  const int64_t crowded = dims[0] > 0 ? static_cast<int64_t>(random.below(dims[0])) : 0;
  for (int64_t n = 0; n < nnz; ++n) {
    Path entry;
    for (int64_t dim : dims) entry.push_back(static_cast<int64_t>(random.below(dim)));
    if (random.chance(0.3)) entry[0] = crowded;
    entries.insert(entry);
  }
  return make_tensor(std::move(dims), entries);
}

int64_t extent_of(const FormatSchedule& format, const std::vector<int64_t>& dims, const Level& level) {
  const int64_t split = format.split[level.var.index], dim = dims[level.var.index];
  if (split == 1) return dim;
  return level.var.inner ? split : (dim + split - 1) / split;
}

/// A legal format schedule of 2 or 3 modes, or nullopt when the draw went against a rule.
std::optional<FormatSchedule> draw_format(Random& random, int order) {
  static constexpr int kSplits[] = {1, 1, 1, 2, 3, 4, 7, 8, 64};
  FormatSchedule format;
  const bool sliced = random.chance(0.3);
  std::vector<schedule::Var> open;
  for (int m = 0; m < order; ++m) {
    format.split[m] = kSplits[random.below(std::size(kSplits))];
    if (m == 0 && sliced && format.split[0] == 1) format.split[0] = 4;
    open.push_back({static_cast<int8_t>(m), false});
  }
  while (!open.empty()) {
    const size_t depth = format.levels.size();
    const size_t pick = sliced && depth < 2 ? 0 : random.below(open.size());
    const schedule::Var var = open[pick];
    open.erase(open.begin() + pick);
    const int split = format.split[var.index];
    if (split > 1 && !var.inner) open.insert(sliced ? open.begin() : open.end(), {var.index, true});
    const LevelKind above = depth > 0 ? format.levels.back().kind : LevelKind::kUncompressed;
    LevelKind kind = random.chance(0.5) ? LevelKind::kUncompressed : LevelKind::kCompressed;
    if (above != LevelKind::kUncompressed && random.chance(0.5)) kind = LevelKind::kSingleton;
    if (sliced && depth < 2) kind = LevelKind::kUncompressed;
    if (sliced && depth == 2) kind = random.chance(0.5) ? LevelKind::kEll : LevelKind::kSliced;
    if (sliced && depth > 2 && kind == LevelKind::kCompressed) return std::nullopt;
    if (sliced && depth > 2 && kind == LevelKind::kUncompressed && !var.inner) return std::nullopt;
    format.levels.push_back({var, kind});
  }
  if (sliced && random.chance(0.5))
    format.sort_window = format.split[0] * int64_t{1 + int64_t(random.below(6))};
  const bool stores = std::any_of(format.levels.begin(), format.levels.end(),
                                  [](const Level& level) { return level.kind != LevelKind::kUncompressed; });
  return stores ? std::optional(format) : std::nullopt;
}

FormatSchedule random_format(Random& random, const std::vector<int64_t>& dims) {
  while (true) {
    const auto format = draw_format(random, static_cast<int>(dims.size()));
    if (!format) continue;
    int64_t dense = 1;
    for (const Level& level : format->levels)
      if (level.kind == LevelKind::kUncompressed)
        dense *= std::max<int64_t>(extent_of(*format, dims, level), 1);
    if (dense <= 20000) return *format;
  }
}

std::vector<int64_t> random_dims(Random& random, int order) {
  std::vector<int64_t> dims;
  for (int m = 0; m < order; ++m)
    dims.push_back(random.chance(0.15) ? 1 : 1 + int64_t(random.below(order == 2 ? 45 : 14)));
  return dims;
}

// ---- The reference ----

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

// ---- Comparison ----

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

/// Position in `values` of the n-th nonzero of the input.
int64_t source_of(const waco_storage& storage, int64_t n) {
  int64_t position = 0;
  waco_with_source(&storage, [&](const auto& source) { position = source(n); });
  return position;
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
  REQUIRE(waco_storage_bytes(&storage) == bytes + static_cast<int64_t>(rows.size()) * 4);
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

Op op_of(const SparseTensor& tensor) {
  return tensor.order() == 3 ? Op::kMttkrp : Op::kSpmv;
}

FormatSchedule format_of(const std::string& text, Op op = Op::kSpmv) {
  // Levels and brackets only; the loops that complete a point play no part here.
  FormatSchedule format;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    at = end + 1;
    if (word.rfind("sort:", 0) == 0) {
      format.sort_window = std::stoll(word.substr(5));
      continue;
    }
    int8_t index = 0;
    while (schedule::index_name(op, index) != word[0]) ++index;
    const size_t slash = word.find('/'), colon = word.find(':');
    if (slash != std::string::npos) {
      format.split[index] = std::stoi(word.substr(slash + 1));
    } else {
      format.levels.push_back({{index, word[1] == '0'}, schedule::parse_level_kind(word[colon + 1]).value()});
    }
  }
  return format;
}

}  // namespace

TEST_CASE("storage: random formats of random tensors equal the reference and the predicted size",
          "[codegen]") {
  Random random(20240611);
  for (int round = 0; round < 1200; ++round) {
    const auto dims = random_dims(random, 2 + static_cast<int>(random.below(2)));
    const int64_t nnz =
        random.chance(0.05) ? 0 : static_cast<int64_t>(random.below(random.chance(0.2) ? 400 : 60));
    const SparseTensor tensor = random_tensor(random, dims, nnz);
    const FormatSchedule format = random_format(random, dims);
    const int threads = 1 + static_cast<int>(random.below(3));
    const ValueType type = random.chance(0.5) ? ValueType::kF32 : ValueType::kF64;
    INFO("round " << round << ": " << schedule::to_text(format, op_of(tensor)) << ", " << threads
                  << " threads, dims " << dims[0] << " " << dims[1] << " " << dims.back() << ", nonzeros "
                  << tensor.num_nonzeros());
    const Storage storage = pack(tensor, format, op_of(tensor), type, threads);
    const auto predicted =
        schedule::predict_storage(format, op_of(tensor), type, pattern::PatternCounts(tensor));
    REQUIRE(predicted.total_bytes == storage.bytes());
    require_equal(storage.abi(), tensor, format);
  }
}

TEST_CASE("storage: input in any order packs to the same arrays", "[codegen]") {
  Random random(7);
  for (int round = 0; round < 300; ++round) {
    const auto dims = random_dims(random, 2 + static_cast<int>(random.below(2)));
    SparseTensor tensor = random_tensor(random, dims, 80);
    // Shuffle everything, or only inside the rows as in a CSR matrix with unsorted columns.
    const bool inside_rows = random.chance(0.5);
    for (int64_t n = tensor.num_nonzeros() - 1; n > 0; --n) {
      const auto other = static_cast<int64_t>(random.below(n + 1));
      if (inside_rows && tensor.coords[0][n] != tensor.coords[0][other]) continue;
      for (auto& coords : tensor.coords) std::swap(coords[n], coords[other]);
      std::swap(tensor.values[n], tensor.values[other]);
    }
    const FormatSchedule format = random_format(random, dims);
    INFO("round " << round << ": " << schedule::to_text(format, op_of(tensor)));
    const Storage storage = pack(tensor, format, op_of(tensor), ValueType::kF64, 1 + round % 4);
    require_equal(storage.abi(), tensor, format);
  }
}

TEST_CASE("storage: blocks, threads and long segments agree on a large matrix", "[codegen]") {
  Random random(3);
  SparseTensor tensor;
  tensor.name = "large";
  tensor.dims = {1100, 2200};
  tensor.coords.resize(2);
  for (int64_t i = 0; i < 1100; ++i) {
    for (int64_t k = 0; k < 2200; ++k) {
      if (!random.chance(i % 7 == 0 ? 0.6 : 0.08)) continue;
      tensor.coords[0].push_back(i);
      tensor.coords[1].push_back(k);
      tensor.values.push_back(static_cast<double>(random.below(1000)));
    }
  }
  REQUIRE(tensor.num_nonzeros() > 300000);
  const std::string text =
      GENERATE("k:U i:C", "i1:U k:C i0:U i/16", "i1:C k:C i0:C i/1024", "i1:U k1:C i0:C k0:S i/3 k/7",
               "i1:U i0:U k:L i/8 sort:256", "k1:C i1:S k0:U i0:U i/4 k/4", "k:C i:S");
  const FormatSchedule format = format_of(text);
  INFO(text);
  const Storage storage = pack(tensor, format, Op::kSpmv, ValueType::kF32, 4);
  require_equal(storage.abi(), tensor, format);
}

TEST_CASE("storage: CSR of a 4x4 matrix", "[codegen]") {
  const SparseTensor tensor = make_tensor({4, 4}, {{0, 1}, {0, 3}, {2, 0}, {3, 1}, {3, 2}});
  const Storage storage = pack(tensor, format_of("i:U k:C"), Op::kSpmv, ValueType::kF32, 2);
  CHECK(read_pos(storage.abi(), 1, 5) == std::vector<int64_t>{0, 2, 2, 3, 5});
  CHECK(read_crd(storage.abi().level[1]) == std::vector<int64_t>{1, 3, 0, 1, 2});
  CHECK(storage.abi().level[1].crd_bytes == 1);
  CHECK(storage.abi().pos_bytes == 4);
  CHECK(storage.bytes() == 5 * 4 + 5 + 5 * 4);
}

TEST_CASE("storage: SELL sorts rows by length and pads with the last coordinate", "[codegen]") {
  const SparseTensor tensor = make_tensor({3, 5}, {{0, 4}, {2, 1}, {2, 2}, {2, 3}});
  const Storage storage = pack(tensor, format_of("i1:U i0:U k:L i/2 sort:4"), Op::kSpmv, ValueType::kF64, 1);
  const waco_storage& s = storage.abi();
  CHECK(std::vector<int32_t>(s.row_of, s.row_of + 4) == std::vector<int32_t>{2, 0, 1, -1});
  CHECK(read_pos(s, 2, 3) == std::vector<int64_t>{0, 3, 3});
  CHECK(read_crd(s.level[2]) == std::vector<int64_t>{1, 4, 2, 4, 3, 4});
  CHECK(std::vector<double>{stored_value(s, 0), stored_value(s, 1), stored_value(s, 3), stored_value(s, 4)} ==
        std::vector<double>{2, 1, 0, 4});
}

TEST_CASE("storage: coordinates take the narrowest width that holds the extent", "[codegen]") {
  const auto [dim, bytes] = GENERATE(table<int64_t, int>({{1, 1},
                                                          {256, 1},
                                                          {257, 2},
                                                          {65536, 2},
                                                          {65537, 4},
                                                          {int64_t{1} << 31, 4},
                                                          {(int64_t{1} << 31) + 1, 8}}));
  const SparseTensor tensor = make_tensor({2, dim}, {{0, 0}, {1, dim - 1}});
  const Storage storage = pack(tensor, format_of("i:U k:C"), Op::kSpmv, ValueType::kF32, 1);
  CHECK(storage.abi().level[1].crd_bytes == bytes);
  CHECK(read_crd(storage.abi().level[1]) == std::vector<int64_t>{0, dim - 1});
}

TEST_CASE("storage: sort keys longer than a word take several passes", "[codegen]") {
  Random random(11);
  const int64_t dim = int64_t{1} << 40;
  std::set<Path> entries;
  for (int n = 0; n < 6000; ++n) {  // of which three threads take a part each
    const int64_t l = static_cast<int64_t>(random.below(5)) * (dim / 5),
                  k = static_cast<int64_t>(random.below(dim));
    entries.insert({static_cast<int64_t>(random.below(dim)), n % 3 == 0 ? k : k % 7, l});
  }
  const SparseTensor tensor = make_tensor({dim, dim, dim}, entries);
  const std::string text = GENERATE("l:C k:S i:S", "k1:C l:S i:C k0:S k/3", "l1:C k:C l0:C i:S l/1024");
  const FormatSchedule format = format_of(text, Op::kMttkrp);
  require_equal(pack(tensor, format, Op::kMttkrp, ValueType::kF64, 3).abi(), tensor, format);
}

TEST_CASE("storage: values of the input survive a round trip and can be replaced", "[codegen]") {
  Random random(5);
  for (int round = 0; round < 40; ++round) {
    const auto dims = random_dims(random, 2);
    SparseTensor tensor = random_tensor(random, dims, 100);
    const FormatSchedule format = random_format(random, dims);
    Storage storage = pack(tensor, format, Op::kSpmm, ValueType::kF32, 2);
    std::vector<double> in_order;
    unpack_values(storage, storage.abi().values, 3, in_order);
    REQUIRE(in_order == tensor.values);
    std::vector<float> values;
    for (double& value : tensor.values) values.push_back(static_cast<float>(value = -2 * value));
    waco_update_values(&storage.abi(), values.data(), 2);
    require_equal(storage.abi(), tensor, format);
    std::vector<float> unpacked(values.size());
    waco_unpack_values(&storage.abi(), storage.abi().values, unpacked.data(), 3);
    REQUIRE(unpacked == values);
  }
}

TEST_CASE("storage: every array is aligned and followed by zeroed padding", "[codegen]") {
  const SparseTensor tensor = make_tensor({9, 9}, {{0, 1}, {4, 8}, {8, 8}});
  const Storage storage = pack(tensor, format_of("i1:U i0:U k:L i/4 sort:8"), Op::kSpmv, ValueType::kF64, 1);
  const waco_storage& s = storage.abi();
  const std::vector<std::pair<const void*, int64_t>> arrays = {{s.values, s.num_stored * 8},
                                                               {s.level[2].crd, s.level[2].num_positions},
                                                               {s.level[2].pos, 4 * 4},
                                                               {s.row_of, 12 * 4},
                                                               {s.source, 3 * 4}};
  for (const auto& [array, bytes] : arrays) {
    CHECK(reinterpret_cast<uintptr_t>(array) % 64 == 0);
    const char* end = static_cast<const char*>(array) + bytes;
    CHECK(std::all_of(end, end + WACO_PADDING_BYTES, [](char c) { return c == 0; }));
  }
}

TEST_CASE("storage: dimensions up to the largest number are split without overflow", "[codegen]") {
  const int64_t dim = std::numeric_limits<int64_t>::max();
  const SparseTensor tensor = make_tensor({dim, 5}, {{0, 4}, {dim - 1, 2}});
  const Storage storage = pack(tensor, format_of("i1:C k:S i0:U i/3"), Op::kSpmv, ValueType::kF32, 2);
  CHECK(waco_load_crd(&storage.abi().level[0], 1) == (dim - 1) / 3);
  CHECK_THROWS_AS(pack(tensor, format_of("i1:U i0:U k:L i/2"), Op::kSpmv, ValueType::kF32, 2),
                  EnvironmentError);
}

TEST_CASE("storage: a format larger than any memory is an error, not a crash", "[codegen]") {
  const int64_t dim = int64_t{1} << 31;
  const SparseTensor tensor = make_tensor({dim, dim}, {{0, 0}, {dim - 1, dim - 1}});
  CHECK_THROWS_AS(pack(tensor, format_of("i:U k1:U k0:C k/2"), Op::kSpmv, ValueType::kF32, 2),
                  EnvironmentError);
  CHECK_THROWS_WITH(pack(tensor, format_of("k:U i1:U i0:C i/16"), Op::kSpmv, ValueType::kF32, 2),
                    Catch::Contains("memory") && Catch::Contains("k:U i1:U i0:C"));
}

namespace {

/// Formats that are packed directly, of every direct way; splits are added.
constexpr const char* kDirectMatrices[] = {"i:U k:C",
                                           "i:C k:C",
                                           "i:C k:S",
                                           "i1:U i0:U k:L",
                                           "i1:U i0:U k:E",
                                           "i1:U k:C i0:U",
                                           "i1:C k:C i0:U",
                                           "i1:C k:S i0:U",
                                           "i:U k1:C k0:U",
                                           "i:C k1:S k0:U",
                                           "i1:U k1:C i0:U k0:U",
                                           "i1:C k1:C k0:U i0:U",
                                           "i1:U k:C i0:C",
                                           "i1:C k:S i0:C",
                                           "i:U k1:C k0:C",
                                           "i1:U k1:C i0:U k0:C",
                                           "i1:C k1:S i0:U k0:C",
                                           "i1:C k1:S i0:C k0:S",
                                           "i1:U k1:C i0:C k0:S",
                                           "k:U i:C",
                                           "k1:U i:U k0:C",
                                           "i1:U k1:U i0:U k0:C",
                                           "k1:U i:C k0:S",
                                           "k1:U i1:U i0:C k0:S",
                                           "i1:U i0:U k1:L k0:U",
                                           "i1:U i0:U k1:E k0:U",
                                           "i1:U k1:U k0:C i0:U",
                                           "i1:C k1:U k0:C i0:U",
                                           "i1:U k1:C k0:C i0:U",
                                           "i1:C k1:C k0:C i0:U",
                                           "i1:U k1:C k0:S i0:U",
                                           "i1:C k1:C k0:S i0:U"};
constexpr const char* kDirectTensors[] = {"i1:U i0:U k:L l:S", "i1:U i0:U k:E l:S", "k:U i:C l:S",
                                          "l:U k1:U i:C k0:S", "i:U l:U k:C"};

FormatSchedule direct_format(Random& random, int order) {
  static constexpr int kSplits[] = {2, 3, 4, 7, 8, 16, 64};
  const std::string levels = order == 2 ? kDirectMatrices[random.below(std::size(kDirectMatrices))]
                                        : kDirectTensors[random.below(std::size(kDirectTensors))];
  std::string text = levels;
  const int i = kSplits[random.below(std::size(kSplits))];
  if (levels.find("i1") != std::string::npos) text += " i/" + std::to_string(i);
  if (levels.find("k1") != std::string::npos)
    text += " k/" + std::to_string(kSplits[random.below(std::size(kSplits))]);
  const bool sliced = levels.find(":L") != std::string::npos || levels.find(":E") != std::string::npos;
  if (sliced && random.chance(0.6)) text += " sort:" + std::to_string(i * (1 + random.below(9)));
  return format_of(text, order == 2 ? Op::kSpmv : Op::kMttkrp);
}

/// What packing a matrix of zeros given by coordinates returns.
int pack_status(const waco_format& format, const int64_t* dims, int64_t nnz, const int64_t* const* coords,
                int threads) {
  const waco_input input = {dims, nnz, {coords[0], coords[1], nullptr}, nullptr, nullptr, 4, nullptr};
  waco_storage storage;
  const int status = waco_pack(&format, &input, 4, threads, 1, &storage);
  waco_free(&storage);
  return status;
}

std::string bytes_of(const void* array, int64_t bytes) {
  return array == nullptr ? "null" : std::string(static_cast<const char*>(array), static_cast<size_t>(bytes));
}

/// Every array, bit by bit.
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

}  // namespace

TEST_CASE("storage: what is packed directly is bit by bit what the stages for any format pack", "[codegen]") {
  Random random(99);
  for (int round = 0; round < 800; ++round) {
    const int order = round % 6 == 5 ? 3 : 2;
    // Now and then large enough for several threads, and with more columns than a bitmap's word counts.
    const bool large = round % 20 == 0;
    auto dims = random_dims(random, order);
    if (large) dims = order == 2 ? std::vector<int64_t>{3000, 70000} : std::vector<int64_t>{900, 40, 70};
    const auto nnz = static_cast<int64_t>(random.below(large ? 40000 : 300));
    const SparseTensor tensor = random_tensor(random, dims, nnz);
    const FormatSchedule format = direct_format(random, order);
    REQUIRE(direct_packing(to_abi(format, op_of(tensor))) != DirectPacking::kNone);
    const ValueType type = random.chance(0.5) ? ValueType::kF32 : ValueType::kF64;
    INFO("round " << round << ": " << schedule::to_text(format, op_of(tensor)) << ", dims " << dims[0] << " "
                  << dims[1] << ", nonzeros " << tensor.num_nonzeros());
    const Storage expected = pack(tensor, format, op_of(tensor), type, 1, false);
    if (!large) require_equal(expected.abi(), tensor, format);
    for (const int threads : {1, 2, 5})
      require_identical(pack(tensor, format, op_of(tensor), type, threads).abi(), expected.abi());
  }
}

TEST_CASE("storage: one window of all rows is sorted alike by any number of threads", "[codegen]") {
  Random random(43);
  // Few lengths, which the threads count together, and one row of more slots than there are rows.
  const int64_t columns = GENERATE(500, 70000);
  const SparseTensor tensor = random_tensor(random, {9001, columns}, 40000);
  const FormatSchedule format = format_of("i1:U i0:U k:L i/8 sort:65536");
  INFO(columns << " columns");
  const Storage expected = pack(tensor, format, Op::kSpmv, ValueType::kF32, 1, false);
  require_equal(expected.abi(), tensor, format);
  for (const bool direct : {false, true})
    for (const int threads : {2, 5})
      require_identical(pack(tensor, format, Op::kSpmv, ValueType::kF32, threads, direct).abi(),
                        expected.abi());
}

TEST_CASE("packer: row pointers in place of rows pack to the same arrays, sorted or not", "[codegen]") {
  Random random(31);
  for (int round = 0; round < 300; ++round) {
    const auto dims = random_dims(random, 2);
    SparseTensor tensor = random_tensor(random, dims, static_cast<int64_t>(random.below(200)));
    const auto row_ptr = matrix::row_pointers(tensor);
    if (round % 3 == 0) {
      for (int64_t n = 1; n < tensor.num_nonzeros(); ++n) {
        if (tensor.coords[0][n] != tensor.coords[0][n - 1] || random.chance(0.5)) continue;
        std::swap(tensor.coords[1][n], tensor.coords[1][n - 1]);
        std::swap(tensor.values[n], tensor.values[n - 1]);
      }
    }
    const FormatSchedule format = round % 2 ? direct_format(random, 2) : random_format(random, dims);
    const waco_format abi_format = to_abi(format, Op::kSpmv);
    const waco_input input = {
        dims.data(),    tensor.num_nonzeros(), {nullptr, tensor.coords[1].data(), nullptr},
        row_ptr.data(), tensor.values.data(),  8,
        nullptr};
    INFO("round " << round << ": " << schedule::to_text(format, Op::kSpmv));
    waco_storage packed;
    REQUIRE(waco_pack(&abi_format, &input, 8, 3, 1, &packed) == WACO_OK);
    const Storage owner(packed);
    require_identical(owner.abi(), pack(tensor, format, Op::kSpmv, ValueType::kF64, 1, false).abi());
  }
}

TEST_CASE("packer: row pointers of many chunks of nonzeros pack to the same arrays", "[codegen]") {
  Random random(37);
  const SparseTensor tensor = random_tensor(random, {700, 2000}, 40000);
  const auto row_ptr = matrix::row_pointers(tensor);
  const waco_input input = {tensor.dims.data(),
                            tensor.num_nonzeros(),
                            {nullptr, tensor.coords[1].data()},
                            row_ptr.data(),
                            tensor.values.data(),
                            8,
                            nullptr};
  for (std::string text : kDirectMatrices) {
    if (text.find("i1") != std::string::npos) text += " i/4";
    if (text.find("k1") != std::string::npos) text += " k/3";
    const FormatSchedule format = format_of(text);
    const waco_format abi_format = to_abi(format, Op::kSpmv);
    const Storage expected = pack(tensor, format, Op::kSpmv, ValueType::kF64, 1, false);
    INFO(text);
    for (const int threads : {1, 3}) {
      waco_storage packed;
      REQUIRE(waco_pack(&abi_format, &input, 8, threads, 1, &packed) == WACO_OK);
      require_identical(Storage(packed).abi(), expected.abi());
    }
  }
}

TEST_CASE("packer: coordinates are packed as wide as is asked for", "[codegen]") {
  Random random(41);
  const SparseTensor tensor = random_tensor(random, {700, 2000}, 20000);
  for (std::string text : kDirectMatrices) {
    if (text.find("i1") != std::string::npos) text += " i/4";
    if (text.find("k1") != std::string::npos) text += " k/3";
    const FormatSchedule format = format_of(text);
    const Storage narrow = pack(tensor, format, Op::kSpmv, ValueType::kF64, 1, false);
    for (const int bytes : {1, 4, 8}) {
      INFO(text << ", " << bytes << " bytes");
      const Storage wide = pack(tensor, format, Op::kSpmv, ValueType::kF64, 3, true, bytes);
      for (size_t l = 0; l < format.levels.size(); ++l) {
        const waco_level &level = wide.abi().level[l], &expected = narrow.abi().level[l];
        const bool stores = format.levels[l].kind != LevelKind::kUncompressed;
        CHECK(level.crd_bytes == (stores ? std::max(bytes, expected.crd_bytes) : 0));
        REQUIRE(read_crd(level) == read_crd(expected));
      }
      const int64_t value_bytes = narrow.abi().num_stored * narrow.abi().value_bytes;
      REQUIRE(bytes_of(wide.abi().values, value_bytes) == bytes_of(narrow.abi().values, value_bytes));
    }
  }
}

TEST_CASE("packer: input that only looks sorted is not packed directly", "[codegen]") {
  const std::string text = GENERATE("i:U k:C", "i1:U i0:U k:L i/4", "i1:U k1:C i0:U k0:U i/2 k/2");
  const waco_format format = to_abi(format_of(text), Op::kSpmv);
  const int64_t dims[] = {40000, 50};
  std::vector<int64_t> rows, columns;
  for (int64_t n = 0; n < 40000; ++n) {
    rows.push_back(n);
    columns.push_back(n % 50);
  }
  const auto status = [&](size_t at, int64_t row, int64_t column) {
    std::vector<int64_t> r = rows, c = columns;
    r[at] = row;
    c[at] = column;
    const int64_t* coords[] = {r.data(), c.data()};
    return pack_status(format, dims, 40000, coords, 3);
  };
  INFO(text);
  const size_t at = GENERATE(0, 1, 127, 128, 13333, 13334, 26666, 39999);
  CHECK(status(at, rows[at], columns[at]) == WACO_OK);
  const int64_t elsewhere = (rows[at] + 20000) % 40000;
  CHECK(status(at, elsewhere, columns[at]) == WACO_BAD_ARGUMENT);  // what stands in that row already
  for (const int64_t bad : {int64_t{-1}, int64_t{40000}, std::numeric_limits<int64_t>::max(),
                            std::numeric_limits<int64_t>::min()}) {
    CHECK(status(at, bad, columns[at]) == WACO_BAD_ARGUMENT);
    CHECK(status(at, rows[at], bad) == WACO_BAD_ARGUMENT);
  }
  if (at > 0) CHECK(status(at, rows[at - 1], columns[at - 1]) == WACO_BAD_ARGUMENT);

  SparseTensor unsorted;
  unsorted.dims = {dims[0], dims[1]};
  unsorted.coords = {rows, columns};
  for (int64_t n = 0; n < 40000; ++n) unsorted.values.push_back(static_cast<double>(n + 1));
  unsorted.coords[0][at] = elsewhere;
  unsorted.coords[1][at] = (columns[at] + 1) % 50;
  const auto packed = [&](int threads, bool direct) {
    return pack(unsorted, format_of(text), Op::kSpmv, ValueType::kF32, threads, direct);
  };
  require_identical(packed(3, true).abi(), packed(1, false).abi());
}

TEST_CASE("packer: duplicates and coordinates out of range are refused", "[codegen]") {
  const waco_format csr = to_abi(format_of("i:U k:C"), Op::kSpmv);
  const int64_t dims[] = {3, 3};
  const auto status = [&](std::vector<int64_t> rows, std::vector<int64_t> columns) {
    const int64_t* coords[] = {rows.data(), columns.data()};
    return pack_status(csr, dims, static_cast<int64_t>(rows.size()), coords, 2);
  };
  CHECK(status({0, 1, 2}, {2, 1, 0}) == WACO_OK);
  CHECK(status({2, 0, 1}, {2, 1, 0}) == WACO_OK);
  CHECK(status({0, 1, 1}, {2, 1, 1}) == WACO_BAD_ARGUMENT);
  CHECK(status({1, 0, 1}, {1, 2, 1}) == WACO_BAD_ARGUMENT);
  CHECK(status({0, 1, 3}, {0, 0, 0}) == WACO_BAD_ARGUMENT);
  CHECK(status({0, 1, 2}, {0, -1, 0}) == WACO_BAD_ARGUMENT);
}

TEST_CASE("packer: an unsound format is refused", "[codegen]") {
  const std::string text = GENERATE("i:U k:S", "i:U i:C", "i:U k1:C k/2", "i:U k:L", "i0:U i1:C k:C i/2",
                                    "i1:U i0:U k:L i/4 sort:6", "i:C k:E", "i1:U i0:U k1:L k0:C i/4 k/4");
  const waco_format format = to_abi(format_of(text), Op::kSpmv);
  const int64_t dims[] = {8, 8}, coord[] = {0};
  const int64_t* coords[] = {coord, coord};
  INFO(text);
  CHECK(pack_status(format, dims, 1, coords, 1) == WACO_BAD_ARGUMENT);
}

// ---- Partition ----

namespace {

/// Work of every iteration of level 0: the values stored below it, plus one.
std::vector<int64_t> iteration_work(const waco_storage& s) {
  std::vector<int64_t> below(s.num_stored, 1);
  int level = s.format.num_levels - 1;
  for (; level > 0; --level) {
    const int kind = s.format.level[level].kind;
    if (kind == WACO_S) continue;
    if (kind == WACO_E || kind == WACO_L) break;  // positions of a slice are not grouped by lane
    std::vector<int64_t> above(s.level[level - 1].num_positions, 0);
    for (size_t p = 0; p < above.size(); ++p) {
      const int64_t extent = s.level[level].extent;
      const int64_t begin = kind == WACO_U ? p * extent : waco_load_pos(&s, level, p);
      const int64_t end = kind == WACO_U ? (p + 1) * extent : waco_load_pos(&s, level, p + 1);
      for (int64_t q = begin; q < end; ++q) above[p] += below[q];
    }
    below = std::move(above);
  }
  if (level > 0) {
    const int64_t lanes = s.level[1].extent;
    std::vector<int64_t> slices(s.level[0].num_positions, 0);
    for (size_t slice = 0; slice < slices.size(); ++slice) {
      const bool fixed = s.format.level[2].kind == WACO_E;
      const int64_t begin = fixed ? slice * s.level[2].width : waco_load_pos(&s, 2, slice);
      const int64_t end = fixed ? begin + s.level[2].width : waco_load_pos(&s, 2, slice + 1);
      for (int64_t q = begin * lanes; q < end * lanes; ++q) slices[slice] += below[q];
    }
    below = std::move(slices);
  }
  for (int64_t& work : below) ++work;
  return below;
}

int64_t first_child(const waco_storage& s, int64_t x) {
  if (s.format.level[1].kind == WACO_U) return x * s.level[1].extent;
  return s.format.level[1].kind == WACO_C ? waco_load_pos(&s, 1, x) : x;
}

}  // namespace

TEST_CASE("partition: whole iterations are dealt once, in order, within one iteration of equal work",
          "[codegen]") {
  Random random(17);
  for (int round = 0; round < 400; ++round) {
    const auto dims = random_dims(random, 2 + round % 2);
    const SparseTensor tensor = random_tensor(random, dims, static_cast<int64_t>(random.below(300)));
    const FormatSchedule format = random_format(random, dims);
    const Storage storage = pack(tensor, format, op_of(tensor), ValueType::kF32, 2);
    const waco_storage& s = storage.abi();
    const int threads = 1 + static_cast<int>(random.below(7));
    const std::vector<int64_t> bounds = partition(storage, threads, false);
    const std::vector<int64_t> work = iteration_work(s);
    INFO(schedule::to_text(format, op_of(tensor)) << ", round " << round << ", " << threads << " threads");

    const bool tuple = s.format.level[1].kind == WACO_S;
    std::vector<int64_t> before{0}, group{0};  // work and iterations before every place that may be cut
    for (size_t x = 0; x < work.size(); ++x) {
      const bool joined =
          tuple && x + 1 < work.size() && waco_load_crd(&s.level[0], x) == waco_load_crd(&s.level[0], x + 1);
      if (before.size() == group.size()) before.push_back(before.back());
      before.back() += work[x];
      if (!joined) group.push_back(static_cast<int64_t>(x) + 1);
    }
    int64_t longest = 0;
    for (size_t g = 1; g < before.size(); ++g) longest = std::max(longest, before[g] - before[g - 1]);
    REQUIRE(bounds[0] == 0);
    REQUIRE(bounds[2 * threads] == static_cast<int64_t>(work.size()));
    for (int t = 0; t <= threads; ++t) {
      if (t > 0) REQUIRE(bounds[2 * t] >= bounds[2 * t - 2]);
      REQUIRE(bounds[2 * t + 1] == first_child(s, bounds[2 * t]));
      const auto place = std::find(group.begin(), group.end(), bounds[2 * t]);
      REQUIRE(place != group.end());
      const double target = static_cast<double>(before.back()) * t / threads;
      REQUIRE(std::abs(static_cast<double>(before[place - group.begin()]) - target) <= longest * 0.5 + 1);
    }
  }
}

TEST_CASE("partition: a long row is cut where the work is equal", "[codegen]") {
  Random random(23);
  for (int round = 0; round < 300; ++round) {
    const int order = 2 + round % 2;
    const auto dims = random_dims(random, order);
    const SparseTensor tensor = random_tensor(random, dims, static_cast<int64_t>(random.below(300)));
    const FormatSchedule format = order == 2 ? format_of(round % 4 == 0 ? "i1:U k:C i0:U i/3" : "i:U k:C")
                                  : round % 4 == 1 ? format_of("i:U k:C l:S", Op::kMttkrp)
                                                   : format_of("i:U k:C l:C", Op::kMttkrp);
    const Storage storage = pack(tensor, format, op_of(tensor), ValueType::kF32, 1);
    const waco_storage& s = storage.abi();
    const int threads = 1 + static_cast<int>(random.below(9));
    const std::vector<int64_t> bounds = partition(storage, threads, true);
    const int64_t rows = s.level[0].num_positions;
    const int64_t total = s.num_stored + rows;
    REQUIRE(bounds[0] == 0);
    REQUIRE(bounds[1] == 0);
    REQUIRE(bounds[2 * threads] == rows);
    REQUIRE(bounds[2 * threads + 1] == s.level[1].num_positions);
    int64_t longest = 1;  // values below one level-1 position
    for (int64_t q = 0; q < s.level[1].num_positions; ++q)
      longest = std::max(longest, waco_first_value(&s, 1, q + 1) - waco_first_value(&s, 1, q));
    for (int t = 1; t <= threads; ++t) {
      const int64_t x = bounds[2 * t], q = bounds[2 * t + 1];
      REQUIRE(x >= bounds[2 * t - 2]);
      REQUIRE(q >= bounds[2 * t - 1]);
      REQUIRE(q >= first_child(s, x));
      if (x < rows) REQUIRE((q == first_child(s, x) || q < first_child(s, x + 1)));
      const double done = static_cast<double>(waco_first_value(&s, 1, q) + x);
      REQUIRE(std::abs(done - static_cast<double>(total) * t / threads) <= longest + 1);
    }
  }
}

}  // namespace waco::codegen
