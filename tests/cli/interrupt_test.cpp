// Runs that are stopped or killed: what is on disk is whole, and what was found is reported.
#include <algorithm>
#include <catch2/catch.hpp>

#include "program.hpp"

using namespace waco;
using namespace waco::cli;
using nlohmann::json;

namespace {

/// Plan and kernel are whole or absent, and nothing else was left behind.
void check_outputs(const Workspace& work) {
  for (const std::string& name : work.files()) {
    INFO(name);
    CHECK((name == "matrix.mtx" || name == "plan.json" || name == "kernel.cpp" ||
           name.find(".tmp.") != std::string::npos));
    if (name == "plan.json") CHECK_NOTHROW(parse_file(work.path(name)));
    if (name == "kernel.cpp") {
      const std::string text = read_file(work.path(name));
      CHECK(text.substr(text.size() - 36).find("WACO_DECLARATIONS_ONLY */") != std::string::npos);
    }
  }
}

}  // namespace

TEST_CASE("cli: a killed run leaves whole files or none, and the next run works", "[cli]") {
  Workspace work;
  const Program program = tune().with(work.matrix(), "--op", "spmv", "--effort", "quick", "-o",
                                      work.path("plan.json"), "--emit", work.path("kernel.cpp"));
  for (const char* state : {"read in", "ranked "}) {
    const SignalledRun run = signal_when(program, SIGKILL, says(state));
    INFO(state << "\n" << run.err);
    CHECK(run.in_time);
    CHECK_FALSE(run.end.exited);
    CHECK_FALSE(std::filesystem::exists(work.path("plan.json")));
    check_outputs(work);
  }
  signal_when(program, SIGKILL, says("finalists and"));  // may end before
  check_outputs(work);
  // While the files are written, or just after.
  for (const char* part : {".tmp.", "plan.json", "kernel.cpp"}) {
    for (const std::string& name : work.files())
      if (name != "matrix.mtx") std::filesystem::remove(work.path(name));
    signal_when(program, SIGKILL, [&](const std::string&) {
      const auto names = work.files();
      return std::any_of(names.begin(), names.end(),
                         [&](const std::string& name) { return name.find(part) != std::string::npos; });
    });
    check_outputs(work);
  }
  CHECK(program.run().ok());
}

TEST_CASE("cli: a stopped run reports its best so far as incomplete", "[cli]") {
  Workspace work;
  const std::string plan = work.path("plan.json");
  const Program program =
      tune().with(work.matrix(600, 600, 0.02), "--op", "spmm", "--effort", "full", "-v", "-o", plan);
  const auto [signal, name] =
      GENERATE(table<int, const char*>({{SIGTERM, "SIGTERM"}, {SIGINT, "SIGINT"}, {SIGUSR1, "SIGUSR1"}}));
  for (const char* state : {"ranked ", "measured 3:"}) {
    std::filesystem::remove(plan);
    const SignalledRun run = signal_when(program, signal, says(state));
    INFO(state << " " << run.end.describe() << "\n" << run.err);
    CHECK(run.in_time);
    REQUIRE(run.end.exited);
    const json document = parse_file(plan);
    CHECK(document.at("complete") == false);
    CHECK(document.at("stopped_by") == name);
    CHECK(run.end.code == (document.at("best").is_null() ? 1 : 0));
    if (!document.at("best").is_null()) CHECK(document.at("best").at("verified") == true);
    if (std::string(state) != "ranked ") CHECK_FALSE(document.at("best").is_null());
  }
}

TEST_CASE("cli: a spent budget still answers with fixed_csr or better", "[cli]") {
  Workspace work;
  const RunResult result = tune().with(work.matrix(), "--op", "spmv", "--budget", "0.001", "--json").run();
  INFO(result.err);
  REQUIRE(result.ok());
  const json document = json::parse(result.out);
  CHECK(document.at("complete") == false);
  CHECK(document.at("stopped_by") == "the time budget is spent");
  CHECK(document.at("best").at("verified") == true);
}
