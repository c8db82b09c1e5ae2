// Features of patterns: known answers by hand, exact counts by other means, finite for every shape.
#include "waco/pattern/pattern_features.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "../checksum.hpp"
#include "../model/patterns.hpp"
#include "make_tensor.hpp"
#include "waco/base/random.hpp"
#include "waco/matrix/synthetic.hpp"
#include "waco/pattern/pattern_counts.hpp"
#include "waco/pattern/row_lengths.hpp"
#include "waco/pattern/stamp_set.hpp"

using namespace waco;
using namespace waco::pattern;

namespace {

std::map<std::string, float> features_of(const matrix::SparseTensor& tensor, int threads = 2) {
  const std::vector<float> values = pattern_features(tensor, threads);
  const std::vector<std::string>& names = feature_names(tensor.order());
  REQUIRE(values.size() == names.size());
  std::map<std::string, float> result;
  for (size_t n = 0; n < names.size(); ++n) {
    INFO(names[n]);
    CHECK(std::isfinite(values[n]));
    result[names[n]] = values[n];
  }
  REQUIRE(result.size() == names.size());  // names are distinct
  return result;
}

/// Dense diagonal blocks of 3 x 3.
matrix::SparseTensor block_diagonal(int64_t blocks) {
  std::set<std::vector<int64_t>> coords;
  for (int64_t b = 0; b < blocks; ++b)
    for (int64_t r = 0; r < 3; ++r)
      for (int64_t c = 0; c < 3; ++c) coords.insert({3 * b + r, 3 * b + c});
  return make_tensor({3 * blocks, 3 * blocks}, coords);
}

matrix::SparseTensor random_matrix(int64_t rows, int64_t cols, int64_t draws, uint64_t seed) {
  Random random(seed);
  std::set<std::vector<int64_t>> coords;
  for (int64_t n = 0; n < draws; ++n) {
    const auto skewed = static_cast<int64_t>(std::pow(random.uniform(), 4) * static_cast<double>(rows));
    coords.insert({skewed, static_cast<int64_t>(random.below(static_cast<uint64_t>(cols)))});
  }
  return make_tensor({rows, cols}, coords);
}

double exact_fill(const PatternCounts& counts, int64_t rows, int64_t cols) {
  return std::log2(static_cast<double>(counts.num_cells({rows, cols, 0}) * rows * cols) /
                   static_cast<double>(counts.num_nonzeros()));
}

}  // namespace

TEST_CASE("pattern_features: dense 3x3 blocks are seen as what they are", "[pattern]") {
  auto f = features_of(block_diagonal(64));
  CHECK(f.at("fill_3x3") == Approx(0).margin(1e-6));
  CHECK(f.at("fill_1x3") == Approx(0).margin(1e-6));
  CHECK(f.at("fill_3x1") == Approx(0).margin(1e-6));
  CHECK(f.at("fill_6x6") == Approx(1));
  CHECK(f.at("fill_1x6") == Approx(1));
  CHECK(f.at("fill_2x2") == Approx(std::log2(7.0 * 4 / 18)));
  CHECK(f.at("rows_length_cv") == 0);
  CHECK(f.at("rows_length_q50") == 2);
  CHECK(f.at("rows_length_changes") == 0);
  CHECK(f.at("gap_to_1") == Approx(2.0 / 3));
  CHECK(f.at("column_in_row_before") == Approx(2.0 / 3));
  CHECK(f.at("diagonal_within_1") == Approx(7.0 / 9));
  CHECK(f.at("diagonal_within_16") == 1);
  CHECK(f.at("nonzeros") == Approx(std::log2(1 + 64 * 9)));
  CHECK(f.at("dim0") == Approx(std::log2(192)));
  CHECK(f.at("rows_imbalance_4") == Approx(0).margin(1e-6));
  CHECK(f.at("rows_slices_8_sort_1") == Approx(0).margin(1e-6));
  CHECK(f.at("rows_padded_4") == Approx(std::log2(4.0 / 3)));
}

