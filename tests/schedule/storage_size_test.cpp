// Predicted storage: exact sizes by hand, saturation, and the rules that exclude points.
#include "waco/schedule/storage_size.hpp"

#include <catch2/catch.hpp>
#include <set>

#include "../model/patterns.hpp"
#include "../pattern/make_tensor.hpp"
#include "waco/base/random.hpp"
#include "waco/schedule/limits.hpp"
#include "waco/schedule/space.hpp"

using namespace waco;
using namespace waco::schedule;

namespace {

StorageSize size_of(const std::string& levels, const std::string& loops, const matrix::SparseTensor& tensor,
                    const std::string& type = "f32") {
  const SuperSchedule point =
      parse("spmv " + type + " | A: " + levels + " | loop: " + loops + " | par: serial");
  return predict_storage(point.format, point.problem.op, point.problem.type, pattern::PatternCounts(tensor));
}

std::vector<int64_t> positions(const StorageSize& size) {
  std::vector<int64_t> result;
  for (const LevelSize& level : size.levels) result.push_back(level.positions);
  return result;
}

}  // namespace

TEST_CASE("storage_size: CSR, DCSR and COO", "[schedule]") {
  const matrix::SparseTensor tensor = pattern::small_matrix();
  const StorageSize csr = size_of("i:U k:C", "i k", tensor);
  CHECK(positions(csr) == std::vector<int64_t>{5, 9});
  CHECK(csr.total_bytes == 6 * 4 + 9 * 1 + 9 * 4);
  const StorageSize dcsr = size_of("i:C k:C", "i k", tensor, "f64");
  CHECK(positions(dcsr) == std::vector<int64_t>{4, 9});
  CHECK(dcsr.total_bytes == 2 * 4 + 4 * 1 + 5 * 4 + 9 * 1 + 9 * 8);
  const StorageSize coo = size_of("i:C k:S", "i k", tensor);
  CHECK(positions(coo) == std::vector<int64_t>{9, 9});
  CHECK(coo.total_bytes == 2 * 4 + 9 + 9 + 9 * 4);
}

TEST_CASE("storage_size: row blocks and dense blocks count fill", "[schedule]") {
  const matrix::SparseTensor tensor = pattern::small_matrix();
  CHECK(positions(size_of("i1:U k:C i0:U [i/2]", "i1 k i0", tensor)) == std::vector<int64_t>{3, 8, 16});
  CHECK(positions(size_of("i1:U k1:C i0:U k0:U [i/2 k/2]", "i1 k1 i0 k0", tensor)) ==
        std::vector<int64_t>{3, 5, 10, 20});
  CHECK(positions(size_of("i1:C k1:S i0:C k0:S [i/2 k/2]", "i1 k1 i0 k0", tensor)) ==
        std::vector<int64_t>{5, 5, 9, 9});
  CHECK(positions(size_of("k:C i:U", "k i", tensor)) == std::vector<int64_t>{5, 25});
}

TEST_CASE("storage_size: ELL and sliced formats count padding and the permutation", "[schedule]") {
  const matrix::SparseTensor tensor = pattern::small_matrix();  // row lengths 3 0 1 4 1
  const StorageSize ell = size_of("i1:U i0:U k:E [i/2]", "i1 k i0", tensor);
  CHECK(positions(ell) == std::vector<int64_t>{3, 6, 3 * 4 * 2});
  CHECK(ell.total_bytes == 24 * 1 + 24 * 4);
  const StorageSize sell = size_of("i1:U i0:U k:L [i/2 sort:4]", "i1 k i0", tensor);
  CHECK(positions(sell) == std::vector<int64_t>{3, 6, (4 + 1 + 1) * 2});
  CHECK(sell.row_of_bytes == 6 * 4);
  CHECK(sell.total_bytes == 4 * 4 + 12 * 1 + 12 * 4 + 6 * 4);
  CHECK(positions(size_of("i1:U i0:U k1:L k0:U [i/2 k/2]", "i1 k1 i0 k0", tensor)) ==
        std::vector<int64_t>{3, 6, (2 + 2 + 1) * 2, 20});
}

