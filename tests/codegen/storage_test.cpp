// Packing against a slow reference, on random formats and shapes.
#include "waco/codegen/storage.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <set>
#include <string>

#include "packing_inputs.hpp"
#include "reference_packer.hpp"
#include "waco/base/error.hpp"
#include "waco/base/random.hpp"
#include "waco/pattern/pattern_counts.hpp"
#include "waco/schedule/storage_size.hpp"

namespace waco::codegen {

using matrix::SparseTensor;
using schedule::FormatSchedule;
using schedule::Op;
using schedule::ValueType;

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
  std::set<std::vector<int64_t>> entries;
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
    waco_store_values(&storage.abi(), values.data(), 2);
    require_equal(storage.abi(), tensor, format);
    std::vector<float> unpacked(values.size());
    waco_take_values(&storage.abi(), storage.abi().values, unpacked.data(), 3);
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

}  // namespace waco::codegen
