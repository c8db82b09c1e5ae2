// Datasets on disk: round trips, torn lines, and what must not be continued.
#include "waco/dataset/dataset_file.hpp"

#include <catch2/catch.hpp>
#include <fstream>

#include "../gzipped.hpp"
#include "../no_room.hpp"
#include "sample_records.hpp"
#include "waco/base/error.hpp"
#include "waco/base/files.hpp"

using namespace waco;
using namespace waco::dataset;
using waco::dataset::testing::sample_header;
using waco::dataset::testing::sample_record;
using waco::dataset::testing::write_dataset;

namespace {

const auto kIgnore = [](Record&&) {};

void append_text(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::app | std::ios::binary) << text;
}

}  // namespace

TEST_CASE("dataset: every field of a record survives writing and reading", "[dataset]") {
  const TemporaryFolder folder;
  Record failed = sample_record("tensor", 8);
  failed.dims = {30, 20, 10};
  failed.problem = {schedule::Op::kMttkrp, schedule::ValueType::kF64, 16};
  failed.split = Split::kValidation;
  failed.original = "parent";
  failed.status = measure::Status::kCrash;
  failed.message = "its process ended with signal 11";
  failed.samples_ns = {};
  failed.time_ns = failed.fixed_csr_ns = 0;
  failed.speedup = failed.rejected_share = 0;
  Record censored = sample_record("mesh", 4, 0.1);
  censored.censored = true;
  const std::vector<Record> written = {sample_record(), failed, censored};
  const Dataset read = load_dataset(write_dataset(folder.path() / "data.jsonl", sample_header(), written));
  REQUIRE(read.records.size() == 3);
  for (size_t n = 0; n < 3; ++n) CHECK(to_json(read.records[n]) == to_json(written[n]));
  CHECK(read.records[1].problem == failed.problem);
  CHECK(read.records[1].dims == failed.dims);
  CHECK(read.records[1].split == Split::kValidation);
  CHECK_FALSE(read.records[1].ok());
  CHECK(read.records[2].censored);
  CHECK_FALSE(read.records[2].timed());
  CHECK(read.header.machine == sample_header().machine);
  CHECK(read.header.collection == sample_header().collection);
}

TEST_CASE("dataset: the first line is an artifact header and every other one a record", "[dataset]") {
  const TemporaryFolder folder;
  const auto file = write_dataset(folder.path() / "data.jsonl", sample_header(), {sample_record()});
  std::ifstream stream(file);
  std::string line;
  REQUIRE(std::getline(stream, line));
  const nlohmann::json header = nlohmann::json::parse(line);
  CHECK(header.at("format") == "waco-dataset");
  CHECK(header.at("version") == 1);
  CHECK(header.at("created_by").at("program") == "waco-collect");
  CHECK(header.at("machine").at("cpu") == "CPU A");
  REQUIRE(std::getline(stream, line));
  const nlohmann::json record = nlohmann::json::parse(line);
  for (const char* key :
       {"matrix",     "matrix_hash", "original",     "source",  "rows",    "cols",        "nnz",  "split",
        "op",         "type",        "rhs",          "threads", "seed",    "stratum",     "plan", "status",
        "samples_ns", "time_ns",     "fixed_csr_ns", "speedup", "pack_ns", "stored_bytes"}) {
    INFO(key);
    CHECK(record.contains(key));
  }
}

TEST_CASE("dataset: a torn last line is left out, and cut off before more is appended", "[dataset]") {
  const TemporaryFolder folder;
  const auto file = write_dataset(folder.path() / "data.jsonl", sample_header(), {sample_record()});
  const std::string whole = to_json(sample_record("mesh", 32)).dump();
  const size_t kept = GENERATE(size_t{1}, size_t{20}, size_t{400});
  append_text(file, whole.substr(0, std::min(kept, whole.size())));
  const ReadSummary summary = read_dataset(file, kIgnore);
  CHECK(summary.lines.torn);
  CHECK(summary.num_records == 1);
  write_dataset(file, sample_header(), {sample_record("mesh", 64)});
  const ReadSummary mended = read_dataset(file, kIgnore);
  CHECK_FALSE(mended.lines.torn);
  CHECK(mended.num_records == 2);
}

TEST_CASE("dataset: a last line that ends but is no record counts as torn", "[dataset]") {
  const TemporaryFolder folder;
  const auto file = write_dataset(folder.path() / "data.jsonl", sample_header(), {sample_record()});
  append_text(file, std::string(50, '\0') + "\n");  // what a crash of the machine may leave
  CHECK(read_dataset(file, kIgnore).lines.torn);
  write_dataset(file, sample_header(), {});
  CHECK_FALSE(read_dataset(file, kIgnore).lines.torn);
}

TEST_CASE("dataset: a damaged line in the middle is an error that names it", "[dataset]") {
  const TemporaryFolder folder;
  const auto file = write_dataset(folder.path() / "data.jsonl", sample_header(), {sample_record()});
  append_text(file, "{\"matrix\": 3}\n" + to_json(sample_record("mesh", 32)).dump() + "\n");
  CHECK_THROWS_WITH(read_dataset(file, kIgnore), Catch::Contains("data.jsonl:3:"));
  // The header can be had without it.
  CHECK(read_header(file).machine.cpu_model == sample_header().machine.cpu_model);
  CHECK_THROWS_AS(read_header("/dev/null"), InputError);
}

