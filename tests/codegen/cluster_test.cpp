// Clustered rows: which order they come in, and that everything else is packing as ever.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <list>
#include <set>
#include <string>
#include <vector>

#include "../model/patterns.hpp"
#include "packing_inputs.hpp"
#include "reference_packer.hpp"
#include "waco/base/random.hpp"
#include "waco/codegen/arranged.hpp"
#include "waco/codegen/storage.hpp"

namespace waco::codegen {

using matrix::SparseTensor;
using schedule::FormatSchedule;
using schedule::Op;
using schedule::ValueType;

namespace {

std::vector<int32_t> rows_of(const waco_storage& s) {
  return {s.row_of, s.row_of + waco_stored_rows(&s)};
}

/// Nonzeros, row after row, whose column is not among the `cached` met last.
int64_t misses(const SparseTensor& tensor, size_t cached) {
  std::list<int64_t> recent;
  std::vector<std::list<int64_t>::iterator> at(static_cast<size_t>(tensor.dims[1]), recent.end());
  int64_t count = 0;
  for (const int64_t column : tensor.coords[1]) {
    auto& place = at[static_cast<size_t>(column)];
    count += place == recent.end();
    if (place != recent.end()) recent.erase(place);
    recent.push_front(column);
    place = recent.begin();
    if (recent.size() > cached) {
      at[static_cast<size_t>(recent.back())] = recent.end();
      recent.pop_back();
    }
  }
  return count;
}

}  // namespace

TEST_CASE("cluster: a clustered format is the format of the matrix with clustered rows", "[codegen]") {
  Random random(41);
  for (int round = 0; round < 400; ++round) {
    const auto dims = random_dims(random, 2);
    const SparseTensor tensor = random_tensor(random, dims, static_cast<int64_t>(random.below(200)));
    FormatSchedule plain = round % 2 ? direct_format(random, 2) : random_format(random, dims);
    FormatSchedule format = plain;
    format.arrangement = schedule::Arrangement::kClustered;
    format.cluster_window = round % 3 ? static_cast<int64_t>(random.below(80)) : 0;
    INFO("round " << round << ": " << schedule::to_text(format, Op::kSpmv));
    const SparseTensor stored = with_clustered_rows(tensor, format.cluster_window, 2);
    const Storage packed = pack(tensor, format, Op::kSpmv, ValueType::kF64, 1 + round % 3);
    const Storage expected = pack(stored, plain, Op::kSpmv, ValueType::kF64, 1 + round % 3);
    const waco_storage &a = packed.abi(), &b = expected.abi();
    REQUIRE(a.num_stored == b.num_stored);
    CHECK(bytes_of(a.values, a.num_stored * 8) == bytes_of(b.values, b.num_stored * 8));
    for (int l = 0; l < a.format.num_levels; ++l) {
      REQUIRE(a.level[l].num_positions == b.level[l].num_positions);
      if (a.level[l].crd != nullptr) CHECK(read_crd(a.level[l]) == read_crd(b.level[l]));
    }
    // Rows are a permutation, by which the matrix with clustered rows is this one.
    std::vector<int32_t> rows = rows_of(a);
    std::vector<int64_t> lengths(static_cast<size_t>(dims[0])), stored_lengths = lengths;
    for (const int64_t row : tensor.coords[0]) ++lengths[static_cast<size_t>(row)];
    for (const int64_t row : stored.coords[0]) ++stored_lengths[static_cast<size_t>(row)];
    const std::vector<int32_t> sorted =
        b.row_of != nullptr ? rows_of(b) : std::vector<int32_t>();  // stored rows of `stored`
    for (size_t n = 0; n < rows.size(); ++n) {
      const auto in_stored = sorted.empty() ? static_cast<int64_t>(n) : sorted[n];
      if (in_stored < 0 || in_stored >= dims[0]) {
        CHECK(rows[n] == -1);
      } else {
        CHECK(lengths[static_cast<size_t>(rows[n])] == stored_lengths[static_cast<size_t>(in_stored)]);
      }
    }
    std::erase(rows, -1);
    std::sort(rows.begin(), rows.end());
    REQUIRE(std::ssize(rows) == dims[0]);
    for (size_t n = 0; n < rows.size(); ++n) REQUIRE(rows[n] == static_cast<int32_t>(n));
    std::vector<double> values;
    unpack_values(packed, a.values, 1, values);
    CHECK(values == tensor.values);
  }
}

TEST_CASE("cluster: the order of the input does not matter", "[codegen]") {
  Random random(5);
  for (int round = 0; round < 50; ++round) {
    const SparseTensor tensor = random_tensor(random, {60, 50}, 400);
    const FormatSchedule format = format_of("i1:U k:C i0:U i/4 clustered");
    const Storage a = pack(tensor, format, Op::kSpmv, ValueType::kF64, 2);
    const Storage b = pack(shuffled(tensor, random), format, Op::kSpmv, ValueType::kF64, 3);
    CHECK(rows_of(a.abi()) == rows_of(b.abi()));
    CHECK(bytes_of(a.abi().values, a.abi().num_stored * 8) ==
          bytes_of(b.abi().values, b.abi().num_stored * 8));
  }
}

TEST_CASE("cluster: rows with the same columns follow each other", "[codegen]") {
  std::set<std::vector<int64_t>> entries;
  for (int64_t row = 0; row < 40; ++row)
    for (int64_t n = 0; n < 5; ++n) entries.insert({row, row % 4 * 5 + n});
  const SparseTensor tensor = make_tensor({41, 20}, entries);  // the last row is empty
  const Storage storage = pack(tensor, format_of("i:U k:C clustered"), Op::kSpmv, ValueType::kF32, 1);
  const std::vector<int32_t> rows = rows_of(storage.abi());
  for (size_t n = 0; n < 40; ++n) CHECK(rows[n] % 4 == static_cast<int32_t>(n / 10));
  CHECK(rows[40] == 40);
}

TEST_CASE("cluster: rows stay in their windows, in the order that all of them have", "[codegen]") {
  const SparseTensor tensor = test::shuffled_grid(20, 3);
  const auto rows_in = [&](const std::string& format) {
    return rows_of(pack(tensor, format_of(format), Op::kSpmv, ValueType::kF32, 2).abi());
  };
  const std::vector<int32_t> all = rows_in("i:U k:C clustered");
  REQUIRE(all.size() == 400);
  CHECK(rows_in("i:U k:C clustered:400") == all);
  CHECK(rows_in("i:U k:C clustered:100000000000") == all);
  for (const int32_t window : {1, 7, 100, 399}) {
    std::vector<int32_t> expected = all;
    std::stable_sort(expected.begin(), expected.end(),
                     [&](int32_t a, int32_t b) { return a / window < b / window; });
    CHECK(rows_in(fmt::format("i:U k:C clustered:{}", window)) == expected);
  }
  // Sorting is of what follows each other then.
  const std::vector<int32_t> sorted = rows_in("i1:U i0:U k:L i/8 clustered:200 sort:200");
  for (size_t n = 0; n < sorted.size(); ++n) CHECK(sorted[n] / 200 == static_cast<int32_t>(n / 200));
}

TEST_CASE("cluster: the rows of a shuffled mesh find most of what they need in a cache", "[codegen]") {
  const SparseTensor tensor = test::shuffled_grid(150, 3);
  const SparseTensor stored = with_clustered_rows(tensor, 0, 2);
  const double first = 150 * 150;  // of every column, whatever the order
  CHECK(static_cast<double>(misses(tensor, 1500)) > 4 * first);
  CHECK(static_cast<double>(misses(stored, 1500)) < 1.2 * first);
}

TEST_CASE("cluster: input that can't be packed is refused", "[codegen]") {
  const waco_format format = to_abi(format_of("i:U k:C clustered"), Op::kSpmv);
  const auto status_of = [&](const std::vector<int64_t>& rows, const std::vector<int64_t>& columns,
                             const std::vector<int64_t>* row_ptr = nullptr) {
    const int64_t dims[] = {3, 4};
    const std::vector<float> values(columns.size(), 1);
    const waco_input input = {dims,
                              std::ssize(columns),
                              {row_ptr != nullptr ? nullptr : rows.data(), columns.data(), nullptr},
                              row_ptr != nullptr ? row_ptr->data() : nullptr,
                              values.data(),
                              4,
                              nullptr};
    waco_storage storage;
    const int status = waco_pack(&format, &input, 4, 2, 1, &storage);
    waco_free(&storage);
    return status;
  };
  const std::vector<int64_t> row_ptr{0, 1, 2, 2};
  CHECK(status_of({0, 2}, {3, 0}) == WACO_OK);
  CHECK(status_of({}, {3, 0}, &row_ptr) == WACO_OK);
  CHECK(status_of({}, {}) == WACO_OK);
  CHECK(status_of({0, 3}, {3, 0}) == WACO_BAD_ARGUMENT);
  CHECK(status_of({0, -1}, {3, 0}) == WACO_BAD_ARGUMENT);
  CHECK(status_of({0, 2}, {4, 0}) == WACO_BAD_ARGUMENT);
  CHECK(status_of({}, {4, 0}, &row_ptr) == WACO_BAD_ARGUMENT);
  CHECK(status_of({1, 1}, {2, 2}) == WACO_BAD_ARGUMENT);
  for (const char* text : {"i:U k:C clustered", "i:U k:C"}) {
    waco_format windowed = to_abi(format_of(text), Op::kSpmv);
    CHECK(waco_format_is_sound(&windowed));
    windowed.cluster_window = windowed.arrangement == WACO_CLUSTERED ? -1 : 8;
    CHECK(!waco_format_is_sound(&windowed));
  }
  waco_format of_tensor = to_abi(format_of("i:U k:C l:C", Op::kMttkrp), Op::kMttkrp);
  of_tensor.arrangement = WACO_CLUSTERED;
  CHECK(!waco_format_is_sound(&of_tensor));
}

}  // namespace waco::codegen