TEST_CASE("pattern_features: a diagonal goes on, and its columns never come again", "[pattern]") {
  std::set<std::vector<int64_t>> coords;
  for (int64_t n = 0; n < 480; ++n) coords.insert({n, n});
  auto f = features_of(make_tensor({480, 480}, coords));
  CHECK(f.at("diagonal_goes_on") > 0.97f);
  CHECK(f.at("column_in_row_before") == 0);
  CHECK(f.at("columns_in_256") == 0);
  CHECK(f.at("column_lines_in_256") == Approx(-4));
  CHECK(f.at("columns_distinct") == 0);
  CHECK(f.at("rows_length_to_1") == 1);
  CHECK(f.at("diagonal_distance") == 0);
}

TEST_CASE("pattern_features: one long row among short ones shows in balance and slices", "[pattern]") {
  std::set<std::vector<int64_t>> coords;
  for (int64_t c = 0; c < 500; ++c) coords.insert({0, c});
  for (int64_t r = 1; r < 501; ++r) coords.insert({r, r % 7});
  auto f = features_of(make_tensor({1024, 512}, coords));
  CHECK(f.at("rows_empty") == Approx(523.0 / 1024));
  CHECK(f.at("rows_longest_0.001") == Approx(0.5 + 0.024 / 1000).margin(1e-3));
  CHECK(f.at("rows_chunk_32_share") == Approx(std::log2(531.0 / 1000)));
  CHECK(f.at("rows_imbalance_2") == Approx(1));
  CHECK(f.at("rows_length_changes") == Approx(2.0 / 1024));
  CHECK(f.at("rows_slices_8_sort_1") == Approx(std::log2((8 * 500.0 + 496) / 1000)).margin(1e-5));
  CHECK(f.at("columns_most") == Approx(std::log2(1e-4 + 73.0 / 1000)).margin(0.01));
}

TEST_CASE("pattern_features: finite for every shape, with the same names", "[pattern]") {
  std::set<std::vector<int64_t>> row, column, dense_row;
  for (int64_t n = 0; n < 300; n += 2) {
    row.insert({0, n});
    column.insert({n, 0});
  }
  for (int64_t n = 0; n < 200000; ++n) dense_row.insert({3, n});
  for (const auto& tensor : {
           make_tensor({7, 5}, {}),
           make_tensor({1, 1}, {{0, 0}}),
           make_tensor({1, 300}, row),
           make_tensor({300, 1}, column),
           make_tensor({5, 200000}, dense_row),
           make_tensor({int64_t{1} << 40, int64_t{1} << 50},
                       {{5, 9}, {(int64_t{1} << 40) - 1, int64_t{1} << 49}}),
           make_tensor({4, 5, 6}, {}),
           make_tensor({1, 1, 1}, {{0, 0, 0}}),
           make_tensor({3, 1, 900}, {{0, 0, 1}, {0, 0, 2}, {2, 0, 899}}),
           make_tensor({int64_t{1} << 40, 9, int64_t{1} << 40},
                       {{5, 8, int64_t{1} << 39}, {int64_t{1} << 39, 0, 7}}),
       }) {
    INFO(tensor.dims[0] << " x " << tensor.dims[1] << ", " << tensor.num_nonzeros());
    features_of(tensor);
  }
}

TEST_CASE("pattern_features: the largest dimensions are counted to their last row and column", "[pattern]") {
  const int64_t last = INT64_MAX - 1;
  auto f = features_of(make_tensor({INT64_MAX, 3}, {{0, 0}, {last - 1, 1}, {last, 2}}));
  CHECK(f.at("diagonal_goes_on") == Approx(1.0 / 3));
  CHECK(f.at("blocks_1x1024") == 0);
  CHECK(f.at("rows_imbalance_2") == Approx(std::log2(4.0 / 3)));

  std::set<std::vector<int64_t>> coords;  // so many in the last rows that panels are cut to stripes
  for (int64_t n = 0; n < 70000; ++n) coords.insert({last - n % 2, last - n / 2 * (INT64_MAX / 35000)});
  f = features_of(make_tensor({INT64_MAX, INT64_MAX}, coords));
  CHECK(f.at("column_in_row_before") == Approx(0.5).margin(0.01));
}

