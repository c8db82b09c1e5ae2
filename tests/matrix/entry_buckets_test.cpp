// Matrices of text, read by way of buckets of rows, against sorting the same entries.
#include "waco/matrix/entry_buckets.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "matrix_check.hpp"
#include "waco/base/random.hpp"
#include "waco/matrix/read.hpp"

using namespace waco;
using namespace waco::matrix;

namespace {

struct Shape {
  int64_t rows;
  int64_t cols;
  int64_t count;
};

/// A text of random entries, some of them twice unless the shape is large, and what reading it should give.
struct Sample {
  std::string text;
  SparseTensor expected;
  int64_t num_merged = 0;
};

Sample random_sample(const Shape& shape, bool pattern, const char* symmetry) {
  const bool symmetric = std::string(symmetry) != "general";
  const double sign = std::string(symmetry) == "skew-symmetric" ? -1 : 1;
  Sample sample;
  sample.text = fmt::format("%%MatrixMarket matrix coordinate {} {}\n{} {} {}\n",
                            pattern ? "pattern" : "real", symmetry, shape.rows, shape.cols, shape.count);
  SparseTensor& tensor = sample.expected;
  tensor.dims = {shape.rows, shape.cols};
  tensor.coords.resize(2);
  Random random(5);
  const auto add = [&](int64_t row, int64_t col, double value) {
    tensor.coords[0].push_back(row);
    tensor.coords[1].push_back(col);
    tensor.values.push_back(value);
  };
  for (int64_t i = 0; i < shape.count; ++i) {
    auto row = static_cast<int64_t>(random.below(static_cast<uint64_t>(shape.rows)));
    auto col = static_cast<int64_t>(random.below(static_cast<uint64_t>(shape.cols)));
    if (symmetric && row < col) std::swap(row, col);
    if (sign < 0 && row == col) row == 0 ? ++row : --col;
    const double value = pattern ? 1 : random.uniform();
    sample.text += fmt::format("{} {}", row + 1, col + 1);
    sample.text += pattern ? "\n" : fmt::format(" {}\n", value);
    if (i % 100 == 0) sample.text += "% a comment\n\n";
    add(row, col, value);
    if (symmetric && row != col) add(col, row, sign * value);
  }
  sample.num_merged = sort_and_merge(tensor, 1);
  return sample;
}

}  // namespace

TEST_CASE("read: random matrices are sorted and summed exactly, for every number of threads", "[matrix]") {
  const Shape shapes[] = {{50, 60, 20000},
                          {100000, 1, 30000},
                          {1, 100000, 30000},
                          {int64_t{1} << 32, 5, 300},
                          {3, int64_t{1} << 32, 20000},
                          {1000000007, 5, 30000},
                          {4096, 4096, 60000},
                          {1, 1, 3000},
                          {5, 5, 7},
                          {(int64_t{1} << 32) + 1, 3, 500}};
  for (const Shape& shape : shapes) {
    for (const bool pattern : {false, true}) {
      const Sample sample = random_sample(shape, pattern, "general");
      for (const int threads : {1, 2, 5}) {
        for (const size_t chunk_bytes : {100, 1 << 18}) {
          CAPTURE(shape.rows, shape.cols, pattern, threads, chunk_bytes);
          const ReadResult read = read_tensor_bytes(sample.text, "a", {threads, chunk_bytes});
          CHECK(
              (read.tensor.coords == sample.expected.coords && read.tensor.values == sample.expected.values));
          CHECK(is_valid(read.tensor));
          const std::string note = fmt::format("{} duplicate entries were summed", sample.num_merged);
          if (sample.num_merged > 1) CHECK(read.notes.back() == note);
        }
      }
    }
  }
}

TEST_CASE("read: random symmetric matrices are mirrored, for every number of threads", "[matrix]") {
  for (const Shape& shape :
       {Shape{40, 40, 3000}, Shape{5000, 5000, 40000}, Shape{1000000007, 1000000007, 9000}}) {
    for (const char* symmetry : {"symmetric", "skew-symmetric"}) {
      const Sample sample = random_sample(shape, false, symmetry);
      for (const int threads : {1, 3}) {
        CAPTURE(shape.rows, symmetry, threads);
        const ReadResult read = read_tensor_bytes(sample.text, "a", {threads, 3000});
        CHECK((read.tensor.coords == sample.expected.coords && read.tensor.values == sample.expected.values));
      }
    }
  }
}

TEST_CASE("read: the first entry too many is named among comments, whatever the number of threads",
          "[matrix]") {
  std::string text = "%%MatrixMarket matrix coordinate real general\n10 10 1500\n";
  for (int i = 0; i < 2000; ++i) text += "1 1 1\n% between\n\n";
  for (const int threads : {1, 2, 4}) {
    for (const size_t chunk_bytes : {1, 64, 1000, 1 << 18}) {
      CAPTURE(threads, chunk_bytes);
      CHECK_THROWS_WITH(read_tensor_bytes(text, "a", {threads, chunk_bytes}),
                        Catch::StartsWith("a:4503: there are more entries"));
    }
  }
}
