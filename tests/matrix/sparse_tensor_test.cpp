// Sorting and merging against a plain map, row pointers and the pattern's hash.
#include "waco/matrix/sparse_tensor.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <numeric>

#include "matrix_check.hpp"
#include "waco/base/error.hpp"
#include "waco/base/random.hpp"
#include "waco/matrix/synthetic.hpp"

using namespace waco;
using namespace waco::matrix;

namespace {

SparseTensor random_entries(const std::vector<int64_t>& dims, int64_t count, uint64_t seed) {
  SparseTensor tensor;
  tensor.dims = dims;
  tensor.coords.resize(dims.size());
  Random random(seed);
  for (int64_t i = 0; i < count; ++i) {
    for (size_t mode = 0; mode < dims.size(); ++mode) {
      tensor.coords[mode].push_back(static_cast<int64_t>(random.below(static_cast<uint64_t>(dims[mode]))));
    }
    tensor.values.push_back(random.uniform());
  }
  return tensor;
}

/// The same by a map; values are summed in the order of the entries.
SparseTensor sorted_by_map(const SparseTensor& tensor) {
  std::map<std::array<int64_t, 3>, double> entries;
  for (size_t i = 0; i < tensor.values.size(); ++i) {
    std::array<int64_t, 3> index{};
    for (size_t mode = 0; mode < tensor.dims.size(); ++mode) index[mode] = tensor.coords[mode][i];
    const auto [at, added] = entries.emplace(index, tensor.values[i]);
    if (!added) at->second += tensor.values[i];
  }
  SparseTensor result;
  result.dims = tensor.dims;
  result.coords.resize(tensor.dims.size());
  for (const auto& [index, value] : entries) {
    for (size_t mode = 0; mode < tensor.dims.size(); ++mode) result.coords[mode].push_back(index[mode]);
    result.values.push_back(value);
  }
  return result;
}

/// Entries reordered so that those of a column stand together, in row order.
SparseTensor column_major(const SparseTensor& tensor) {
  std::vector<size_t> order(tensor.values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return tensor.coords[1][a] < tensor.coords[1][b]; });
  SparseTensor result = tensor;
  for (size_t i = 0; i < order.size(); ++i) {
    for (size_t mode = 0; mode < tensor.dims.size(); ++mode)
      result.coords[mode][i] = tensor.coords[mode][order[i]];
    result.values[i] = tensor.values[order[i]];
  }
  return result;
}

}  // namespace

TEST_CASE("sort_and_merge: equals a map, bit for bit, for every shape and number of threads", "[matrix]") {
  struct Shape {
    std::vector<int64_t> dims;
    int64_t count;
  };
  const std::vector<Shape> shapes = {{{50, 60}, 20000},
                                     {{100000, 1}, 30000},
                                     {{1, 100000}, 30000},
                                     {{1000000007, 5}, 30000},
                                     {{int64_t{1} << 62, 3}, 20000},
                                     {{3, int64_t{1} << 62}, 20000},
                                     {{4096, 4096}, 60000},
                                     {{30, 20, 10}, 30000},
                                     {{100000, 7, 100000}, 30000},
                                     {{1, 1}, 20000},
                                     {{5, 5}, 7}};
  for (const Shape& shape : shapes) {
    const SparseTensor input = random_entries(shape.dims, shape.count, 3);
    const SparseTensor expected = sorted_by_map(input);
    for (const int threads : {1, 2, 5}) {
      CAPTURE(shape.dims, threads);
      SparseTensor tensor = input;
      const int64_t merged = sort_and_merge(tensor, threads);
      CHECK(merged == shape.count - expected.num_nonzeros());
      CHECK((tensor.coords == expected.coords && tensor.values == expected.values));
      CHECK(is_valid(tensor));
    }
  }
}