// Learned models know patterns by these numbers. Where others are right, raise kFeatureVersion and write them
// here.
TEST_CASE("pattern_features: the numbers are those of their version", "[pattern]") {
  REQUIRE(kFeatureVersion == 1);
  std::set<std::vector<int64_t>> coords;
  for (int64_t n = 0; n < 3000; ++n) coords.insert({n % 40, n * n % 50, n * 31 % 60});
  const std::tuple<const char*, matrix::SparseTensor, double> pinned[] = {
      {"blocks", block_diagonal(64), -78.731},
      {"power law", test::power_law(2000, 20000, 5), 50.428},
      {"uniform", test::uniform(20000, 30000, 150000, 6), 90.535},
      {"tensor", make_tensor({40, 50, 60}, coords), -300.937},
  };
  for (const auto& [name, tensor, expected] : pinned) {
    const double found = test::checksum(pattern_features(tensor, 2));
    INFO(fmt::format("{}: {:.3f}", name, found));
    CHECK(found == Approx(expected).margin(0.002));
  }
}

TEST_CASE("pattern_features: threads change nothing", "[pattern]") {
  for (const char* recipe : {"rmat scale=13 degree=12", "fem nx=20 ny=20 nz=20 dof=3",
                             "tensor-power i=800 k=900 l=700 nnz=120000"}) {
    const matrix::SparseTensor tensor = matrix::generate(recipe);
    const std::vector<float> one = pattern_features(tensor, 1);
    for (const int threads : {2, 3, 7}) CHECK(pattern_features(tensor, threads) == one);
  }
}

TEST_CASE("pattern_features: sampled panels come close to exact counts on a large mesh", "[pattern]") {
  const matrix::SparseTensor mesh = matrix::generate("fem nx=24 ny=24 nz=24 dof=3");
  REQUIRE(mesh.num_nonzeros() > 20 * 65536);
  const PatternCounts counts(mesh);
  auto f = features_of(mesh);
  for (const auto& [rows, cols] : {std::pair{1, 3},
                                   {3, 1},
                                   {2, 2},
                                   {3, 3},
                                   {4, 4},
                                   {6, 6},
                                   {8, 8},
                                   {16, 16},
                                   {1, 16},
                                   {16, 1},
                                   {2, 8}}) {
    INFO(rows << " x " << cols);
    CHECK(f.at("fill_" + std::to_string(rows) + "x" + std::to_string(cols)) ==
          Approx(exact_fill(counts, rows, cols)).margin(0.1));
  }
  const double coarse =
      static_cast<double>(counts.num_cells({4096, 4096})) / static_cast<double>(mesh.num_nonzeros());
  CHECK(f.at("cells_4096") - std::log2(coarse * static_cast<double>(mesh.num_nonzeros()) / 65536) ==
        Approx(0).margin(0.3));
}

TEST_CASE("pattern_features: a small matrix is counted as a whole", "[pattern]") {
  const matrix::SparseTensor matrix = random_matrix(2000, 3000, 30000, 5);
  const PatternCounts counts(matrix);
  auto f = features_of(matrix);
  for (const auto& [rows, cols] :
       {std::pair{2, 2}, {3, 3}, {1, 6}, {16, 16}, {4, 8}, {8, 1}, {4, 2}, {16, 4}}) {
    INFO(rows << " x " << cols);
    CHECK(f.at("fill_" + std::to_string(rows) + "x" + std::to_string(cols)) ==
          Approx(exact_fill(counts, rows, cols)).margin(0.01));
  }
  CHECK(f.at("cells_128") == Approx(std::log2(static_cast<double>(counts.num_cells({128, 128})) /
                                              static_cast<double>(counts.num_nonzeros()))));
  for (const int64_t lanes : {4, 8, 16, 32}) {
    const auto slices = [&](int64_t window) {
      return std::log2(
          static_cast<double>(counts.slice_widths(lanes, window, {0, 1, 0}).total_width * lanes) /
          static_cast<double>(counts.num_nonzeros()));
    };
    const std::string name = "rows_slices_" + std::to_string(lanes) + "_sort_";
    CHECK(f.at(name + "1") == Approx(slices(1)));
    CHECK(f.at(name + "4096") == Approx(slices(4096)));
    CHECK(f.at(name + "all") == Approx(slices(4096)));
  }
}

