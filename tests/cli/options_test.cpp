// What the programs refuse, with which exit code, and where they say it.
#include <catch2/catch.hpp>

#include "program.hpp"
#include "waco/base/line_appender.hpp"

using namespace waco;
using namespace waco::cli;

namespace {

constexpr const char* kCsr = "spmv f32 | A: i:U k:C | loop: i k | par: serial";

}  // namespace

TEST_CASE("cli: --help shows examples and --version the commit, on stdout", "[cli]") {
  for (const char* name : {"waco-tune", "waco-codegen", "waco-bench", "waco-collect", "waco-index"})
    check_help_and_version(name);
}

TEST_CASE("cli: wrong options end with code 2 and say what is wrong", "[cli]") {
  Workspace work;
  const std::string matrix = work.matrix(10, 10, 0.3);
  check_refused(waco_tune(), 2, "name a matrix");
  check_refused(waco_tune().with(matrix), 2, "--op is required");
  check_refused(waco_tune().with(matrix, "--op", "spgemm"), 2, "spgemm");
  check_refused(waco_tune().with(matrix, "--op", "spmv", "--rhs", "4"), 2, "dense index");
  check_refused(waco_tune().with(matrix, "--op", "spmm", "--rhs", "0"), 2, "--rhs");
  check_refused(waco_tune().with(matrix, "--op", "spmm", "--schedule", kCsr), 2, "contradicts");
  check_refused(waco_tune().with(matrix, "--type", "f64", "--schedule", kCsr), 2, "another op, type or size");
  check_refused(waco_tune().with(matrix, "--schedule", "spmv f32 | A: i:X k:C | loop: i k | par: serial"), 2,
                "i:X");
  check_refused(waco_tune().with(matrix, "--op", "spmv", "--json", "--jsonl"), 2, "--json");
  check_refused(waco_tune().with(matrix, matrix, "--op", "spmv", "--json"), 2, "--jsonl");
  check_refused(waco_tune().with(matrix, "--op", "spmv", "--budget", "3m"), 2, "3m is not a positive number");
  check_refused(waco_tune().with(matrix, "--op", "spmv", "--max-fill", "nan"), 2,
                "nan is not a number from 1 to 1000000");
  for (const char* option : {"--top=3", "--search=tpe", "--space=format"})
    check_refused(waco_tune().with(matrix, "--schedule", kCsr, option), 2, "excludes");
  check_refused(waco_tune().with("--prepare", "3", "--schedule", kCsr), 2, "excludes");
  check_refused(waco_tune().with(matrix, "--op", "spmv", "--check"), 2, "--effort none");
  check_refused(waco_tune().with(matrix, "--op", "spmv", "--check", "--effort", "full"), 2, "--effort none");
  check_refused(waco_tune().with(matrix, "--op", "mttkrp"), 2, "3-D tensor");
  check_refused(waco_tune().with(work.tensor(), "--op", "spmv"), 2, "matrix");
  check_refused(waco_codegen(), 2, "--schedule");
  check_refused(waco_codegen().with("--schedule", kCsr, "--op", "spmm"), 2, "contradicts");
  check_refused(waco_codegen().with("--schedule", kCsr, matrix, matrix), 2, "at most one file");
  check_refused(waco_codegen().with("--schedule", kCsr, matrix, "--vector-bytes", "16"), 2, "--vector-bytes");
  check_refused(waco_codegen().with("--schedule", kCsr, matrix, "--position-bytes", "8"), 2,
                "--position-bytes");
}

