#include "waco/train/data/groups.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "../dataset/sample_records.hpp"
#include "waco/base/error.hpp"
#include "waco/base/file_replacement.hpp"
#include "waco/base/files.hpp"

using namespace waco;
using namespace waco::train;
using dataset::testing::sample_header;
using dataset::testing::sample_record;

namespace {

class Files {
 public:
  std::filesystem::path write(const std::string& name, const std::vector<dataset::Record>& records) {
    std::string text = dataset::header_line(sample_header()) + "\n";
    for (const dataset::Record& record : records) text += dataset::to_json(record).dump() + "\n";
    write_file_atomically(folder_.path() / name, text);
    return folder_.path() / name;
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("groups: records of one pattern and problem are ranked together, without failed ones", "[train]") {
  Files files;
  dataset::Record failed = sample_record("mesh", 4);
  failed.status = measure::Status::kWrong;
  dataset::Record censored = sample_record("mesh", 8, 0.2);
  censored.censored = true;
  dataset::Record wide = sample_record("mesh", 32);
  wide.problem.type = schedule::ValueType::kF64;
  wide.plan.replace(0, 8, "spmv f64");
  dataset::Record skewed = sample_record("mesh", 16);
  skewed.plan = "spmv f32 | A: i1:U k:C i0:U [i/8 skewed] | loop: i1 k i0 | par: serial";
  const auto file = files.write("a", {sample_record("mesh", 16, 2.0), sample_record("graph", 16), failed,
                                      skewed, censored, sample_record("graph", 2), wide});
  const Records records = load_records({file}, std::nullopt);
  CHECK(records.op == schedule::Op::kSpmv);
  CHECK(records.num_failed == 1);
  CHECK(records.num_records == 4);
  CHECK(records.num_alone == 2);  // the f64 point has nothing to be compared with, and nor has the skewed one
  REQUIRE(records.groups.size() == 2);
  const Group& mesh = records.groups[0];
  CHECK(mesh.matrix == "mesh");
  REQUIRE(mesh.size() == 2);
  CHECK(mesh.labels[0].cost == Approx(-1));
  CHECK(mesh.labels[1].cost == Approx(std::log2(5)));
  CHECK(mesh.labels[1].censored);
  CHECK(mesh.best() == Approx(-1));
  CHECK(mesh.baseline() == -1);
}

TEST_CASE("groups: clustered rows are another pattern, without CSR's point", "[train]") {
  Files files;
  const auto clustered = [](dataset::Record record) {
    record.plan = schedule::to_text(
        schedule::arranged(schedule::parse(record.plan), schedule::Arrangement::kClustered));
    return record;
  };
  dataset::Record csr = sample_record("mesh", 1, 2.0);
  csr.plan = schedule::to_text(schedule::csr_point(csr.problem, csr.threads));
  const auto file = files.write(
      "a", {csr, sample_record("mesh", 16, 4.0), clustered(csr), clustered(sample_record("mesh", 16, 3.0)),
            clustered(sample_record("mesh", 8)), clustered(sample_record("graph", 8))});
  const Records records = load_records({file}, std::nullopt);
  CHECK(records.num_failed == 0);
  CHECK(records.num_alone == 2);  // clustered CSR, and that of "graph"
  REQUIRE(records.groups.size() == 2);
  CHECK_FALSE(records.groups[0].clustered);
  CHECK(records.groups[0].baseline() == 0);
  CHECK(records.groups[0].labels[0].cost == Approx(-1));
  const Group& group = records.groups[1];
  CHECK(group.clustered);
  CHECK(group.matrix_hash == records.groups[0].matrix_hash);
  CHECK(group.baseline() == -1);
  REQUIRE(group.size() == 2);
  CHECK(group.labels[0].cost == Approx(-std::log2(3)));
}

TEST_CASE("groups: rows that are clustered in windows are a pattern for each size of window", "[train]") {
  Files files;
  const auto clustered = [](int chunk, const std::string& window) {
    dataset::Record record = sample_record("mesh", chunk);
    record.plan =
        fmt::format("spmv f32 | A: i:U k:C [clustered{}] | loop: i k | par: i dynamic,{} x2", window, chunk);
    record.problem = schedule::parse(record.plan).problem;
    return record;
  };
  const auto file = files.write("a", {clustered(2, ""), clustered(4, ":64"), clustered(8, ""),
                                      clustered(16, ":64"), clustered(32, ":128")});
  const Records records = load_records({file}, std::nullopt);
  CHECK(records.num_alone == 1);
  REQUIRE(records.groups.size() == 2);
  CHECK(records.groups[0].cluster_window == 0);
  CHECK(records.groups[1].cluster_window == 64);
  for (const Group& group : records.groups) {
    CHECK(group.clustered);
    CHECK(group.size() == 2);
  }
}

TEST_CASE("groups: a split that is drawn anew keeps originals on one side", "[train]") {
  Files files;
  std::vector<dataset::Record> records;
  for (int m = 0; m < 60; ++m)
    for (int chunk : {2, 4}) {
      records.push_back(sample_record(fmt::format("copy{}", m), chunk));
      records.back().original = fmt::format("original{}", m / 2);
    }
  const auto file = files.write("a", records);
  int num_validation = 0;
  const Records drawn = load_records({file}, Resplit{5, 0.5});
  for (size_t g = 0; g < drawn.groups.size(); g += 2) {
    CHECK(drawn.groups[g].split == drawn.groups[g + 1].split);
    num_validation += drawn.groups[g].split == dataset::Split::kValidation ? 1 : 0;
  }
  CHECK(num_validation > 5);
  CHECK(num_validation < 25);
}

TEST_CASE("groups: an original or pattern of several datasets is on the side where it was met first",
          "[train]") {
  Files files;
  const auto record = [](const std::string& matrix, int chunk, dataset::Split split) {
    dataset::Record result = sample_record(matrix, chunk);
    result.split = split;
    return result;
  };
  const auto training = dataset::Split::kTraining, validation = dataset::Split::kValidation;
  const auto first = files.write("a", {record("mesh", 2, training), record("mesh", 4, training),
                                       record("graph", 2, validation), record("graph", 4, validation)});
  // The same matrices divided the other way round; one pattern has another name, and a further copy.
  std::vector<dataset::Record> others;
  for (const int chunk : {2, 4}) {
    others.push_back(record("mesh", chunk, validation));
    others.push_back(record("renamed", chunk, training));
    others.back().matrix_hash = "hash-of-graph";
    others.push_back(record("reshaped", chunk, training));
    others.back().original = "renamed";
    others.push_back(record("other", chunk, validation));
  }
  const Records records = load_records({first, files.write("b", others)}, std::nullopt);
  std::map<std::string, std::set<dataset::Split>> sides;
  for (const Group& group : records.groups) sides[group.matrix].insert(group.split);
  CHECK(records.groups.size() == 6);
  CHECK(sides.at("mesh") == std::set{training});
  CHECK(sides.at("graph") == std::set{validation});
  CHECK(sides.at("renamed") == std::set{validation});
  CHECK(sides.at("reshaped") == std::set{validation});
  CHECK(sides.at("other") == std::set{validation});
}

TEST_CASE("groups: a damaged record is refused with its file and matrix", "[train]") {
  Files files;
  dataset::Record damaged = sample_record("mesh", 16);
  damaged.plan = "spmv f32 | nonsense";
  const auto load = [&] {
    load_records({files.write("a", {sample_record("graph"), damaged})}, std::nullopt);
  };
  CHECK_THROWS_AS(load(), InputError);
  CHECK_THROWS_WITH(load(), Catch::Contains("a: a record of mesh: "));
  damaged = sample_record("mesh", 16);
  damaged.machine = 1;  // the header has no list
  CHECK_THROWS_AS(load(), InputError);
  CHECK_THROWS_WITH(load(), Catch::Contains("a: a record of mesh names machine 1"));
}

TEST_CASE("groups: datasets of different ops, and those with nothing to compare, are refused", "[train]") {
  Files files;
  dataset::Record other = sample_record("mesh", 16);
  other.problem = {schedule::Op::kSpmm, schedule::ValueType::kF32, 32};
  other.plan = "spmm f32 J=32 | A: i:U k:C | loop: i k j | par: i dynamic,32 x2";
  const auto first = files.write("a", {sample_record("mesh", 16), sample_record("mesh", 8)});
  const auto second = files.write("b", {other});
  CHECK_THROWS_AS(load_records({first, second}, std::nullopt), UsageError);
  CHECK_THROWS_AS(load_records({files.write("c", {sample_record()})}, std::nullopt), UsageError);
}

TEST_CASE("groups: labels order what is apart by more than noise, and censored ones only from below",
          "[train]") {
  const Label fast{0, 0.01F, false}, slow{0.2F, 0.01F, false}, noisy{0.2F, 0.25F, false};
  const Label least{0.2F, 0.01F, true};
  CHECK(is_slower(slow, fast, 0.1F));
  CHECK_FALSE(is_slower(fast, slow, 0.1F));
  CHECK_FALSE(is_slower(slow, fast, 0.3F));
  CHECK_FALSE(is_slower(noisy, fast, 0.1F));
  CHECK(is_slower(least, fast, 0.1F));
  CHECK_FALSE(is_slower({1, 0.01F, false}, least, 0.1F));
  CHECK_FALSE(is_slower({1, 0.01F, true}, least, 0.1F));
}

TEST_CASE("groups: a point that a file has twice is learned from once", "[train]") {
  Files files;
  const std::vector<dataset::Record> records{sample_record("mesh", 16), sample_record("mesh", 8),
                                             sample_record("mesh", 16)};
  const Records once = load_records({files.write("a", records)}, std::nullopt);
  CHECK(once.num_records == 2);
  REQUIRE(once.groups.size() == 1);
  CHECK(once.groups[0].size() == 2);
}

TEST_CASE("groups: records that contradict themselves are refused", "[train]") {
  Files files;
  dataset::Record record = sample_record("mesh", 16);
  record.problem = {schedule::Op::kSpmv, schedule::ValueType::kF64, 1};  // the plan is one of f32
  const auto load = [&](const dataset::Record& r) {
    return load_records({files.write("a", {sample_record("mesh", 4), r})}, std::nullopt);
  };
  CHECK_THROWS_WITH(load(record), Catch::Contains("another problem"));
  const auto refused = [&](const std::string& reason, const auto& change) {
    dataset::Record changed = sample_record("mesh", 16);
    change(changed);
    INFO(reason);
    CHECK_THROWS_AS(load(changed), InputError);
    CHECK_THROWS_WITH(load(changed), Catch::Contains("a:3: ") && Catch::Contains(reason));
  };
  refused("threads is 100000", [](auto& r) { r.threads = 100000; });
  refused("threads is 0", [](auto& r) { r.threads = 0; });
  refused("rhs is -3", [](auto& r) { r.problem.rhs = -3; });
  refused("rows is -1", [](auto& r) { r.dims[0] = -1; });
  refused("nnz is -5", [](auto& r) { r.num_nonzeros = -5; });
  refused("time_ns is -1", [](auto& r) { r.time_ns = -1; });
  refused("sample of it is negative", [](auto& r) { r.samples_ns[0] = -1; });
  CHECK_NOTHROW(load(sample_record("mesh", 16)));
}
