// Where waco-tune writes, and what it does where it can't.
#include <algorithm>
#include <catch2/catch.hpp>

#include "plans.hpp"
#include "waco/base/files.hpp"

using namespace waco;
using namespace waco::cli;
using nlohmann::json;

TEST_CASE("cli: outputs that can't be written are told before anything is done", "[cli]") {
  Workspace work;
  const std::string missing = work.path("no/such/folder/x"), matrix = work.matrix();
  for (const char* option : {"-o", "--emit"}) {
    check_refused(waco_tune().with(work.path("unread.mtx"), "--op", "spmv", option, missing), 1, missing);
    check_refused(waco_tune().with(matrix, "--op", "spmv", option, work.path("")), 1, "is a folder");
  }
  CHECK(work.files() == std::vector<std::string>{"matrix.mtx"});
}

TEST_CASE("cli: where files may not grow one line says so, and nothing is left behind", "[cli]") {
  const Workspace work;
  const std::string matrix = work.matrix(), files = fmt::format("{}", fmt::join(work.files(), " "));
  const auto run = [](const Program& program) { return run_by_shell(program, "ulimit -f 1; exec \"$@\""); };
  const RunResult kernel = run(waco_codegen().with(
      "--schedule", "spmv f32 | A: i:U k:C | loop: i k | par: serial", "-o", work.path("k.cpp")));
  INFO(kernel.err);
  CHECK(kernel.end.exited);
  CHECK(kernel.end.code == 1);
  CHECK_THAT(kernel.err,
             Catch::Contains("error: ") && Catch::Contains("k.cpp: can't be written: File too large"));
  const Program list =
      waco_tune().with("--op", "spmv", "--effort", "none", matrix, matrix + "x", "-o", work.path("r"));
  const RunResult lines = run(list);
  INFO(lines.err);
  CHECK(lines.end.code == 1);
  CHECK_THAT(lines.err, Catch::Contains("r: can't be written: File too large"));
  CHECK_FALSE(std::filesystem::exists(work.path("r")));
  CHECK(fmt::format("{}", fmt::join(work.files(), " ")) == files);
}

TEST_CASE("cli: a list whose results find no more room ends, and says how far it was done", "[cli]") {
  const Workspace work;
  const std::string results = work.path("results.jsonl");
  Program list = waco_tune().with("--op", "spmv", "--effort", "none", "-o", results);
  for (int n = 0; n < 9; ++n) {
    const std::string copy = work.path(fmt::format("m{}.mtx", n));
    std::filesystem::copy_file(work.matrix(), copy);
    list.with(copy);
  }
  run_well(waco_tune().with("--op", "spmv", "--effort", "none", "-o", work.path("one.jsonl"),
                            work.path("m0.mtx")));
  const auto size_kb = std::filesystem::file_size(work.path("one.jsonl")) / 1024 + 1;
  const RunResult run = run_by_shell(list, fmt::format("ulimit -f {}; exec \"$@\"", 3 * size_kb));
  INFO(run.err);
  CHECK(run.end.code == 1);
  CHECK_THAT(run.err,
             Catch::Contains("ended early, as the result of ") && Catch::Contains("of 9 inputs tuned"));
  const RunResult rest = list.run();
  INFO(rest.err);
  CHECK(rest.ok());
  CHECK(std::ranges::count(read_file(results), '\n') == 9);
}

TEST_CASE("cli: outputs that would replace each other or the input are refused", "[cli]") {
  const Workspace work;
  const std::string matrix = work.matrix(), content = read_file(matrix), other = work.path("x");
  const auto tuned = [&] { return waco_tune().with(matrix, "--op", "spmv", "--effort", "none"); };
  check_refused(tuned().with("-o", other, "--emit", work.path("./x")), 2, "the same file");
  std::filesystem::create_symlink(matrix, work.path("link"));
  for (const std::string& output : {matrix, work.path("./matrix.mtx"), work.path("link")})
    for (const char* option : {"-o", "--emit"}) check_refused(tuned().with(option, output), 2, "is an input");
  CHECK(read_file(matrix) == content);
  CHECK_FALSE(std::filesystem::exists(other));
  CHECK(tuned().with("-o", "/dev/null", "--emit", "/dev/null").run().ok());
  const RunResult printed = tuned().with("-o", "-").run();
  CHECK(json::parse(printed.out).contains("best"));
  CHECK_THAT(printed.err, !Catch::Contains("wrote"));
}

