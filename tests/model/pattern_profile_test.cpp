// Counts of patterns: exact ones on small patterns, estimates near them on larger ones.
#include "waco/model/pattern_profile.hpp"

#include <catch2/catch.hpp>

#include "patterns.hpp"
#include "waco/pattern/pattern_counts.hpp"

using waco::model::PatternProfile;

TEST_CASE("pattern_profile: distinct prefixes of a small matrix are exact", "[model]") {
  const auto tensor = waco::test::from_entries(6, 6, {{0, 0}, {0, 1}, {1, 0}, {3, 5}, {5, 5}});
  PatternProfile profile(tensor);
  CHECK(profile.distinct({1, 1, 0}) == 5);
  CHECK(profile.distinct({1, 0, 0}) == 4);
  CHECK(profile.distinct({0, 1, 0}) == 3);
  CHECK(profile.distinct({2, 2, 0}) == 3);
  CHECK(profile.distinct({2, 1, 0}) == 4);
  CHECK(profile.distinct({0, 0, 0}) == 1);
}

TEST_CASE("pattern_profile: lane slots are the longest rows of slices", "[model]") {
  const auto tensor =
      waco::test::from_entries(5, 4, {{0, 0}, {0, 1}, {0, 2}, {2, 0}, {3, 1}, {3, 2}, {4, 0}});
  PatternProfile profile(tensor);
  // Lengths 3 0 1 2 1 in slices of 2: widths 3, 2, 1.
  CHECK(profile.lane_slots(2, 1).sliced == Approx(2 * (3 + 2 + 1) * 1.0));
  CHECK(profile.lane_slots(2, 1).fixed == Approx(3 * 3 * 2));
  // Sorted within four rows: 3 2 | 1 0 | 1.
  CHECK(profile.lane_slots(2, 4).sliced == Approx(2 * (3 + 1 + 1)));
}

TEST_CASE("pattern_profile: rows of all of a few large windows are looked at", "[model]") {
  constexpr int64_t kHalf = 70000;
  std::set<std::pair<int64_t, int64_t>> entries;
  for (int64_t row = 0; row < 2 * kHalf; ++row)
    for (int64_t column = 0; column < (row < kHalf ? 1 : 3); ++column) entries.emplace(row, column);
  PatternProfile profile(waco::test::from_entries(2 * kHalf, 3, entries));
  for (const int64_t window : {kHalf, kHalf / 2, 2 * kHalf})
    CHECK(profile.lane_slots(8, window).sliced == Approx(4 * kHalf));
}

TEST_CASE("pattern_profile: block counts of a large matrix are estimated within a few per cent", "[model]") {
  const auto tensor = waco::test::fem(12000, 3);
  REQUIRE(tensor.num_nonzeros() > 400000);
  PatternProfile profile(tensor);
  const double blocks = static_cast<double>(tensor.num_nonzeros()) / 9;
  CHECK(profile.distinct({3, 3, 0}) == Approx(blocks).epsilon(0.05));
  CHECK(profile.distinct({3, 1, 0}) == Approx(3 * blocks).epsilon(0.05));
  CHECK(profile.distinct({0, 3, 0}) == 12000);
  // Granules of rows that are longer than what is counted anyway, and cells of other widths.
  const waco::pattern::PatternCounts exact(tensor);
  for (const int64_t rows : {2, 6, 30, 96, 300})
    for (const int64_t columns : {1, 4, 64, 2048})
      CHECK(profile.distinct({rows, columns, 0}) ==
            Approx(static_cast<double>(exact.num_cells({rows, columns, 0}))).epsilon(0.1));
  // Large tiles are few enough to be counted all.
  for (const int64_t rows : {4096, 15000})
    for (const int64_t columns : {64, 700, 2048, 40000})
      CHECK(profile.distinct({rows, columns, 0}) == static_cast<double>(exact.num_cells({rows, columns, 0})));
}

TEST_CASE("pattern_profile: heaviest rows and padding follow the row lengths", "[model]") {
  const auto tensor =
      waco::test::from_entries(4, 8, {{0, 0}, {1, 0}, {1, 1}, {1, 2}, {2, 0}, {3, 3}, {3, 4}});
  PatternProfile profile(tensor);
  CHECK(profile.heaviest_rows(1) == 3);
  CHECK(profile.heaviest_rows(2) == 4);
  CHECK(profile.busiest_by_turns(1, 2) == 4);  // 1, 1 and 2; 3
  CHECK(profile.busiest_by_turns(1, 4) == 3);
  CHECK(profile.busiest_by_turns(2, 2) == 4);
  CHECK(profile.busiest_by_turns(4, 2) == 7);
  CHECK(profile.padded_nonzeros(4) == 16);
  CHECK(profile.longest_rows_share(0.5) == Approx(5.0 / 7));
}

TEST_CASE("pattern_profile: empty rows behind a dense one are no panel", "[model]") {
  std::set<std::pair<int64_t, int64_t>> entries;
  for (int64_t column = 0; column < 150000; column++) entries.emplace(0, column);
  const auto tensor = waco::test::from_entries(10, 200000, entries);
  PatternProfile profile(tensor);
  CHECK(profile.distinct({2, 2, 0}) == Approx(75000).epsilon(0.01));
  CHECK(profile.distinct({4, 1, 0}) == Approx(150000).epsilon(0.01));
}

TEST_CASE("pattern_profile: a few nonzeros in very many rows take no memory for the rows", "[model]") {
  // Beside 2^30 pointers of 8 bytes this test would take seconds and 8 GB.
  const int64_t rows = int64_t{1} << 30;
  const auto tensor = waco::test::from_entries(rows, 50, {{0, 0}, {5, 3}, {rows - 1, 49}});
  PatternProfile profile(tensor);
  CHECK(profile.row_pointers().size() < 100);
  CHECK(profile.distinct({1, 1, 0}) == 3);
  CHECK(profile.heaviest_rows(1) == 1);
  CHECK(profile.padded_nonzeros(4) == 12);
  PatternProfile empty(waco::test::from_entries(rows, 50, {}));
  CHECK(empty.row_pointers().size() < 100);
  CHECK(empty.heaviest_rows(1) == 0);
  CHECK(empty.busiest_by_turns(1, 2) == 0);
}
