// Starting points of a search: formats known to work, each with the schedules that suit it.
#include <algorithm>
#include <unordered_set>

#include "waco/schedule/building.hpp"
#include "waco/schedule/loop_nest.hpp"
#include "waco/schedule/space.hpp"

namespace waco::schedule {
namespace {

struct Parallel {
  Policy policy;
  int32_t chunk;
};

constexpr Parallel kStaticRows{Policy::kStatic, 0};
constexpr Parallel kBalancedRows{Policy::kBalanced, 0};

/// A dense tile and the sparse loop (counted from the outside) its outer loop goes before.
struct Tile {
  int32_t size;
  size_t outer_at;
};

struct Extras {
  int32_t unroll;
  int32_t prefetch;
};

class Seeds {
 public:
  explicit Seeds(const ScheduleSpace& space)
      : space_(space), op_(space.problem().op), dense_(has_dense_index(op_)) {}

  std::vector<SuperSchedule> all() {
    add(csr_point(space_.problem(), space_.limits().max_threads));
    if (sparse_order(op_) == 3) {
      fiber_trees();
      tuples();
      tensor_blocks();
    } else {
      rows();
      columns();
      row_blocks();
      dense_blocks();
      slices();
      column_blocks();
    }
    return std::move(points_);
  }

  /// Groups of rows from a quarter of a vector of floats to several vectors.
  std::vector<SuperSchedule> skewed() {
    if (op_ != Op::kSpmv) return {};
    for (const int32_t rows : {4, 8, 16, 32}) {
      FormatSchedule format = format_from_levels("a1:U b:C a0:U", {rows, 1, 1});
      format.arrangement = Arrangement::kSkewed;
      std::vector<Extras> extras;
      for (const int32_t unroll : {1, 2, 4})
        if (rows * unroll <= kMaxUnrolledIterations) extras.push_back({unroll, 0});
      add_variants(format, {0, false}, {kStaticRows, kBalancedRows}, {{0, 0}}, extras);
    }
    return std::move(points_);
  }

 private:
  void add(const SuperSchedule& point) {
    for (size_t mode = 0; mode < space_.dims().size(); ++mode) {
      const int32_t split = point.format.split[mode];
      if (split > 1 && split >= space_.dims()[mode])
        return;  // repair would fall back to a format seen already
    }
    const std::optional<SuperSchedule> legal = space_.repaired(point);
    if (legal && seen_.insert(to_text(*legal)).second) points_.push_back(*legal);
  }

  void add_variants(const FormatSchedule& format, Var parallel, const std::vector<Parallel>& policies,
                    const std::vector<Tile>& tiles, const std::vector<Extras>& extras) {
    for (const Tile tile : tiles)
      for (const Parallel policy : policies)
        for (const Extras extra : extras) {
          SuperSchedule point = concordant_point(space_.problem(), format);
          set_dense_tile(point, tile.size, tile.outer_at);
          set_parallel_var(point.compute, parallel);
          point.compute.threads = space_.limits().max_threads;
          point.compute.policy = policy.policy;
          point.compute.chunk = policy.chunk;
          point.compute.unroll = extra.unroll;
          point.compute.prefetch = extra.prefetch;
          add(point);
        }
  }

  /// Tiles of these sizes that fit the dense index, their outer loop before sparse loop `outer_at`; not tiled
  /// first.
  std::vector<Tile> tiles(const std::vector<int32_t>& sizes, size_t outer_at) const {
    std::vector<Tile> result{{0, 0}};
    for (const int32_t size : sizes)
      if (std::find(space_.tiles().begin(), space_.tiles().end(), size) != space_.tiles().end() && size > 0)
        result.push_back({size, outer_at});
    return result;
  }

  /// The register tile used where a family is not explored further.
  std::vector<Tile> one_tile(size_t outer_at) const {
    const std::vector<Tile> fitting = tiles({16, 32, 64}, outer_at);
    return {fitting[std::min<size_t>(fitting.size() - 1, 2)]};
  }

