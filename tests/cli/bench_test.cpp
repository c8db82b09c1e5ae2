// waco-bench as a program: runs on samples, continues files, reports, and refuses what it can't do.
#include <algorithm>
#include <catch2/catch.hpp>

#include "program.hpp"

using namespace waco;
using namespace waco::cli;
using nlohmann::json;

namespace {

Program bench() {
  return Program("waco-bench").with("--threads", "2");
}

std::string sample(const std::string& name) {
  return std::string(WACO_TEST_DATA_DIR) + "/../../data/samples/" + name;
}

const json* contestant(const json& record, const std::string& name) {
  for (const json& entry : record.at("contestants"))
    if (entry.at("name") == name) return &entry;
  return nullptr;
}

int lines(const std::string& text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

TEST_CASE("cli: waco-bench times all contestants of every op on the samples", "[cli]") {
  for (const std::string op : {"spmv", "spmm", "sddmm", "mttkrp"}) {
    const std::string input = sample(op == "mttkrp" ? "events.tns.gz" : "mesh_3dof.mtx.gz");
    Program program = bench().with(input, "--op", op, "--effort", "quick", "--jsonl");
    if (op == "spmm" || op == "sddmm") program.with("--rhs", "16");
    const RunResult result = program.run();
    INFO(op << "\n" << result.err);
    REQUIRE(result.end.code == 0);
    REQUIRE(lines(result.out) == 1);
    const json record = json::parse(result.out);
    CHECK(record.at("format") == "waco-bench");
    CHECK(record.at("op") == op);
    CHECK(record.at("ceilings").at("measured") == true);
    for (const char* name : {"fixed_csr", "balanced_csr", "waco"}) {
      const json* entry = contestant(record, name);
      REQUIRE(entry != nullptr);
      INFO(entry->dump());
      CHECK(entry->at("status") == "ok");
      CHECK(entry->at("median_ns").get<double>() > 0);
      CHECK(entry->at("samples_ns").size() >= 3);
      CHECK(entry->at("stored_bytes").get<int64_t>() > 0);
      CHECK(entry->at("bound").at("share").get<double>() > 0);
    }
    CHECK(contestant(record, "fixed_csr")->at("speedup") == 1);
    for (const json& entry : record.at("contestants")) {
      INFO(entry.dump());
      CHECK(entry.at("status") == "ok");
    }
    if (op == "mttkrp") CHECK(record.at("contestants").size() == 3);
  }
}

TEST_CASE("cli: waco-bench continues a file, and reports it as a page", "[cli]") {
  Workspace work;
  const std::string matrix = work.matrix(), file = work.path("records.jsonl");
  const auto run = [&](const std::string& op) {
    return bench()
        .with(matrix, work.path("missing.mtx"), "--op", op, "--effort", "quick", "--peers", "none", "-o",
              file)
        .run();
  };
  const RunResult first = run("spmv");
  INFO(first.err);
  CHECK(first.end.code == 6);
  CHECK(first.err.find("missing.mtx") != std::string::npos);
  CHECK(first.out.find("over csr") != std::string::npos);
  const std::string content = read_file(file);
  CHECK(lines(content) == 1);

  const RunResult again = run("spmv");
  CHECK(again.err.find("skipped") != std::string::npos);
  CHECK(read_file(file) == content);
  run("sddmm");
  CHECK(lines(read_file(file)) == 2);

  const RunResult report = Program("waco-bench").with("report", file, "--html", work.path("page.html")).run();
  INFO(report.err);
  CHECK(report.ok());
  CHECK(report.out.find("spmv f32") != std::string::npos);
  CHECK(report.out.find("sddmm f32 K=256") != std::string::npos);
  CHECK(read_file(work.path("page.html")).find("</html>") != std::string::npos);
}

TEST_CASE("cli: waco-bench times a given schedule or plan without tuning", "[cli]") {
  Workspace work;
  const std::string matrix = work.matrix();
  const std::string text = "spmv f32 | A: i1:U k:C i0:U [i/2] | loop: i1 k i0 | par: i1 static x2";
  const RunResult given =
      bench().with(matrix, "--schedule", text, "--peers", "none", "--effort", "quick", "--jsonl").run();
  INFO(given.err);
  REQUIRE(given.ok());
  CHECK(json::parse(given.out).at("plan") == text);

  REQUIRE(
      tune().with(matrix, "--schedule", text, "--effort", "none", "-o", work.path("plan.json")).run().ok());
  const RunResult planned =
      bench()
          .with(matrix, "--plan", work.path("plan.json"), "--peers", "none", "--effort", "quick", "--jsonl")
          .run();
  INFO(planned.err);
  REQUIRE(planned.ok());
  CHECK(json::parse(planned.out).at("plan") == text);
}

TEST_CASE("cli: waco-bench lists its libraries", "[cli]") {
  const RunResult result = Program("waco-bench").with("--list-peers").run();
  CHECK(result.ok());
  for (const char* name : {"mkl", "eigen", "librsb", "graphblas", "aocl_sparse", "libxsmm", "openblas"})
    CHECK(result.out.find(name) != std::string::npos);
}

TEST_CASE("cli: waco-bench refuses wrong options and unreadable files", "[cli]") {
  Workspace work;
  const std::string matrix = work.matrix(10, 10, 0.3);
  check_refused(bench(), 2, "MATRIX");
  check_refused(bench().with(matrix), 2, "--op is required");
  check_refused(bench().with(matrix, "--op", "spmv", "--peers", "nonesuch"), 2, "nonesuch");
  check_refused(bench().with(matrix, "--op", "spmv", "--effort", "none"), 2, "--effort");
  check_refused(bench().with(matrix, "--op", "spmv", "--plan", work.path("missing.json")), 3, "missing.json");
  check_refused(bench().with(matrix, "--op", "spmv", "--compiler", "/nonexistent/c++"), 5,
                "/nonexistent/c++");
  check_refused(bench().with(matrix, "--op", "spmv", "-o", work.write("text.jsonl", "hello\n")), 3,
                "text.jsonl");
  check_refused(Program("waco-bench").with("report"), 2, "FILE");
  check_refused(Program("waco-bench").with("report", work.path("missing.jsonl")), 3, "missing.jsonl");
}