TEST_CASE("storage_size: coordinates take the narrowest width of their extent", "[schedule]") {
  const auto crd_bytes = [](int64_t cols) {
    return size_of("i:U k:C", "i k", test::from_entries(2, cols, {{0, 0}})).levels[1].crd_bytes;
  };
  CHECK(crd_bytes(1) == 1);
  CHECK(crd_bytes(256) == 1);
  CHECK(crd_bytes(257) == 2);
  CHECK(crd_bytes(65536) == 2);
  CHECK(crd_bytes(65537) == 4);
  CHECK(crd_bytes(int64_t{1} << 31) == 4);
  CHECK(crd_bytes((int64_t{1} << 31) + 1) == 8);
}

TEST_CASE("storage_size: positions beyond 31 bits widen pos everywhere", "[schedule]") {
  const int64_t limit = int64_t{1} << 31;
  CHECK(size_of("i:U k:C", "i k", test::from_entries(limit - 1, 4, {{0, 0}})).pos_bytes == 4);
  const StorageSize wide = size_of("i:U k:C", "i k", test::from_entries(limit, 4, {{0, 0}}));
  CHECK(wide.pos_bytes == 8);
  CHECK(wide.pos_total_bytes == (limit + 1) * 8);
}

TEST_CASE("storage_size: positions above the last coordinates are bounded without a pattern", "[schedule]") {
  const auto positions = [](const char* levels, const std::array<int64_t, 3>& dims) {
    const std::string text = std::string("spmv f32 | A: ") + levels + " | loop: i k1 k0 | par: serial";
    return most_positions_above(parse(text).format, dims, 1000000);
  };
  CHECK(positions("i:U k1:U k0:C [k/2]", {70000, 70001, 1}) == int64_t{70000} * 35001);
  CHECK(positions("i:C k1:C k0:C [k/2]", {70000, 70001, 1}) == 1000000);
  CHECK(positions("i:C k1:U k0:C [k/2]", {70000, 70001, 1}) == int64_t{70000} * 35001);
  CHECK(positions("i:U k1:C k0:U [k/2]", {70000, 70001, 1}) == 1000000);
  CHECK(positions("i:U k1:U k0:C [k/2]", {int64_t{1} << 62, 70001, 1}) == INT64_MAX);
}

TEST_CASE("storage_size: what cannot be stored saturates and is excluded", "[schedule]") {
  const int64_t huge = int64_t{1} << 40;
  const matrix::SparseTensor tensor = test::from_entries(huge, huge, {{0, 0}, {5, 7}});
  const StorageSize size = size_of("i1:U k:U i0:C [i/4]", "i1 k i0", tensor, "f64");
  CHECK(size.levels[1].positions == INT64_MAX);
  CHECK(size.total_bytes == INT64_MAX);
  const pattern::PatternCounts counts(tensor);
  const SuperSchedule point = parse("spmv f32 | A: i1:U k:U i0:C [i/4] | loop: i1 k i0 | par: serial");
  CHECK_THAT(*exclusion_reason(point, counts, {1, 20, int64_t{1} << 33}), Catch::Contains("GB of storage"));
}

TEST_CASE("storage_size: the reason of an exclusion names its rule", "[schedule]") {
  const matrix::SparseTensor tensor = pattern::small_matrix();
  const pattern::PatternCounts counts(tensor);
  const SuperSchedule columns = parse("spmv f32 | A: k:C i:U | loop: k i | par: serial");  // 25 values for 9
  CHECK_FALSE(exclusion_reason(columns, counts, {1, 20, INT64_MAX}));
  CHECK_THAT(*exclusion_reason(columns, counts, {1, 2, INT64_MAX}), Catch::Contains("--max-fill"));
  CHECK_THAT(*exclusion_reason(columns, counts, {1, 20, 64}), Catch::Contains("GB of storage"));
  CHECK_THAT(*exclusion_reason(csr_point({}, 4), counts, {2, 20, INT64_MAX}), Catch::Contains("4 threads"));
}