  std::vector<Parallel> row_policies() const {
    if (op_ == Op::kSpmv)
      return {{Policy::kDynamic, 128}, {Policy::kDynamic, 1024}, kStaticRows, kBalancedRows};
    return {{Policy::kDynamic, 8}, {Policy::kDynamic, 32}, kStaticRows, kBalancedRows};
  }

  /// Rows one by one: CSR with every policy, tile, unroll and prefetch; DCSR; COO.
  void rows() {
    const FormatSchedule csr = format_from_levels("a:U b:C");
    const std::vector<Extras> extras{{1, 0}, {1, 4}, {2, 0}, {4, 0}, {4, 8}, {8, 16}};
    add_variants(csr, {0, false}, row_policies(), {{0, 0}}, extras);
    if (dense_) {
      add_variants(csr, {0, false}, row_policies(), tiles({16, 32, 64, 128, 256}, 1),
                   {{1, 0}, {1, 4}, {2, 8}});
      add_variants(csr, {0, false}, {kStaticRows, kBalancedRows}, tiles({32, 64, 128}, 0), {{1, 0}, {1, 8}});
    }
    const FormatSchedule dcsr = format_from_levels("a:C b:C");
    add_variants(dcsr, {0, false}, row_policies(), tiles({32, 128}, 1), {{1, 0}, {4, 8}});
    add_variants(format_from_levels("a:C b:S"), {0, false}, {kBalancedRows}, tiles({32, 128}, 0),
                 {{1, 0}, {4, 8}});
    add_variants(format_from_levels("b:C a:S"), {1, false}, {kBalancedRows}, tiles({128}, 0),
                 {{1, 0}, {4, 8}});
  }

  /// Columns outermost; parallel over columns (private results, but for sddmm) or over tiles of the dense
  /// index.
  void columns() {
    for (const char* levels : {"b:U a:C", "b:C a:C"}) {
      const FormatSchedule format = format_from_levels(levels);
      add_variants(format, {1, false}, {kStaticRows, kBalancedRows}, tiles({32, 128}, 1), {{1, 0}, {4, 8}});
      if (!dense_ || op_ == Op::kSddmm) continue;
      add_variants(format, {2, false}, {{Policy::kDynamic, 1}}, tiles({16, 32, 64}, 0), {{1, 0}, {4, 0}});
    }
  }

  /// r x 1: one stored column serves r rows held in registers.
  void row_blocks() {
    for (const int32_t rows : {2, 3, 4, 5, 6, 7, 8, 16, 32}) {
      const std::vector<int32_t> sizes =
          rows > 8 ? std::vector<int32_t>{8, 16} : std::vector<int32_t>{16, 32, 64, 128};
      const FormatSchedule format = format_from_levels("a1:U b:C a0:U", {rows, 1, 1});
      const std::vector<Parallel> policies{{Policy::kDynamic, rows < 8 ? 16 : 4}, kStaticRows, kBalancedRows};
      add_variants(format, {0, false}, policies, tiles(sizes, 1), {{1, 0}, {1, 8}});
      if (!dense_) add_variants(format, {0, false}, {kStaticRows}, {{0, 0}}, {{2, 0}, {4, 8}});
      add_variants(format_from_levels("a1:C b:C a0:U", {rows, 1, 1}), {0, false}, {kBalancedRows},
                   one_tile(1), {{1, 0}});
    }
  }

  /// r x c blocks, values row by row and column by column.
  void dense_blocks() {
    const std::vector<int32_t> sizes{1, 2, 3, 4, 5, 6, 7, 8, 16};
    for (const int32_t rows : sizes)
      for (const int32_t cols : sizes) {
        if (cols == 1) continue;
        const FormatSchedule by_rows = format_from_levels("a1:U b1:C a0:U b0:U", {rows, cols, 1});
        const std::vector<Parallel> policies{kStaticRows};
        add_variants(by_rows, {0, false}, policies, one_tile(1), {{1, 0}});
        if (rows != cols && rows != 2 * cols && cols != 2 * rows) continue;
        const FormatSchedule by_columns = format_from_levels("a1:U b1:C b0:U a0:U", {rows, cols, 1});
        const std::vector<Parallel> more{{Policy::kDynamic, 32}, kStaticRows, kBalancedRows};
        add_variants(by_rows, {0, false}, more, one_tile(1), {{1, 0}});
        add_variants(by_rows, {0, false}, policies, tiles({16, 32, 64}, 1), {{1, 0}});
        add_variants(by_columns, {0, false}, more, one_tile(1), {{1, 0}});
      }
  }