TEST_CASE("cli: what would be lost, mixed or misread ends with code 2", "[cli]") {
  Workspace work;
  const std::string matrix = work.matrix();
  const auto rank = [&] { return waco_tune().with(matrix, "--op", "spmv", "--effort", "none"); };
  // OpenMP would silently run fewer threads.
  check_refused(rank().environment("OMP_THREAD_LIMIT", "1"), 2, "OMP_THREAD_LIMIT allows 1");
  check_refused(
      waco_tune().with("--list", work.write("list", matrix), "--op", "spmv", "-o", "-", "--shard", "0/2"), 2,
      "each shard writes a file");
  check_refused(rank().with("-o", ""), 2, "--output: its value is empty");
  for (const char* option : {"-o", "--emit"})
    check_refused(rank().with(option, work.path("plan.gz")), 2, "leave .gz out");
  check_refused(rank().with("-o", "-", "--emit", "/dev/stdout"), 2, "would mix");
  check_refused(rank().with("--json", "--emit", "-"), 2, "would mix");
  for (const char* seed : {"-1", "18446744073709551616", "0x10", "1e3"})
    check_refused(rank().with("--seed", seed), 2, "no whole number");
  check_refused(waco_tune()
                    .with(matrix, matrix, "--op", "spmv", "-o", work.path("results.jsonl"))
                    .environment("WACO_KERNEL_CACHE_MB", "abc"),
                2, "WACO_KERNEL_CACHE_MB");
  CHECK_FALSE(std::filesystem::exists(work.path("results.jsonl")));
}

TEST_CASE("cli: what follows the value of an option that may be repeated is an input", "[cli]") {
  const Workspace work;
  const std::string list = work.write("list", work.matrix(10, 10, 0.3) + "\n"),
                    missing = work.path("missing");
  const auto collect = Program("waco-collect").with("--op", "spmv", "-o", work.path("data.jsonl"));
  const RunResult left_out = Program(collect).with("--list", list, missing, "--per-matrix", "1").run();
  INFO(left_out.err);
  CHECK(left_out.end.code == 6);
  CHECK(left_out.err.find("missing: left out: ") != std::string::npos);
  check_refused(Program("waco-bench").with("--op", "spmv", "--peers", "none", missing), 3, missing);
  check_refused(Program("waco-index").with("--dataset", list, missing, "-o", work.path("index")), 3, missing);
  const RunResult run = waco_tune().with("--op", "spmv", "--effort", "none", "--list", list, missing).run();
  INFO(run.err);
  CHECK(run.end.code == 6);
  CHECK(run.err.find("1 of 2 inputs tuned, 0 had a result already, 1 failed") != std::string::npos);
}

TEST_CASE("cli: a file of results that another run writes to is left alone", "[cli]") {
  const Workspace work;
  const std::string matrix = work.matrix(), list = work.write("list", matrix + "\n"),
                    file = work.path("x.jsonl");
  const LineAppender running(file);
  for (const Program& program :
       {waco_tune().with("--list", list, "--op", "spmv", "--effort", "none", "-o", file),
        Program("waco-collect").with(matrix, "--op", "spmv", "-o", file),
        Program("waco-bench").with(matrix, "--op", "spmv", "--peers", "none", "-o", file)})
    check_refused(program, 1, "another run is writing to it");
  CHECK(read_file(file).empty());
}

TEST_CASE("cli: a schedule may begin with its levels where --op says the op", "[cli]") {
  const std::string levels = "A: i:U k:C | loop: i k j | par: serial";
  const RunResult run =
      waco_codegen().with("--op", "spmm", "--rhs", "24", "--type", "f64", "--schedule", levels).run();
  REQUIRE(run.ok());
  CHECK(run.out.find("spmm f64 J=24 | " + levels) != std::string::npos);
  check_refused(waco_codegen().with("--schedule", levels), 2, "expected 'OP TYPE SIZE");
}

TEST_CASE("cli: unreadable inputs end with code 3 and name the file", "[cli]") {
  Workspace work;
  const std::string missing = work.path("missing.mtx");
  const std::string garbage = work.write("garbage.mtx", "hello\nworld\n");
  const std::string truncated =
      work.write("truncated.mtx", "%%MatrixMarket matrix coordinate real general\n4 4 3\n1 1 1.0\n");
  const std::string endless = work.path(std::string(300, 'x'));  // not so much as examined
  for (const std::string& file : {missing, garbage, truncated, endless}) {
    check_refused(waco_tune().with(file, "--op", "spmv"), 3, file);
    check_refused(waco_codegen().with("--schedule", kCsr, file), 3, file);
  }
  check_refused(waco_codegen().with("--schedule", kCsr, work.path("")), 3, work.path(""));
}

