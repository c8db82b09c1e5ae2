// Options of waco-collect that change what is measured or kept, and comparisons of datasets.
#include <algorithm>
#include <set>

#include "../train/small_dataset.hpp"
#include "collection.hpp"

using namespace waco;
using namespace waco::cli;

namespace {

Program merge() {
  return Program("waco-collect").with("merge");
}

/// A dataset of two matrices with five points each, and no measurement, in a folder of its own.
std::string small_dataset(const Workspace& work) {
  std::filesystem::create_directory(work.path("data"));
  return train::testing::write_small_dataset(work.path("data"), 2, 5);
}

/// A header and records as the lines of a dataset.
std::string text_of(const json& header, const std::vector<json>& records) {
  std::string text = header.dump() + "\n";
  for (const json& record : records) text += record.dump() + "\n";
  return text;
}

json header_of(const std::string& file) {
  return lines_of(file).at(0);
}

json against(const std::string& first, const std::string& second) {
  return document_of(Program("waco-collect").with("info", first, "--against", second, "--json"))
      .at("against");
}

}  // namespace

TEST_CASE("cli: points that are slower than --censor allows are stopped after their first run", "[cli]") {
  const Workspace work;
  const std::string matrix = work.matrix();
  const auto collected = [&](const char* ratio, const std::string& output) {
    run_well(collect()
                 .with(matrix, "--op", "spmv", "--per-matrix", "4", "--censor", ratio)
                 .with("-o", work.path(output)));
    return records_of(work.path(output));
  };
  for (const json& record : collected("0.001", "all.jsonl")) {
    INFO(record.dump());
    const bool stopped = record.at("stratum") != "fixed_csr" && record.at("status") == "ok";
    CHECK(record.value("censored", false) == stopped);
    if (stopped) CHECK(record.at("samples_ns").size() == 1);
  }
  for (const json& record : collected("0", "none.jsonl")) CHECK_FALSE(record.contains("censored"));
}

TEST_CASE("cli: a collection out of time ends with code 0, and the same command continues it", "[cli]") {
  const Workspace work;
  const std::string matrix = work.matrix(), output = work.path("data.jsonl");
  const auto command = [&](const std::string& file) {
    return collect().with(matrix, "--op", "spmv", "--per-matrix", "3", "-o", file);
  };
  run_well(command(work.path("before.jsonl")));  // what it needs of the compiler is known from here on
  const RunResult run = command(output).with("--time-limit", "0.01").run();
  INFO(run.err);
  CHECK(run.ok());
  CHECK_THAT(run.err, Catch::Contains("stopped (the time budget is spent); the same command continues"));
  CHECK(records_of(output).size() < 3);
  run_well(command(output));
  CHECK(records_of(output).size() == 3);
}

TEST_CASE("cli: a point that is asked for is measured on every matrix", "[cli]") {
  const Workspace work;
  const std::string text = "spmv f32 | A: i1:U k:C i0:U [i/2] | loop: i1 k i0 | par: i1 static x2";
  const std::string output = work.path("data.jsonl");
  std::vector<std::string> files = matrices(work);
  files.pop_back();
  Program program = collect().with("--schedule", text, "--per-matrix", "3", "-o", output);
  for (const std::string& file : files) program.with(file);
  run_well(program);
  const std::vector<json> records = records_of(output);
  CHECK(records.size() == 6);
  std::set<std::string> asked;
  for (const json& record : records) {
    if (record.at("stratum") != "asked") continue;
    INFO(record.dump());
    CHECK(record.at("plan") == text);
    CHECK(record.at("status") == "ok");
    CHECK(asked.insert(record.at("matrix").get<std::string>()).second);
  }
  CHECK(asked == std::set<std::string>{"kind0", "kind1"});
}

TEST_CASE("cli: merge keeps three samples of a record where it is told to", "[cli]") {
  const Workspace work;
  const std::string dataset = small_dataset(work), merged = work.path("merged.jsonl");
  std::vector<json> records = records_of(dataset);
  for (json& record : records) {
    const auto time_ns = record.at("time_ns").get<int64_t>();
    record.at("samples_ns") = std::vector<int64_t>();
    for (int64_t n = -3; n <= 3; ++n) record.at("samples_ns").push_back(time_ns + n);
  }
  const std::string measured = work.write("measured.jsonl", text_of(header_of(dataset), records));
  run_well(merge().with(measured, "--summarize-samples", "-o", merged));
  std::vector<json> kept = records_of(merged);
  REQUIRE(kept.size() == records.size());
  for (size_t n = 0; n < kept.size(); ++n) {
    INFO(kept[n].dump());
    const auto samples = kept[n].at("samples_ns").get<std::vector<int64_t>>();
    REQUIRE(samples.size() == 3);
    CHECK(std::is_sorted(samples.begin(), samples.end()));
    CHECK(samples[1] == kept[n].at("time_ns").get<int64_t>());
    kept[n].erase("samples_ns");
    records[n].erase("samples_ns");
    CHECK(kept[n] == records[n]);
  }
}

TEST_CASE("cli: datasets of two machines are merged only where that is allowed", "[cli]") {
  const Workspace work;
  const std::string dataset = small_dataset(work), merged = work.path("merged.jsonl");
  json header = header_of(dataset);
  header.at("machine").at("cpu") = "CPU B";
  const std::string other = work.write("other.jsonl", text_of(header, records_of(dataset)));
  check_refused(merge().with(dataset, other, "-o", merged), 2, "--allow-different-machines");
  CHECK_FALSE(std::filesystem::exists(merged));
  run_well(merge().with(dataset, other, "--allow-different-machines", "-o", merged));
  const json machines = header_of(merged).at("machines");
  REQUIRE(machines.size() == 2);
  CHECK(machines.at(0).at("cpu") == "CPU A");
  CHECK(machines.at(1).at("cpu") == "CPU B");
  const std::vector<json> records = records_of(merged);
  REQUIRE(records.size() == 20);
  for (size_t n = 0; n < records.size(); ++n) CHECK(records[n].at("machine") == (n < 10 ? 0 : 1));
}

TEST_CASE("cli: points whose times are exchanged are pairs in reverse order", "[cli]") {
  const Workspace work;
  const std::string dataset = small_dataset(work);
  std::vector<json> records = records_of(dataset);
  records.resize(5);  // of one matrix
  const json header = header_of(dataset);
  for (size_t n = 0; n < records.size(); ++n) records[n].at("time_ns") = 1000 * (n + 1);
  const std::string first = work.write("first.jsonl", text_of(header, records));
  const json same = against(first, first);
  CHECK(same.at("common_records") == 5);
  CHECK(same.at("pairs") == 10);
  CHECK(same.at("reversed_pairs") == 0);

  std::swap(records[1].at("time_ns"), records[2].at("time_ns"));
  const json exchanged = against(first, work.write("second.jsonl", text_of(header, records)));
  CHECK(exchanged.at("common_records") == 5);
  CHECK(exchanged.at("pairs") == 10);
  CHECK(exchanged.at("reversed_pairs") == 1);
}