TEST_CASE("row_lengths: counts are exact, however the rows are cut", "[pattern]") {
  const matrix::SparseTensor matrix = random_matrix(9000, 400, 90000, 6);
  std::vector<int64_t> lengths(9000, 0);
  for (const int64_t row : matrix.coords[0]) ++lengths[static_cast<size_t>(row)];
  int64_t changes = 0, chunk = 0;
  for (size_t r = 1; r < lengths.size(); ++r) changes += lengths[r] != lengths[r - 1];
  for (size_t r = 0; r < lengths.size(); r += 128) {
    int64_t sum = 0;
    for (size_t n = r; n < std::min(r + 128, lengths.size()); ++n) sum += lengths[n];
    chunk = std::max(chunk, sum);
  }
  for (const int threads : {1, 2, 5}) {
    const RowLengths found = measure_row_lengths(matrix, threads);
    CHECK(found.num_changes == changes);
    CHECK(found.longest_chunk[1] == chunk);
    CHECK(found.longest() == *std::max_element(lengths.begin(), lengths.end()));
    std::vector<int64_t> sorted = lengths, listed;
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    found.for_each_length([&](int64_t length, int64_t count) {
      listed.insert(listed.end(), static_cast<size_t>(count), length);
    });
    CHECK(listed == sorted);
    std::vector<int64_t> in_windows;
    for (const auto& window : found.windows)
      in_windows.insert(in_windows.end(), window.begin(), window.end());
    CHECK(in_windows == lengths);
  }
}

TEST_CASE("pattern_features: fibers and blocks of a tensor by hand", "[pattern]") {
  std::set<std::vector<int64_t>> coords;
  for (int64_t i = 0; i < 4; ++i)
    for (int64_t k = 0; k < 8; ++k)
      for (int64_t l = 0; l < 16; ++l) coords.insert({i, k, 100 + l});
  auto f = features_of(make_tensor({4, 8, 200}, coords));
  CHECK(f.at("fibers") == -4);
  CHECK(f.at("fibers_1") == -3);
  CHECK(f.at("slices") == -7);
  CHECK(f.at("entries_2rows") == -1);
  CHECK(f.at("entries_4inner") == -2);
  CHECK(f.at("fiber_length_cv") == 0);
  CHECK(f.at("fiber_length_bits_4") == 1);
  CHECK(f.at("inner_gap_to_1") == Approx(15.0 / 16));
  CHECK(f.at("middle_gap_to_1") == Approx(7.0 / 128));
  CHECK(f.at("mode2_distinct") == Approx(std::log2(16.0 / 512)));
  CHECK(f.at("mode1_in_256") == -5);
  CHECK(f.at("blocks_4") == Approx(std::log2(8.0 / 512)));
}

TEST_CASE("stamp_set: counts the distinct items of each group, exactly in a range of 30000", "[pattern]") {
  StampSet seen(15);
  Random random(2);
  for (int round = 0; round < 20; ++round) {
    if (round % 5 == 0) seen.restart();
    std::set<int64_t> items;
    int64_t found = 0;
    const auto base = static_cast<int64_t>(random.below(uint64_t{1} << 39));
    for (int n = 0; n < 5000; ++n) {
      const int64_t item = base + static_cast<int64_t>(random.below(30000));
      items.insert(item);
      found += seen.insert(make_key(round, item));
    }
    CHECK(found == static_cast<int64_t>(items.size()));
  }
}

TEST_CASE("stamp_set: an item follows only from the group before", "[pattern]") {
  StampSet seen(6);
  CHECK_FALSE(seen.follows(make_key(0, 5)));
  CHECK(seen.follows(make_key(1, 5)));
  CHECK_FALSE(seen.follows(make_key(3, 5)));
  seen.restart();
  CHECK_FALSE(seen.follows(make_key(4, 5)));
}
