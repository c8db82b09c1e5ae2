// Counts over patterns: exact answers by hand, and against a set-based count on random patterns.
#include "waco/pattern/pattern_counts.hpp"

#include <omp.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "make_tensor.hpp"
#include "waco/base/error.hpp"
#include "waco/base/random.hpp"
#include "waco/pattern/diagonals.hpp"
#include "waco/pattern/distinct_keys.hpp"

using namespace waco;
using namespace waco::pattern;

namespace {

matrix::SparseTensor random_tensor(std::vector<int64_t> dims, int draws, Random& random) {
  std::set<std::vector<int64_t>> coords;
  for (int n = 0; n < draws; ++n) {
    std::vector<int64_t> coord;
    for (const int64_t dim : dims)
      coord.push_back(static_cast<int64_t>(random.below(static_cast<uint64_t>(dim))));
    coords.insert(coord);
  }
  return make_tensor(std::move(dims), coords);
}

int64_t cells_by_set(const matrix::SparseTensor& tensor, const CellShape& cell) {
  std::set<std::vector<int64_t>> cells;
  for (size_t p = 0; p < tensor.values.size(); ++p) {
    std::vector<int64_t> key;
    for (size_t mode = 0; mode < tensor.dims.size(); ++mode)
      if (cell[mode] > 0) key.push_back(tensor.coords[mode][p] / cell[mode]);
    cells.insert(key);
  }
  return static_cast<int64_t>(cells.size());
}

}  // namespace

TEST_CASE("pattern_counts: cells and rows of a small matrix", "[pattern]") {
  const matrix::SparseTensor tensor = small_matrix();
  const PatternCounts counts(tensor);
  CHECK(counts.num_cells({0, 0, 0}) == 1);
  CHECK(counts.num_cells({1, 0, 0}) == 4);
  CHECK(counts.num_cells({0, 1, 0}) == 5);
  CHECK(counts.num_cells({1, 1, 0}) == 9);
  CHECK(counts.num_cells({2, 0, 0}) == 3);
  CHECK(counts.num_cells({2, 2, 0}) == 5);
  CHECK(counts.num_cells({5, 6, 0}) == 1);
  CHECK(counts.num_cells({32768, 32768, 0}) == 1);
  CHECK(counts.num_cells({2, 1, 0}) == 8);
  CHECK(counts.longest_row() == 4);
}

TEST_CASE("pattern_counts: cells equal a set-based count on random patterns", "[pattern]") {
  Random random(7);
  const std::vector<int64_t> sizes{0, 1, 2, 3, 5, 8, 16, 64, 1024};
  const auto size = [&] { return sizes[random.below(sizes.size())]; };
  for (int round = 0; round < 12; ++round) {
    const bool is_3d = round % 2 == 1;
    std::vector<int64_t> dims{1 + static_cast<int64_t>(random.below(90)),
                              1 + static_cast<int64_t>(random.below(90))};
    if (is_3d) dims.push_back(1 + static_cast<int64_t>(random.below(90)));
    const matrix::SparseTensor tensor = random_tensor(dims, 40 << (round % 5), random);
    const PatternCounts counts(tensor);
    for (int n = 0; n < 40; ++n) {
      const CellShape cell{size(), size(), is_3d ? size() : 0};
      CAPTURE(round, cell[0], cell[1], cell[2]);
      CHECK(counts.num_cells(cell) == cells_by_set(tensor, cell));
    }
  }
}

TEST_CASE("pattern_counts: cells are exact when dimensions exceed every counter", "[pattern]") {
  Random random(3);
  const int64_t huge = int64_t{1} << 40;
  const matrix::SparseTensor tensor = random_tensor({huge, huge, huge}, 3000, random);
  const PatternCounts counts(tensor);
  CHECK(counts.num_cells({1, 1, 1}) == counts.num_nonzeros());
  for (const CellShape cell : {CellShape{2, 3, 1}, CellShape{0, 1, 1}, CellShape{0, 0, 7},
                               CellShape{huge / 4, 0, 3}, CellShape{huge / 2, huge / 4, huge / 8}})
    CHECK(counts.num_cells(cell) == cells_by_set(tensor, cell));
}

