// Joining datasets of shards and of machines.
#include "waco/dataset/merge.hpp"

#include <catch2/catch.hpp>

#include "sample_records.hpp"
#include "waco/base/error.hpp"
#include "waco/base/files.hpp"
#include "waco/measure/statistics.hpp"

using namespace waco;
using namespace waco::dataset;
using waco::dataset::testing::sample_header;
using waco::dataset::testing::sample_record;
using waco::dataset::testing::write_dataset;

namespace {

Header shard_header(const std::string& shard) {
  Header header = sample_header();
  header.collection["shard"] = shard;
  return header;
}

}  // namespace

TEST_CASE("merge: shards give one dataset with all their records, in order", "[dataset]") {
  const TemporaryFolder folder;
  const auto a = write_dataset(folder.path() / "a.jsonl", shard_header("0/2"), {sample_record("m1")});
  const auto b = write_dataset(folder.path() / "b.jsonl", shard_header("1/2"),
                               {sample_record("m2"), sample_record("m2", 32)});
  const std::string name = GENERATE("all.jsonl", "all.jsonl.gz");
  const auto out = folder.path() / name;
  CHECK(merge_datasets({a, b}, out, {}).num_records == 3);
  const Dataset merged = load_dataset(out);
  REQUIRE(merged.records.size() == 3);
  CHECK(merged.records[0].matrix == "m1");
  CHECK(merged.records[2].plan == sample_record("m2", 32).plan);
  CHECK_FALSE(merged.records[0].machine.has_value());
  CHECK(merged.header.collection == sample_header().collection);
  const bool gzipped = read_file(out).substr(0, 2) == "\x1f\x8b";
  CHECK(gzipped == (name == "all.jsonl.gz"));
}

TEST_CASE("merge: machines are not mixed unless that is allowed, and then told apart", "[dataset]") {
  const TemporaryFolder folder;
  const auto a = write_dataset(folder.path() / "a.jsonl", sample_header("CPU A"), {sample_record("m1")});
  Header measured = sample_header("CPU B");
  measured.ceilings.push_back(nlohmann::json::parse(R"({"threads": 2})"));
  const auto b = write_dataset(folder.path() / "b.jsonl", measured, {sample_record("m1")});
  const auto out = folder.path() / "all.jsonl";
  CHECK_THROWS_WITH(merge_datasets({a, b}, out, {}), Catch::Contains("--allow-different-machines"));
  CHECK_FALSE(std::filesystem::exists(out));
  merge_datasets({a, b}, out, {.allow_different_machines = true, .created_by = {}});
  const Dataset mixed = load_dataset(out);
  REQUIRE(mixed.header.machines.size() == 2);
  REQUIRE(mixed.records.size() == 2);  // the same point, but on two machines
  CHECK(mixed.records[0].machine == 0);
  CHECK(mixed.records[1].machine == 1);
  CHECK(mixed.header.ceilings == std::vector<nlohmann::json>{nullptr, measured.ceilings[0]});
  // A mixed dataset merges again; its records keep their machines.
  const auto again = folder.path() / "again.jsonl";
  const MergeSummary summary =
      merge_datasets({b, out}, again, {.allow_different_machines = true, .created_by = {}});
  CHECK(summary.num_records == 2);
  CHECK(summary.num_repeated == 1);
  const Dataset twice = load_dataset(again);
  CHECK(twice.header.machines.at(0).cpu_model == "CPU B");
  CHECK(twice.header.ceilings == std::vector<nlohmann::json>{measured.ceilings[0], nullptr});
  CHECK(twice.records.at(0).machine == 0);
  CHECK(twice.records.at(1).machine == 1);
}

TEST_CASE("merge: a refusal names the machines that differ and the datasets that hold them", "[dataset]") {
  const TemporaryFolder folder;
  const auto a = write_dataset(folder.path() / "a.jsonl", sample_header("CPU A"), {sample_record("m1")});
  const auto b = write_dataset(folder.path() / "b.jsonl", sample_header("CPU B"), {sample_record("m1")});
  const auto mixed = folder.path() / "mixed.jsonl";
  const auto out = folder.path() / "all.jsonl";
  merge_datasets({a, b}, mixed, {.allow_different_machines = true, .created_by = {}});
  for (const std::vector<std::filesystem::path>& inputs : {std::vector{mixed}, {mixed, mixed}, {a, a, mixed}})
    CHECK_THROWS_WITH(merge_datasets(inputs, out, {}), Catch::Contains("CPU A") && Catch::Contains("CPU B"));
  CHECK_THROWS_WITH(merge_datasets({mixed}, out, {}), Catch::Contains("mixed.jsonl holds"));
  CHECK_THROWS_WITH(merge_datasets({a, a, mixed}, out, {}),
                    Catch::Contains("a.jsonl and") && Catch::Contains("mixed.jsonl are"));
}