TEST_CASE("dataset: unknown fields are ignored", "[dataset]") {
  const TemporaryFolder folder;
  const auto file = write_dataset(folder.path() / "data.jsonl", sample_header(), {});
  nlohmann::ordered_json json = to_json(sample_record());
  json["something_new"] = {1, 2};
  append_text(file, json.dump() + "\n");
  CHECK(load_dataset(file).records.size() == 1);
}

TEST_CASE("dataset: a newer version is refused with both versions named", "[dataset]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "data.jsonl";
  std::string line = header_line(sample_header());
  line.replace(line.find("\"version\":1"), 11, "\"version\":9");
  append_text(file, line + "\n");
  CHECK_THROWS_WITH(load_dataset(file), Catch::Contains("version 9") && Catch::Contains("version 1"));
}

TEST_CASE("dataset: files of another kind are refused and left as they are", "[dataset]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "notes.txt";
  const std::string content = GENERATE("%%MatrixMarket matrix\n1 1 1\n", "{\"format\": \"waco-plan\"}\n",
                                       "[1]", "\n", "{\\rtf1", "{\"format\":\"waco-plan\",\"ver");
  append_text(file, content);
  CHECK_THROWS_AS(load_dataset(file), InputError);
  CHECK_THROWS_AS(write_dataset(file, sample_header(), {sample_record()}), InputError);
  CHECK(read_file(file) == content);
  CHECK_THROWS_AS(load_dataset(folder.path() / "missing.jsonl"), InputError);
  CHECK_THROWS_AS(load_dataset(folder.path()), InputError);
}

TEST_CASE("dataset: a gzipped file is read, but not continued", "[dataset]") {
  const TemporaryFolder folder;
  const auto file = write_dataset(folder.path() / "data.jsonl", sample_header(), {sample_record()});
  const auto packed = folder.path() / "packed.jsonl";  // content decides, not the name
  append_text(packed, gzipped(read_file(file)));
  const std::string before = read_file(packed);
  CHECK(load_dataset(packed).records.size() == 1);
  CHECK_THROWS_WITH(write_dataset(packed, sample_header(), {sample_record("mesh", 64)}),
                    Catch::Contains("gunzip"));
  CHECK(read_file(packed) == before);
}

TEST_CASE("dataset: a file that is empty, or ends inside its header, is begun", "[dataset]") {
  const TemporaryFolder folder;
  const std::string line = header_line(sample_header());
  const size_t kept =
      GENERATE_COPY(size_t{0}, size_t{1}, size_t{14}, size_t{60}, line.size() - 1, line.size());
  append_text(folder.path() / "data.jsonl", line.substr(0, kept));
  const auto file = write_dataset(folder.path() / "data.jsonl", sample_header(), {sample_record()});
  CHECK(load_dataset(file).records.size() == 1);
}

TEST_CASE("dataset: a file whose header can't be written is removed, one that has records stays",
          "[dataset]") {
  const TemporaryFolder folder;
  const auto begun = folder.path() / "begun.jsonl";
  const auto file = write_dataset(folder.path() / "data.jsonl", sample_header(), {sample_record()});
  {
    const NoRoom no_room;
    CHECK_THROWS_AS(write_dataset(begun, sample_header(), {}), EnvironmentError);
    CHECK_THROWS_AS(write_dataset(file, sample_header(), {sample_record("mesh", 64)}), EnvironmentError);
  }
  CHECK_FALSE(std::filesystem::exists(begun));
  CHECK(load_dataset(file).records.size() == 1);
}

TEST_CASE("dataset: other options or another machine do not continue a file", "[dataset]") {
  const TemporaryFolder folder;
  const auto file = write_dataset(folder.path() / "data.jsonl", sample_header(), {sample_record()});
  Header other = sample_header();
  other.collection["per_matrix"] = 30;
  CHECK_THROWS_WITH(write_dataset(file, other, {}), Catch::Contains("per_matrix 20, not 30"));
  CHECK_THROWS_WITH(write_dataset(file, sample_header("CPU B"), {}), Catch::Contains("another machine"));
  CHECK(load_dataset(file).records.size() == 1);
}

TEST_CASE("dataset: what continues a file has the header that it was begun with", "[dataset]") {
  const TemporaryFolder folder;
  Header header = sample_header();
  header.ceilings = {{{"region_ns", 1}}};
  const auto file = write_dataset(folder.path() / "data.jsonl", header, {sample_record()});
  header.ceilings = {{{"region_ns", 2}}};
  const DatasetAppender second(file, header, kIgnore);
  CHECK(second.header().ceilings.at(0).at("region_ns") == 1);
}

TEST_CASE("dataset: two runs do not append to one file", "[dataset]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "data.jsonl";
  const DatasetAppender first(file, sample_header(), kIgnore);
  CHECK_THROWS_WITH(DatasetAppender(file, sample_header(), kIgnore), Catch::Contains("another run"));
}

TEST_CASE("dataset: an original has one side of the split, for validation about its share", "[dataset]") {
  int validation = 0;
  for (int n = 0; n < 2000; ++n) {
    const Split split = split_of(fmt::format("matrix{}", n), 7, 0.2);
    CHECK(split == split_of(fmt::format("matrix{}", n), 7, 0.2));
    validation += split == Split::kValidation ? 1 : 0;
  }
  CHECK(validation > 320);
  CHECK(validation < 480);
  CHECK(split_of("mesh", 1, 0) == Split::kTraining);
  CHECK(split_of("mesh", 1, 1) == Split::kValidation);
}
