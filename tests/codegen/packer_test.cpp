// What callers of the packer's C interface hand over: row pointers, widths, unsorted and unsound input.
#include "kernels-templates/packer.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "packing_inputs.hpp"
#include "reference_packer.hpp"
#include "waco/base/random.hpp"
#include "waco/codegen/storage.hpp"

namespace waco::codegen {

using matrix::SparseTensor;
using schedule::FormatSchedule;
using schedule::LevelKind;
using schedule::Op;
using schedule::ValueType;

namespace {

/// What packing a matrix of zeros given by coordinates returns.
int pack_status(const waco_format& format, const int64_t* dims, int64_t nnz, const int64_t* const* coords,
                int threads) {
  const waco_input input = {dims, nnz, {coords[0], coords[1], nullptr}, nullptr, nullptr, 4, nullptr};
  waco_storage storage;
  const int status = waco_pack(&format, &input, 4, threads, 1, &storage);
  waco_free(&storage);
  return status;
}

}  // namespace

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

TEST_CASE("packer: rows that wrap around are refused", "[codegen]") {
  const int64_t most = int64_t{1} << 62;
  const std::vector<int64_t> rows{0, most, std::numeric_limits<int64_t>::min(), -most, 1},
      columns{0, 1, 2, 3, 4};
  const int64_t dims[] = {2, 8};
  const int64_t* coords[] = {rows.data(), columns.data()};
  for (const char* text : {"i:U k:C", "i1:U i0:U k:L i/4", "i1:U k1:C i0:U k0:U i/2 k/2"})
    CHECK(pack_status(to_abi(format_of(text), Op::kSpmv), dims, 5, coords, 1) == WACO_BAD_ARGUMENT);
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

}  // namespace waco::codegen