TEST_CASE("pattern_counts: a tensor of more cells than can be numbered is too large", "[pattern]") {
  const int64_t dim = int64_t{1} << 45;
  const auto tensor = make_tensor({dim, dim, dim}, {{0, 0, 0}, {1, 1, 1}, {dim - 1, dim - 1, dim - 1}});
  const PatternCounts counts(tensor);
  CHECK(counts.num_cells({1, 1, 1}) == 3);
  CHECK_THROWS_AS(counts.num_cells({2, 2, 2}), TooLargeError);
}

TEST_CASE("pattern_counts: cells at the end of the largest dimension", "[pattern]") {
  const int64_t last = INT64_MAX - 1;
  const auto tensor =
      make_tensor({INT64_MAX, 3}, {{0, 0}, {last - 2, 0}, {last - 1, 0}, {last, 0}, {last, 2}});
  const PatternCounts counts(tensor);
  CHECK(counts.num_cells({48, 1, 0}) == 3);
  CHECK(counts.num_cells({INT64_MAX, 1, 0}) == 2);
  CHECK(counts.num_cells({1, 0, 0}) == 4);
}

TEST_CASE("pattern_counts: hashing counts enough keys to need buckets", "[pattern]") {
  Random random(5);
  const matrix::SparseTensor tensor = random_tensor({3000, 3000, 3000}, 60000, random);
  const PatternCounts counts(tensor);
  CHECK(counts.num_cells({64, 64, 64}) == cells_by_set(tensor, {64, 64, 64}));
  CHECK(counts.num_cells({0, 16, 3}) == cells_by_set(tensor, {0, 16, 3}));
}

TEST_CASE("pattern_counts: cells of one mode and of all rows are counted by all threads", "[pattern]") {
  Random random(6);
  const int before = omp_get_max_threads();
  for (const int threads : {1, 3}) {
    omp_set_num_threads(threads);
    const matrix::SparseTensor tensor = random_tensor({500, 400, 300}, 2000, random);
    const PatternCounts counts(tensor);
    for (const CellShape cell : {CellShape{0, 3, 0}, CellShape{0, 0, 1}, CellShape{500, 1, 0},
                                 CellShape{9000, 0, 7}, CellShape{499, 0, 2}})
      CHECK(counts.num_cells(cell) == cells_by_set(tensor, cell));
  }
  omp_set_num_threads(before);
}

TEST_CASE("distinct_keys: tables grow with the distinct keys, not with all", "[pattern]") {
  std::vector<uint64_t> keys(100000, 7), table;
  CHECK(count_distinct_in_bucket(keys.data(), keys.data() + keys.size(), table) == 1);
  CHECK(table.size() <= 4096);
  for (size_t n = 0; n < keys.size(); ++n) keys[n] = n % 30000 << 20;
  CHECK(count_distinct_in_bucket(keys.data(), keys.data() + keys.size(), table) == 30000);
  CHECK(table.size() <= 131072);
  CHECK(count_distinct_in_bucket(keys.data(), keys.data() + 3, table) == 3);
}

TEST_CASE("pattern_counts: an empty pattern occupies nothing", "[pattern]") {
  const matrix::SparseTensor tensor = make_tensor({4, 4}, {});
  const PatternCounts counts(tensor);
  CHECK(counts.num_cells({1, 1, 0}) == 0);
  CHECK(counts.num_cells({2, 3, 0}) == 0);
  CHECK(counts.num_cells({0, 1, 0}) == 0);
  CHECK(counts.slice_widths(4, 1, {1, 1, 0}) == SliceWidths{1, 0, 0});
  CHECK(counts.longest_row() == 0);
}

