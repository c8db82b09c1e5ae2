// Records as JSON, in files, and put together.
#include "apps/bench/record.hpp"

#include <catch2/catch.hpp>
#include <fstream>

#include "apps/bench/record_file.hpp"
#include "apps/bench/report/html_report.hpp"
#include "apps/bench/report/markdown_report.hpp"
#include "apps/bench/report/summary.hpp"
#include "apps/bench/report/table.hpp"
#include "records.hpp"
#include "waco/base/error.hpp"
#include "waco/base/files.hpp"

using namespace waco;
using namespace waco::bench;
using namespace waco::bench::testing;
using nlohmann::json;

namespace {

std::string line_of(const Record& record) {
  return to_json(record, "waco-bench x.mtx").dump() + "\n";
}

/// What reading `content` as a file of records complains about; empty when it does not.
std::string complaint(const std::string& content) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "records.jsonl").string();
  std::ofstream(file) << content;
  try {
    read_records({file});
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kInput);
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("record: begins with an artifact's header and reads back as it was", "[bench]") {
  const Record written = record("a", 500, 600, 900);
  const auto document = to_json(written, "waco-bench a.mtx --op spmm");
  CHECK(document.begin().key() == "format");
  CHECK(document.at("format") == "waco-bench");
  CHECK(document.at("version") == 1);
  CHECK(document.at("created_by").at("command") == "waco-bench a.mtx --op spmm");
  CHECK(document.at("machine").at("cpu") == "Test CPU");
  CHECK(document.at("contestants")[2].at("gflops").get<double>() == Approx(6.4));
  CHECK(document.at("contestants")[2].at("bound").at("share").get<double>() == Approx(0.5));
  CHECK(document.at("contestants")[5].at("median_ns").is_null());
  const Record read = record_from_json(json::parse(document.dump()));
  CHECK(to_json(read, "waco-bench a.mtx --op spmm") == document);
}

TEST_CASE("record: says what chose its plan, and records from before that are read", "[bench]") {
  Record tuned = record("a", 500, 600, 900);
  json document = json::parse(to_json(tuned, "x").dump());
  CHECK(document.at("plan_origin").at("source") == "tuning");
  CHECK(document.at("plan_origin").at("cost_model") == "closed-form");
  CHECK(document.at("plan_origin").at("effort") == "normal");
  CHECK(document.at("contestants")[3].at("remark") == "takes its <generic> path");
  CHECK_THAT(to_table(tuned), Catch::Contains("by the closed-form model with effort normal"));
  CHECK_THAT(to_table(tuned), Catch::Contains("note: alpha: takes its <generic> path"));
  tuned.plan_origin = {PlanOrigin::kSchedule, "", "", ""};
  CHECK(to_json(tuned, "x").at("plan_origin").at("cost_model").is_null());
  CHECK_THAT(to_table(tuned), Catch::Contains("given by hand"));
  tuned.plan_origin = {"list.jsonl", "0123456789abcdef", "exact", "quick"};
  CHECK_THAT(to_table(tuned),
             Catch::Contains("plan of list.jsonl, found by the learned model 0123456789ab with"));

  document.erase("plan_origin");
  for (json& entry : document["contestants"]) entry.erase("remark");
  const Record old = record_from_json(document);
  CHECK(old.plan_origin.source.empty());
  CHECK(old.entries[3].remark.empty());
  CHECK_THAT(to_table(old), Catch::Contains("tuned in 1.5 s\n"));
}

TEST_CASE("record: the best peer is the fastest verified library, never one of ours", "[bench]") {
  const Record r = record("a", 500, 900, 700);
  REQUIRE(r.best_peer() != nullptr);
  CHECK(r.best_peer()->name == "slow");
  CHECK(speedup_over(r.find(kWaco), r.best_peer()) == Approx(1.4));
  CHECK(speedup_over(r.find(kWaco), r.find("broken")) == 0);
  CHECK(speedup_over(r.find(kWaco), nullptr) == 0);
}

TEST_CASE("record: a speedup over another is that of the rounds, not of the medians", "[bench]") {
  Record r = record("a", 500, 900, 700);
  // Slow rounds were thrown away of the one, and quick ones of the other.
  r.entries[2].speedup = {2.5, 2.4, 2.6};
  r.entries[3].speedup = {1.6, 1.5, 1.7};
  CHECK(speedup_over(r.find(kWaco), r.find("fast")) == Approx(2.5 / 1.6));
  CHECK(speedup_over(r.find(kWaco), r.find(kFixedCsr)) == Approx(2.5));
  CHECK(r.best_peer()->name == "fast");
  r.entries[3].speedup = {};
  CHECK(speedup_over(r.find(kWaco), r.find("fast")) == 0);
}