TEST_CASE("storage_size: outputs of several threads count as storage does", "[schedule]") {
  const matrix::SparseTensor tensor = test::from_entries(1000, 1000, {{0, 0}, {5, 7}, {999, 999}});
  const pattern::PatternCounts counts(tensor);
  const auto excluded = [&](const std::string& text, int64_t max_bytes) {
    return exclusion_reason(parse(text), counts, {128, 20, max_bytes}).has_value();
  };
  constexpr int64_t kOutputs = int64_t{127} * 1000 * 256 * 4;
  const std::string columns = "spmm f32 J=256 | A: k:U i:C | loop: k i j | par: k static x128";
  CHECK(excluded(columns, kOutputs));
  CHECK_FALSE(excluded(columns, kOutputs + 10000));
  CHECK_FALSE(excluded("spmm f32 J=256 | A: i:U k:C | loop: i k j | par: i static x128", 10000));
  CHECK_FALSE(excluded("spmm f32 J=256 | A: k:U i:C | loop: k i j | par: serial", 10000));
  // Cut at nonzeros, threads share rows; cut by ranges between them, they do not.
  const std::string tuples = "spmm f32 J=256 | A: i:C k:S | loop: i k j | par: i ";
  CHECK(excluded(tuples + "static x128", kOutputs));
  CHECK_FALSE(excluded(tuples + "balanced x128", kOutputs));
  CHECK(limits_key(parse(tuples + "static x128")) != limits_key(parse(tuples + "balanced x128")));
  CHECK(limits_key(parse(tuples + "static x128")) == limits_key(parse(tuples + "dynamic,64 x128")));
  // Ranges that cut rows keep a group of rows each.
  const std::string groups =
      "spmm f32 J=256 | A: i1:U k:C i0:C [i/512] | loop: i1 k i0 j | par: i1 balanced x128";
  constexpr int64_t kGroups = int64_t{128} * 512 * 256 * 4;
  CHECK(excluded(groups, kGroups));
  CHECK_FALSE(excluded(groups, kGroups + 10000));
  // Of sddmm the stored values are the output.
  const std::string tiles = "sddmm f32 K=256 | A: i:U j:C | loop: k1 i j k0 [k/64] | par: k1 static x4";
  constexpr int64_t kStored = 1001 * 4 + 3 * 2 + 3 * 4, kValues = 3 * 3 * 4;
  CHECK(excluded(tiles, kStored + kValues - 1));
  CHECK_FALSE(excluded(tiles, kStored + kValues));
}

TEST_CASE("storage_size: exclusion agrees with the exact size on every structured point", "[schedule]") {
  Random random(8);
  std::set<std::pair<int64_t, int64_t>> coords;
  for (int n = 0; n < 600; ++n) coords.insert({int64_t(random.below(90)), int64_t(random.below(700))});
  const matrix::SparseTensor tensor = test::from_entries(90, 700, coords);
  const pattern::PatternCounts counts(tensor);
  const SpaceLimits limits{2, 3.0, 40000};
  int excluded = 0, kept = 0;
  for (const SuperSchedule& point : ScheduleSpace({}, tensor.dims, limits).enumerate_structured()) {
    const StorageSize size = predict_storage(point.format, point.problem.op, point.problem.type, counts);
    const bool too_large = size.num_stored > 3 * counts.num_nonzeros() || size.total_bytes > limits.max_bytes;
    INFO(to_text(point));
    CHECK(exclusion_reason(point, counts, limits).has_value() == too_large);
    ++(too_large ? excluded : kept);
  }
  CHECK(excluded > 10);
  CHECK(kept > 10);
}