TEST_CASE("cli: a plan that is none, damaged or newer ends with code 3", "[cli]") {
  Workspace work;
  check_refused(waco_codegen().with(work.path("missing.json")), 3, "missing.json");
  check_refused(waco_codegen().with(work.path("")), 3, "name a file inside it");
  check_refused(waco_tune().with("--list", work.path(""), "--op", "spmv"), 3, "name a file inside it");
  check_refused(waco_codegen().with(work.write("text.json", "not json")), 3, "text.json");
  check_refused(waco_codegen().with(work.write("kind.json", R"({"format": "waco-model", "version": 1})")), 3,
                "waco-model");
  check_refused(
      waco_codegen().with(work.write("newer.json", R"({"format": "waco-plan", "version": 99, "parts": []})")),
      3, "99");
  check_refused(
      waco_codegen().with(work.write("empty.json", R"({"format": "waco-plan", "version": 1, "parts": []})")),
      3, "holds no plan");
  check_refused(waco_codegen().with(work.write(
                    "bad.json", R"({"format": "waco-plan", "version": 1, "parts": [{"plan": "spmv"}]})")),
                3, "is not a plan of waco-tune");
}

TEST_CASE("cli: no program writes over what it reads, or one output over the other", "[cli]") {
  const Workspace work;
  const std::string matrix = work.matrix(10, 10, 0.3), content = read_file(matrix), page = work.path("x");
  const auto bench = [] { return Program("waco-bench"); };
  check_refused(waco_codegen().with("--schedule", kCsr, matrix, "-o", matrix), 2, "is an input");
  check_refused(waco_tune().with("--list", matrix, "--op", "spmv", "-o", matrix), 2, "is an input");
  check_refused(bench().with("report", matrix, "--html", matrix), 2, "is an input");
  check_refused(bench().with(matrix, "--op", "spmv", "--html", matrix), 2, "is an input");
  check_refused(bench().with(matrix, "--plan", page, "-o", page), 2, "is an input");
  check_refused(bench().with(matrix, "--op", "spmv", "-o", page, "--html", page), 2, "the same file");
  CHECK(read_file(matrix) == content);
  CHECK(work.files() == std::vector<std::string>{"matrix.mtx"});
}

TEST_CASE("cli: waco-codegen looks at its output first, which - and descriptors name, too", "[cli]") {
  const Workspace work;
  const std::string missing = work.path("no/such/folder/x");
  const auto kernel = [] { return waco_codegen().with("--schedule", kCsr, "--vector-bytes", "32"); };
  check_refused(waco_codegen().with("--schedule", kCsr, work.path("unread.mtx"), "-o", missing), 1, missing);
  const std::string text = kernel().run().out;
  CHECK_THAT(text, Catch::Contains("waco_kernel"));
  CHECK_THAT(text, Catch::Contains("fewer than 2^31 stored"));
  const std::string wide = kernel().with("--position-bytes", "8").run().out;
  CHECK_THAT(wide, Catch::Contains("waco_kernel") && !Catch::Contains("fewer than 2^31 stored"));
  for (const char* output : {"-", "/dev/stdout"}) CHECK(kernel().with("-o", output).run().out == text);
  CHECK_FALSE(std::filesystem::exists("-"));
  const ProcessEnd unread = run_into_closed(kernel());
  CHECK((!unread.exited && unread.code == SIGPIPE));
}

TEST_CASE("cli: an unusable compiler ends with code 5", "[cli]") {
  Workspace work;
  const std::string matrix = work.matrix(10, 10, 0.3);
  check_refused(waco_tune().with(matrix, "--op", "spmv", "--compiler", "/nonexistent/c++"), 5,
                "/nonexistent/c++");
  check_refused(waco_tune().with(matrix, "--op", "spmv").environment("CXX", "/bin/false"), 5, "/bin/false");
  // One that is missing is told before anything is read.
  for (const char* more : {"--effort=none", "--jsonl"})
    check_refused(waco_tune().with(matrix + "x", "--op", "spmv", more, "--compiler", "no-c++"), 5, "no-c++");
  check_refused(waco_tune().with(matrix + "x", matrix, "--op", "spmv", "--compiler", "no-c++"), 5, "no-c++");
}