TEST_CASE("summary: says on how many matrices a peer got a few calls only", "[bench]") {
  std::vector<Record> records{record("a", 500, 9000, 12000), record("b", 500, 800, 9000),
                              record("c", 500, 9000, 900)};
  for (const auto& [n, entry] : {std::pair(0, 3), {0, 4}, {1, 4}, {2, 3}})
    records[n].entries[entry].censored = true;
  records[2].entries[3].status = "crash";
  const Summary summary = summarize(by_problem(records)[0]);
  CHECK(summary.num_rough == 1);
  CHECK(censored_notes(summary) ==
        std::vector<std::string>{
            "fast: over 8 times slower than fixed_csr on 1 of 2 matrices, where a few calls are its time",
            "slow: over 8 times slower than fixed_csr on 2 of 3 matrices, where a few calls are its time"});
  CHECK_THAT(to_table(summary), Catch::Contains("note: slow: over 8 times slower"));
  CHECK_THAT(to_table(summary),
             Catch::Contains("(3 matrices, on 1 of which that peer got a few calls only;"));
  CHECK_THAT(to_table(records[0]), Catch::Contains("waco over the best peer (fast): >18.00x"));
  CHECK_THAT(to_table(records[1]), Catch::Contains("waco over the best peer (fast): 1.60x"));
}

TEST_CASE("summary: what records do not share is told", "[bench]") {
  std::vector<Record> records{record("a", 500, 1000, 2000), record("b", 250, 500, 1000),
                              record("c", 1000, 500, 4000)};
  records[0].warnings.clear();
  CHECK(summarize(by_problem(records)[0]).caveats ==
        std::vector<std::string>{"warnings on 2 of 3 matrices; the first, of b: this machine is busy"});
  records[1].plan_origin.effort = "full";
  records[0].plan_origin.cost_model = "0123456789abcdef";
  records[1].machine.cpu_model = "another";
  records[2].machine.compiler.version = "g++ 99";
  const Summary summary = summarize(by_problem(records)[0]);
  REQUIRE(summary.caveats.size() == 5);
  CHECK(summary.caveats[1] == "plans found with different efforts: full (1), normal (2)");
  CHECK_THAT(summary.caveats[2], Catch::Contains("different models") && Catch::Contains(" (1)"));
  CHECK_THAT(summary.caveats[3], Catch::Contains("different processors") && Catch::Contains("another (1)"));
  CHECK_THAT(summary.caveats[4], Catch::Contains("different compilers") && Catch::Contains("g++ 99 (1)"));
  for (const std::string& page : {to_table(summary), html_report(records), markdown_report(records)})
    CHECK_THAT(page, Catch::Contains("full (1), normal (2)") && Catch::Contains("this machine is busy"));
}

TEST_CASE("summary: geometric means, failures and losses are counted", "[bench]") {
  std::vector<Record> records{record("a", 500, 1000, 2000), record("b", 250, 500, 1000),
                              record("c", 1000, 500, 4000)};
  records.push_back(record("d", 100, 200, 300));
  records[3].problem.rhs = 64;
  const auto groups = by_problem(records);
  REQUIRE(groups.size() == 2);
  const Summary summary = summarize(groups[0]);
  CHECK(summary.num_matrices == 3);
  CHECK(summary.waco_over_best_peer == Approx(std::cbrt(2 * 2 * 0.5)));
  CHECK(summary.best_peer_over_fixed_csr == Approx(std::cbrt(1.0 * 2 * 2)));
  REQUIRE(summary.losses.size() == 1);
  CHECK(summary.losses[0].matrix == "c");
  CHECK(summary.losses[0].to == "fast");
  REQUIRE(summary.behind_csr.size() == 1);
  CHECK(summary.behind_csr[0].matrix == "c");
  CHECK(summary.behind_csr[0].to == kBalancedCsr);
  CHECK(summary.behind_csr[0].speedup == Approx(0.8));
  CHECK_THAT(
      to_table(summary),
      Catch::Contains("waco below 0.95 of fixed_csr or balanced_csr:\n  c against balanced_csr: 0.80x\n"));
  for (const std::string& page : {html_report(records), markdown_report(records)})
    CHECK_THAT(page, Catch::Contains("waco over balanced_csr on c: 0.80x") ||
                         Catch::Contains("| c | balanced_csr | 0.80 |"));
  const auto standing = [&](const std::string& name) {
    for (const Standing& s : summary.standings)
      if (s.name == name) return s;
    FAIL("no standing of " << name);
    return Standing();
  };
  CHECK(standing(kWaco).over_fixed_csr == Approx(std::cbrt(2.0 * 4 * 1)));
  CHECK(standing(kWaco).over_balanced_csr == Approx(std::cbrt(1.6 * 3.2 * 0.8)));
  CHECK(standing("fast").num_best == 3);
  CHECK(standing("broken").num_matrices == 0);
  CHECK(standing("broken").num_wrong == 3);
}