TEST_CASE("merge: what an earlier dataset has is not repeated, renamed or put on the other side",
          "[dataset]") {
  const TemporaryFolder folder;
  const auto a = write_dataset(folder.path() / "a.jsonl", sample_header(), {sample_record("m1", 16, 1.5)});
  Record renamed = sample_record("m9", 32);
  renamed.matrix_hash = sample_record("m1").matrix_hash;
  Record copy = sample_record("copy", 16);
  copy.original = "m1";
  copy.split = Split::kValidation;
  const auto b = write_dataset(folder.path() / "b.jsonl", sample_header(),
                               {sample_record("m1", 16, 2.0), renamed, copy});
  const MergeSummary summary = merge_datasets({a, b}, folder.path() / "all.jsonl", {});
  CHECK(summary.num_repeated == 1);
  CHECK(summary.num_renamed == 1);
  CHECK(summary.num_resplit == 1);
  const Dataset merged = load_dataset(folder.path() / "all.jsonl");
  REQUIRE(merged.records.size() == 2);
  CHECK(merged.records[0].speedup == 1.5);
  CHECK(merged.records[1].split == Split::kTraining);
}

TEST_CASE("merge: a record that says nothing gives way to one that was measured again", "[dataset]") {
  const TemporaryFolder folder;
  Record failed = sample_record("m1", 16, 1.5), disturbed = sample_record("m2", 16, 1.5),
         unlucky = sample_record("m3", 16, 1.5);
  failed.status = measure::Status::kTimeout;
  disturbed.disturbed = unlucky.disturbed = true;
  const auto a = write_dataset(folder.path() / "a.jsonl", sample_header(), {failed, disturbed, unlucky});
  const auto b = write_dataset(folder.path() / "b.jsonl", sample_header(),
                               {sample_record("m1", 16, 2.0), sample_record("m2", 16, 2.0), unlucky});
  const MergeSummary summary = merge_datasets({a, b}, folder.path() / "all.jsonl", {});
  CHECK(summary.num_repeated == 3);
  const Dataset merged = load_dataset(folder.path() / "all.jsonl");
  REQUIRE(merged.records.size() == 3);
  CHECK(merged.records[0].matrix == "m3");
  CHECK(merged.records[1].speedup == 2.0);
  CHECK(merged.records[2].speedup == 2.0);
}

TEST_CASE("merge: copies of a matrix that is there under another name are left out with it", "[dataset]") {
  const TemporaryFolder folder;
  const auto a = write_dataset(folder.path() / "a.jsonl", sample_header(), {sample_record("m1")});
  const int chunk = GENERATE(16, 32);  // a twin collected with the same seed has the same points
  Record twin = sample_record("m2", chunk);
  twin.matrix_hash = sample_record("m1").matrix_hash;
  twin.split = Split::kValidation;
  Record copy = sample_record("m2+repeat");
  copy.original = "m2";
  copy.split = Split::kValidation;
  const auto b = write_dataset(folder.path() / "b.jsonl", sample_header(), {twin, copy});
  // A matrix of the same name that is no duplicate keeps its copies.
  copy.matrix_hash = "another";
  const auto c = write_dataset(folder.path() / "c.jsonl", sample_header(), {sample_record("m2"), copy});
  CHECK(merge_datasets({a, b, c}, folder.path() / "all.jsonl", {}).num_renamed == 2);
  const Dataset merged = load_dataset(folder.path() / "all.jsonl");
  REQUIRE(merged.records.size() == 3);
  CHECK(merged.records[0].matrix == "m1");
  CHECK(merged.records[1].matrix == "m2");
  CHECK(merged.records[2].matrix_hash == "another");
}

TEST_CASE("merge: an original is not left out for another of its name", "[dataset]") {
  const TemporaryFolder folder;
  const auto a = write_dataset(folder.path() / "a.jsonl", sample_header(), {sample_record("x")});
  Record twin = sample_record("m");
  twin.matrix_hash = sample_record("x").matrix_hash;
  const auto b = write_dataset(folder.path() / "b.jsonl", sample_header(), {twin, sample_record("m")});
  CHECK(merge_datasets({a, b}, folder.path() / "all.jsonl", {}).num_renamed == 1);
  CHECK(load_dataset(folder.path() / "all.jsonl").records.size() == 2);
}