TEST_CASE("pattern_counts: slice widths with and without sorting", "[pattern]") {
  const matrix::SparseTensor tensor = small_matrix();  // row lengths 3 0 1 4 1
  const PatternCounts counts(tensor);
  CHECK(counts.slice_widths(2, 1, {1, 1, 0}) == SliceWidths{3, 3 + 4 + 1, 4});
  CHECK(counts.slice_widths(2, 4, {1, 1, 0}) == SliceWidths{3, 4 + 1 + 1, 4});
  CHECK(counts.slice_widths(2, 64, {1, 1, 0}) == SliceWidths{3, 4 + 1, 4});
  CHECK(counts.slice_widths(2, 1, {1, 2, 0}) == SliceWidths{3, 2 + 2 + 1, 2});
}

TEST_CASE("diagonals: their fill is estimated from groups all over the matrix", "[pattern]") {
  std::set<std::vector<int64_t>> whole, single;
  for (int64_t row = 0; row < 4000; ++row)
    for (const int64_t offset : {0, 3, 50})
      if (row + offset < 4000) {
        whole.insert({row, row + offset});
        if (row % 4 == 0) single.insert({row, row + offset});
      }
  CHECK(fill_of_diagonals(make_tensor({4000, 4000}, whole), 16) == Approx(1).margin(0.01));
  CHECK(fill_of_diagonals(make_tensor({4000, 4000}, single), 16) == Approx(4).margin(0.01));
  CHECK(fill_of_diagonals(make_tensor({4000, 4000}, whole), 1) == 1);
  CHECK(fill_of_diagonals(make_tensor({4000, 4000}, {}), 16) == 16);
  CHECK(fill_of_diagonals(make_tensor({0, 5}, {}), 16) == 16);
  std::set<std::vector<int64_t>> many;  // of which only some groups are looked at
  for (int64_t row = 0; row < 40000; ++row)
    for (int64_t offset = 0; offset < 5; ++offset) many.insert({row, (row + 1000 * offset) % 45000});
  CHECK(fill_of_diagonals(make_tensor({40000, 45000}, many), 16) == Approx(1).margin(0.02));
  std::set<std::vector<int64_t>> wide;  // many nonzeros a row, and only the first rows follow diagonals
  for (int64_t row = 0; row < 1600; ++row)
    for (int64_t n = 0; n < 100; ++n)
      wide.insert({row, row < 16 ? row + n : (row * 7919 + n * n * 31) % 100000});
  CHECK(fill_of_diagonals(make_tensor({1600, 100000}, wide), 16) > 8);
  std::set<std::vector<int64_t>> band, scattered;  // groups of which a stripe is looked at
  for (int64_t row = 0; row < 160; ++row)
    for (int64_t n = 0; n < 600; ++n) {
      band.insert({row, row + 2 * n});
      scattered.insert({row, (row * 7919 + n * 613) % 100000});
    }
  CHECK(fill_of_diagonals(make_tensor({160, 100000}, band), 16) == Approx(1).margin(0.01));
  CHECK(fill_of_diagonals(make_tensor({160, 100000}, scattered), 16) > 8);
  constexpr int64_t kLast = std::numeric_limits<int64_t>::max() - 1;
  CHECK(fill_of_diagonals(make_tensor({kLast + 1, kLast + 1}, {{0, 0}, {kLast, kLast}}), 16) == 16);
}

TEST_CASE("pattern_counts: slots of 3-D rows are distinct tuples", "[pattern]") {
  const matrix::SparseTensor tensor =
      make_tensor({3, 8, 8}, {{0, 0, 0}, {0, 0, 5}, {0, 1, 1}, {2, 3, 3}, {2, 7, 3}});
  const PatternCounts counts(tensor);
  CHECK(*counts.row_slots({1, 1, 1}) == std::vector<int64_t>{3, 2});
  CHECK(*counts.row_slots({1, 2, 4}) == std::vector<int64_t>{2, 2});
  CHECK(*counts.row_slots({1, 8, 8}) == std::vector<int64_t>{1, 1});
}