TEST_CASE("record_file: grows by lines and knows what it holds", "[bench]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "records.jsonl";
  const Record a = record("a", 500, 600, 700);
  {
    RecordFile records(file, a.machine);
    CHECK(records.find(a.matrix.hash, "a", a.problem, 2) == nullptr);
    records.append(to_json(a, "x"), a);
    CHECK(records.find(a.matrix.hash, "a", a.problem, 2) != nullptr);
  }
  const RecordFile again(file, a.machine);
  REQUIRE(again.records().size() == 1);
  CHECK(again.find(a.matrix.hash, "a", a.problem, 2) != nullptr);
  CHECK(again.find(a.matrix.hash, "b", a.problem, 2) == nullptr);
  CHECK(again.find(a.matrix.hash, "a", a.problem, 1) == nullptr);
  CHECK(again.find(a.matrix.hash, "a", {schedule::Op::kSpmm, schedule::ValueType::kF64, 32}, 2) == nullptr);
}

TEST_CASE("record_file: a matrix whose name is not UTF-8 is found again", "[bench]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "records.jsonl";
  const Record a = record("caf\xe9", 500, 600, 700);
  {
    RecordFile records(file, a.machine);
    records.append(to_json(a, "x"), a);
    CHECK(records.find(a.matrix.hash, a.matrix.name, a.problem, 2) != nullptr);
  }
  CHECK(RecordFile(file, a.machine).find(a.matrix.hash, a.matrix.name, a.problem, 2) != nullptr);
}

TEST_CASE("record_file: a torn last line is cut off before the file grows", "[bench]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "records.jsonl";
  const std::string line = line_of(record("a", 500, 600, 700));
  std::ofstream(file) << line << line.substr(0, line.size() / 2);
  const Record b = record("b", 500, 600, 700);
  {
    RecordFile records(file, b.machine);
    CHECK(records.records().size() == 1);
    records.append(to_json(b, "x"), b);
  }
  const auto records = read_records({file.string()});
  REQUIRE(records.size() == 2);
  CHECK(records[1].matrix.name == "b");
}

TEST_CASE("record_file: a matrix that is in two files counts once, as the last says", "[bench]") {
  const TemporaryFolder folder;
  const std::string first = (folder.path() / "first.jsonl").string(),
                    second = (folder.path() / "second.jsonl").string();
  Record other_threads = record("a", 500, 600, 700);
  other_threads.threads = 1;
  std::ofstream(first) << line_of(record("a", 500, 600, 700)) << line_of(record("b", 500, 600, 700));
  std::ofstream(second) << line_of(record("a", 250, 600, 700)) << line_of(other_threads);
  const auto records = read_records({first, second});
  REQUIRE(records.size() == 3);
  CHECK(records[0].find(kWaco)->time_ns.median == 250);
  CHECK(records[1].matrix.name == "b");
  CHECK(records[2].threads == 1);
}

TEST_CASE("record_file: of records of one matrix in the file that grows the last counts", "[bench]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "records.jsonl";
  Record failed = record("a", 500, 600, 700);
  failed.entries[2] = wrong(kWaco, "");
  std::ofstream(file) << line_of(failed) << line_of(record("b", 500, 600, 700))
                      << line_of(record("a", 250, 600, 700));
  const RecordFile records(file, failed.machine);
  CHECK(records.records().size() == 2);
  const Record* found = records.find(failed.matrix.hash, "a", failed.problem, 2);
  REQUIRE(found != nullptr);
  CHECK(found->find(kWaco)->time_ns.median == 250);
}

TEST_CASE("record_file: other kinds, newer versions, damage and mixed machines are refused", "[bench]") {
  const std::string line = line_of(record("a", 500, 600, 700));
  CHECK(complaint(line).empty());
  CHECK(complaint("{\"format\": \"waco-plan\", \"version\": 1}\n").find("waco-plan") != std::string::npos);
  json newer = json::parse(line);
  newer["version"] = 99;
  CHECK(complaint(newer.dump() + "\n").find("99") != std::string::npos);
  json damaged = json::parse(line);
  damaged.erase("contestants");
  CHECK(complaint(line + damaged.dump() + "\n").find(":2: ") != std::string::npos);
  CHECK(complaint("hello\n").find(":1: ") != std::string::npos);
  json other = json::parse(line);
  other["machine"]["cpu"] = "Another CPU";
  CHECK(complaint(line + other.dump() + "\n").find("another machine") != std::string::npos);

  const TemporaryFolder folder;
  const auto file = folder.path() / "records.jsonl";
  std::ofstream(file) << line;
  CHECK_THROWS_AS(RecordFile(file, other["machine"].get<Machine>()), InputError);
  CHECK(read_file(file) == line);
}