TEST_CASE("cli: a file on stdin is an input as one that is named", "[cli]") {
  const Workspace work;
  const std::string matrix = work.matrix(), content = read_file(matrix), plan = work.path("plan.json");
  const auto refused = [](const Program& program, const std::string& file) {
    const RunResult run = run_on(program, file);
    INFO(run.err);
    CHECK(run.end.code == 2);
    CHECK(run.err.find("is an input") != std::string::npos);
  };
  const auto tuned = [] { return waco_tune().with("--op", "spmv", "--effort", "none"); };
  for (const char* input : {"-", "/dev/stdin"}) refused(tuned().with(input, "-o", matrix), matrix);
  refused(tuned().with("--list", "-", "-o", matrix), matrix);
  CHECK(read_file(matrix) == content);
  REQUIRE(run_on(tuned().with("-", "-o", plan), matrix).ok());
  refused(waco_codegen().with("-", "-o", plan), plan);
}

TEST_CASE("cli: plan and kernel are written even where stdout can't be", "[cli]") {
  const Workspace work;
  const std::string plan = work.path("plan.json"), kernel = work.path("kernel.cpp");
  const RunResult result = run_into_full(waco_tune().with(work.matrix(), "--op", "spmv", "--effort", "none",
                                                          "--json", "-o", plan, "--emit", kernel));
  INFO(result.err);
  CHECK(result.end.code == 1);
  CHECK(result.err.find("stdout can't be written") != std::string::npos);
  CHECK(parse_file(plan).at("best").at("verified") == true);
  CHECK(std::filesystem::exists(kernel));
}

TEST_CASE("cli: a stderr that can't be written takes nothing with it", "[cli]") {
  const Workspace work;
  const std::string matrix = work.matrix(), plan = work.path("plan.json"), lines = work.path("r.jsonl");
  const auto ranked = [] { return waco_tune().with("--op", "spmv", "--effort", "none"); };
  const RunResult one = run_into_full(ranked().with(matrix, "--json", "-o", plan), 2);
  CHECK(one.end.code == 0);
  CHECK(json::parse(one.out) == parse_file(plan));
  CHECK(run_into_full(ranked().with(matrix, matrix + "x", "-o", lines), 2).end.code == 6);
  CHECK_THAT(read_file(lines), Catch::Contains(parse_file(plan).at("best").at("plan").get<std::string>()));
  CHECK(run_into_full(ranked().with(matrix, "--top", "none"), 2).end.code == 2);
  std::filesystem::remove(plan);
  const ProcessEnd unread = run_into_closed(ranked().with(matrix, "-o", plan), 2);
  INFO(unread.describe());
  CHECK((unread.exited && unread.code == 0));
  CHECK(parse_file(plan).contains("best"));
}

TEST_CASE("cli: no file takes the place of a standard stream that is closed", "[cli]") {
  const Workspace work;
  const std::string matrix = work.matrix();
  for (const char* closed : {"2>&-", "<&- 2>&-", "<&- >&- 2>&-"}) {
    INFO(closed);
    const std::string results = work.path("results.jsonl");
    const Program program =
        waco_tune().with("-v", "--op", "spmv", "--effort", "none", matrix, matrix + "x", "-o", results);
    CHECK(run_by_shell(program, fmt::format("exec \"$@\" {}", closed)).end.code == 6);
    CHECK(lines_of(results).size() == 2);
    std::filesystem::remove(results);
  }
  CHECK(run_by_shell(waco_tune().with("-", "--op", "spmv"), "exec \"$@\" <&-").end.code == 3);
  const Program printed = waco_tune().with(matrix, "--op", "spmv", "--effort", "none", "--json");
  CHECK(run_by_shell(printed, "exec \"$@\" >&-").end.code == 1);
}

TEST_CASE("cli: a program whose stdout nobody reads ends by SIGPIPE, with its files written", "[cli]") {
  const Workspace work;
  const std::string plan = work.path("plan.json");
  const ProcessEnd end = run_into_closed(
      waco_tune().with(work.matrix(), "--op", "spmv", "--effort", "none", "--json", "-o", plan));
  INFO(end.describe());
  CHECK((!end.exited && end.code == SIGPIPE));
  CHECK(parse_file(plan).contains("best"));
}