  /// ELL and SELL-C-sigma, vectorised over the lanes.
  void slices() {
    const int64_t num_rows = space_.dims()[0];
    for (const int32_t lanes : {4, 8, 16, 32}) {
      const std::vector<Parallel> policies{{Policy::kDynamic, 1024 / lanes}, kStaticRows, kBalancedRows};
      const std::vector<Extras> extras{{1, 0}, {1, 16}};
      const std::vector<Tile> some_tiles = dense_ ? tiles({16, 32}, 1) : tiles({}, 0);
      for (const int64_t window : {int64_t{1}, int64_t{64}, int64_t{1024}, num_rows}) {
        if (window > num_rows) continue;
        const int64_t rounded = window == 1 ? 1 : (window + lanes - 1) / lanes * lanes;
        add_variants(format_from_levels("a1:U a0:U b:L", {lanes, 1, 1}, rounded), {0, false}, policies,
                     some_tiles, extras);
      }
      add_variants(format_from_levels("a1:U a0:U b:E", {lanes, 1, 1}), {0, false}, {kStaticRows}, some_tiles,
                   extras);
      add_variants(format_from_levels("a1:U a0:U b1:L b0:U", {lanes, 2, 1}), {0, false}, {kStaticRows},
                   some_tiles, extras);
    }
  }

  /// Blocks of columns so that the rows of B they touch stay in a cache: outermost, or below blocks of rows.
  void column_blocks() {
    for (const int32_t cols : {256, 1024, 4096, 16384}) {
      const std::vector<Tile> outer_tiles = tiles({64, 128}, 0);
      for (const char* levels : {"b1:U a:C b0:C", "b1:C a:C b0:C", "b1:U a:U b0:C", "b1:C a:C b0:S"})
        add_variants(format_from_levels(levels, {1, cols, 1}), {0, false},
                     {{Policy::kDynamic, 32}, kStaticRows}, outer_tiles, {{1, 0}, {4, 8}});
      if (op_ == Op::kSddmm)
        add_variants(format_from_levels("b1:U a:C b0:C", {1, cols, 1}), {1, false}, {{Policy::kDynamic, 1}},
                     {{0, 0}}, {{1, 0}, {4, 8}});
      for (const int32_t rows : {64, 512, 4096})
        for (const char* levels : {"a1:U b1:C a0:C b0:C", "a1:U b1:U a0:U b0:C"})
          add_variants(format_from_levels(levels, {rows, cols, 1}), {0, false},
                       {{Policy::kDynamic, 1}, kBalancedRows}, one_tile(1), {{1, 0}});
    }
    coordinate_tiles();
  }

  /// Tiles with coordinates that list their nonzeros column after column: of a matrix whose rows have nothing
  /// in common, part of x and part of y are in the caches at a time, and no row waits for its own sum.
  void coordinate_tiles() {
    for (const int32_t rows : {4096, 32768})
      for (const int32_t cols : {4096, 32768})
        add_variants(format_from_levels("a1:U b1:C b0:C a0:S", {rows, cols, 1}), {0, false},
                     {{Policy::kDynamic, 1}}, one_tile(1), {{1, 0}});
  }