TEST_CASE("merge: what is left out takes no place from what comes later", "[dataset]") {
  const TemporaryFolder folder;
  const auto a = write_dataset(folder.path() / "a.jsonl", sample_header(), {sample_record("m1")});
  Record twin = sample_record("m2", 32);
  twin.matrix_hash = sample_record("m1").matrix_hash;
  Record copy = sample_record("m2+repeat");
  copy.original = "m2";
  const auto b = write_dataset(folder.path() / "b.jsonl", sample_header(), {twin, copy});
  Record same = sample_record("m3");
  same.matrix_hash = copy.matrix_hash;
  const auto c = write_dataset(folder.path() / "c.jsonl", sample_header(), {sample_record("m1", 32), same});
  CHECK(merge_datasets({a, b, c}, folder.path() / "all.jsonl", {}).num_renamed == 2);
  CHECK(load_dataset(folder.path() / "all.jsonl").records.size() == 3);
}

TEST_CASE("merge: a result follows links and keeps permissions, but takes no file from a collection",
          "[dataset]") {
  namespace fs = std::filesystem;
  const TemporaryFolder folder;
  const auto a = write_dataset(folder.path() / "a.jsonl", sample_header(), {sample_record("m1")});
  const auto b = write_dataset(folder.path() / "b.jsonl", sample_header(), {sample_record("m2")});
  const auto link = folder.path() / "link.jsonl";
  fs::create_symlink("b.jsonl", link);
  fs::permissions(b, fs::perms::owner_read | fs::perms::owner_write);
  merge_datasets({a, b}, link, {});
  CHECK(fs::is_symlink(link));
  CHECK(load_dataset(b).records.size() == 2);
  CHECK(fs::status(b).permissions() == (fs::perms::owner_read | fs::perms::owner_write));

  DatasetAppender collection(b, sample_header(), [](Record&&) {});
  CHECK_THROWS_WITH(merge_datasets({a}, b, {}), Catch::Contains("another run"));
  collection.append(sample_record("m3"));
  CHECK(load_dataset(b).records.size() == 3);
}

TEST_CASE("merge: samples are summarized by three with the same median and interval", "[dataset]") {
  const TemporaryFolder folder;
  std::vector<Record> records = {sample_record("many"), sample_record("even"), sample_record("two"),
                                 sample_record("none")};
  records[0].samples_ns = {1010, 1000, 990, 1500, 700, 1001, 995, 1020, 980, 1100, 900};
  records[1].samples_ns = {1000, 1010, 980, 990};
  records[2].samples_ns = {1000, 1010};
  records[3].samples_ns = {};
  records[3].status = waco::measure::Status::kCompile;
  const auto in = write_dataset(folder.path() / "in.jsonl", sample_header(), records);
  const auto out = folder.path() / "out.jsonl.gz";
  merge_datasets({in}, out, {.summarize_samples = true, .created_by = {}});
  const Dataset merged = load_dataset(out);
  CHECK(merged.records[0].samples_ns == std::vector<int64_t>{900, 1000, 1100});
  CHECK(merged.records[1].samples_ns == std::vector<int64_t>{980, 995, 1010});
  CHECK(merged.records[2].samples_ns == records[2].samples_ns);
  CHECK(merged.records[3].samples_ns.empty());
  for (size_t n = 0; n < 2; ++n) {
    const auto estimate = [](const Record& record) {
      return waco::measure::estimate_median({record.samples_ns.begin(), record.samples_ns.end()});
    };
    CHECK(estimate(merged.records[n]).median == estimate(records[n]).median);
    CHECK(estimate(merged.records[n]).low == estimate(records[n]).low);
    CHECK(estimate(merged.records[n]).high == estimate(records[n]).high);
  }
}

TEST_CASE("merge: a result may replace one of its inputs, and a bad input leaves it alone", "[dataset]") {
  const TemporaryFolder folder;
  const auto a = write_dataset(folder.path() / "a.jsonl", sample_header(), {sample_record("m1")});
  const auto b = write_dataset(folder.path() / "b.jsonl", sample_header(), {sample_record("m2")});
  merge_datasets({a, b}, a, {});
  CHECK(load_dataset(a).records.size() == 2);
  CHECK_THROWS_AS(merge_datasets({a, folder.path() / "missing.jsonl"}, a, {}), InputError);
  CHECK(load_dataset(a).records.size() == 2);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 2);
}
