// Runs that are stopped or killed: what is on disk is whole, and what was found is reported.
#include <signal.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "program.hpp"

using namespace waco;
using namespace waco::cli;
using nlohmann::json;

namespace {

/// Starts the program, sends it `signal` after `delay_s`, and waits for its end.
ProcessEnd run_and_signal(const Program& program, int signal, double delay_s) {
  ChildProcess::Options options;
  options.environment = program.environment();
  ChildProcess child(program.arguments(), options);
  if (const auto end = child.wait(delay_s)) return *end;
  ::kill(child.pid(), signal);
  const auto end = child.wait(120);
  REQUIRE(end.has_value());
  return *end;
}

double seconds_of(const Program& program) {
  const auto start = std::chrono::steady_clock::now();
  REQUIRE(program.run().ok());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

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
  const double duration_s = seconds_of(program);
  Random random(3);
  for (int n = 0; n < 6; ++n) {
    run_and_signal(program, SIGKILL, duration_s * random.uniform() * 1.1);
    check_outputs(work);
  }
  CHECK(program.run().ok());
}

TEST_CASE("cli: a stopped run reports its best so far as incomplete", "[cli]") {
  Workspace work;
  const std::string plan = work.path("plan.json");
  const Program program =
      tune().with(work.matrix(600, 600, 0.02), "--op", "spmm", "--effort", "full", "-o", plan);
  int num_incomplete = 0;
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1})
    for (const double delay_s : {0.3, 2.0}) {
      std::filesystem::remove(plan);
      const ProcessEnd end = run_and_signal(program, signal, delay_s);
      INFO(end.describe());
      REQUIRE(end.exited);
      if (!std::filesystem::exists(plan)) continue;
      const json document = parse_file(plan);
      if (document.at("complete") == true) continue;
      ++num_incomplete;
      CHECK(document.at("stopped_by").get<std::string>().substr(0, 3) == "SIG");
      CHECK(end.code == (document.at("best").is_null() ? 1 : 0));
      if (!document.at("best").is_null()) CHECK(document.at("best").at("verified") == true);
    }
  CHECK(num_incomplete > 0);
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