TEST_CASE("sort_and_merge: orders by what no 64 bits hold", "[matrix]") {
  SparseTensor input = random_entries({3, 4, 50}, 20000, 5);
  const auto stretch = [&](size_t mode, int shift) {
    input.dims[mode] <<= shift;
    for (int64_t& coordinate : input.coords[mode]) coordinate <<= shift;
  };
  const auto is_sorted_by_map = [&] {
    SparseTensor tensor = input;
    sort_and_merge(tensor, 2);
    const SparseTensor expected = sorted_by_map(input);
    return tensor.coords == expected.coords && tensor.values == expected.values;
  };
  stretch(1, 59);
  CHECK(is_sorted_by_map());
  stretch(0, 60);
  CHECK(is_sorted_by_map());
}

TEST_CASE("sort_and_merge: column-major entries become row-major", "[matrix]") {
  const SparseTensor expected = generate("rmat scale=11 degree=12");
  for (const int threads : {1, 3}) {
    SparseTensor tensor = column_major(expected);
    REQUIRE(tensor.coords != expected.coords);
    CHECK(sort_and_merge(tensor, threads) == 0);
    CHECK((tensor.coords == expected.coords && tensor.values == expected.values));
  }
}

TEST_CASE("sort_and_merge: sorted entries stay, sorted duplicates are summed", "[matrix]") {
  SparseTensor tensor = {"", {2, 3}, {{0, 0, 0, 1, 1}, {0, 2, 2, 1, 1}}, {1, 2, 4, 8, 16}};
  CHECK(sort_and_merge(tensor) == 2);
  CHECK(to_string(tensor) == "2x3: (0,0)=1 (0,2)=6 (1,1)=24");
  CHECK(sort_and_merge(tensor) == 0);
  CHECK(to_string(tensor) == "2x3: (0,0)=1 (0,2)=6 (1,1)=24");
}

TEST_CASE("row_pointers: empty rows at the start, inside and at the end", "[matrix]") {
  const SparseTensor tensor = {"", {6, 4}, {{1, 1, 3}, {0, 2, 1}}, {1, 2, 3}};
  CHECK(row_pointers(tensor) == std::vector<int64_t>{0, 0, 2, 2, 3, 3, 3});
  const SparseTensor empty = {"", {2, 2}, {{}, {}}, {}};
  CHECK(row_pointers(empty) == std::vector<int64_t>{0, 0, 0});
}

TEST_CASE("row_pointers: more rows than memory are refused, not allocated", "[matrix]") {
  const SparseTensor tensor = {"wide", {INT64_MAX, 2}, {{5}, {0}}, {1}};
  CHECK_THROWS_AS(row_pointers(tensor), EnvironmentError);
}

TEST_CASE("pattern_hash: sees shape and coordinates, not values and names", "[matrix]") {
  const SparseTensor tensor = {"a", {3, 3}, {{0, 1}, {2, 1}}, {1, 2}};
  SparseTensor other = tensor;
  other.name = "b";
  other.values = {5, 6};
  CHECK(pattern_hash(other) == pattern_hash(tensor));
  CHECK(pattern_hash(tensor).size() == 16);

  std::vector<std::string> hashes = {pattern_hash(tensor)};
  other.dims = {3, 4};
  hashes.push_back(pattern_hash(other));
  other = tensor;
  other.coords[1][0] = 1;
  hashes.push_back(pattern_hash(other));
  other = tensor;
  std::swap(other.coords[0], other.coords[1]);
  hashes.push_back(pattern_hash(other));
  other = {"", {3, 3, 1}, {{0, 1}, {2, 1}, {0, 0}}, {1, 2}};
  hashes.push_back(pattern_hash(other));
  std::sort(hashes.begin(), hashes.end());
  CHECK(std::unique(hashes.begin(), hashes.end()) == hashes.end());
}

TEST_CASE("pattern_hash: stays what files have recorded", "[matrix]") {
  CHECK(pattern_hash({"", {3, 3}, {{0, 1}, {2, 1}}, {1, 2}}) == "0f5c689eff1f8b96");
  CHECK(pattern_hash(generate("stencil2d n=200")) == "899cd76df33f2889");
}