  /// CSF in every order of the modes, parallel over its outermost mode or over the rows of the result.
  void fiber_trees() {
    const std::vector<Parallel> policies{
        {Policy::kDynamic, 8}, {Policy::kDynamic, 32}, kStaticRows, kBalancedRows};
    const std::vector<Extras> extras{{1, 0}, {1, 8}, {2, 0}, {4, 8}};
    for (const char* levels : {"a:C b:C c:C", "a:C c:C b:C", "a:U b:C c:C", "a:U c:C b:C"})
      add_variants(format_from_levels(levels), {0, false}, policies, tiles({8}, 0), extras);
    for (const char* levels :
         {"b:C a:C c:C", "c:C a:C b:C", "b:C c:C a:C", "c:C b:C a:C", "b:U a:C c:C", "c:U a:C b:C"}) {
      const FormatSchedule format = format_from_levels(levels);
      add_variants(format, format.levels[0].var, {kStaticRows, kBalancedRows}, {{0, 0}}, extras);
      add_variants(format, {0, false}, {kStaticRows}, {{0, 0}}, {{1, 0}});
    }
    for (const char* levels : {"a:C b:C c:S", "a:U b:C c:S", "a:U c:C b:S", "a:C c:C b:S"})
      add_variants(format_from_levels(levels), {0, false}, policies, {{0, 0}}, extras);
  }

  /// COO in the orders of its modes, and HiCOO: blocks of coordinates narrow enough for a byte or two.
  void tuples() {
    const std::vector<Extras> extras{{1, 0}, {1, 8}, {4, 16}};
    for (const char* levels : {"a:C b:S c:S", "a:C c:S b:S", "b:C a:S c:S", "c:C a:S b:S"}) {
      const FormatSchedule format = format_from_levels(levels);
      add_variants(format, format.levels[0].var, {kBalancedRows, kStaticRows}, {{0, 0}}, extras);
    }
    for (const int32_t block : {16, 32, 64, 128, 256, 1024, 4096}) {
      const std::array<int32_t, 3> split{block, block, block};
      for (const char* levels :
           {"a1:C b1:S c1:S a0:C b0:S c0:S", "a1:U b1:C c1:S a0:C b0:S c0:S", "a1:U b1:C c1:C a0:C b0:S c0:S",
            "a1:C b1:C c1:C a0:C b0:C c0:S", "b1:C c1:S a1:S a0:C b0:S c0:S"}) {
        const FormatSchedule format = format_from_levels(levels, split);
        add_variants(format, format.levels[0].var, {kBalancedRows, {Policy::kDynamic, 1}}, {{0, 0}}, extras);
      }
    }
  }

  /// Dense rows in registers, fibers cut into blocks of the factors' rows, and slices.
  void tensor_blocks() {
    for (const int32_t rows : {2, 4, 8}) {
      add_variants(format_from_levels("a1:U b:C c:S a0:U", {rows, 1, 1}), {0, false},
                   {kStaticRows, kBalancedRows}, {{0, 0}}, {{1, 0}, {1, 8}});
      add_variants(format_from_levels("a1:U b:C c:C a0:U", {rows, 1, 1}), {0, false}, {kStaticRows}, {{0, 0}},
                   {{1, 0}});
    }
    for (const int32_t block : {256, 1024, 4096, 16384})
      for (const char* levels :
           {"b1:U a:C b0:C c:C", "c1:U a:C c0:C b:C", "c1:U a:C b:C c0:C", "b1:C a:C b0:C c:S"})
        add_variants(
            format_from_levels(levels, {1, levels[0] == 'b' ? block : 1, levels[0] == 'c' ? block : 1}),
            {0, false}, {kStaticRows, {Policy::kDynamic, 32}}, {{0, 0}}, {{1, 0}, {4, 8}});
    for (const int32_t lanes : {4, 8, 16})
      for (const int64_t window : {int64_t{1}, int64_t{1024}})
        add_variants(format_from_levels("a1:U a0:U b:L c:S", {lanes, 1, 1}, window), {0, false},
                     {kStaticRows}, {{0, 0}}, {{1, 0}, {1, 8}});
  }

  const ScheduleSpace& space_;
  const Op op_;
  const bool dense_;
  std::vector<SuperSchedule> points_;
  std::unordered_set<std::string> seen_;
};

}  // namespace

std::vector<SuperSchedule> ScheduleSpace::enumerate_structured() const {
  return Seeds(*this).all();
}

std::vector<SuperSchedule> ScheduleSpace::enumerate_skewed() const {
  return Seeds(*this).skewed();
}

}  // namespace waco::schedule
