// The main job through the real program: documents, plans and kernels.
#include <catch2/catch.hpp>

#include "plans.hpp"
#include "waco/base/files.hpp"

using namespace waco;
using namespace waco::cli;
using nlohmann::json;

TEST_CASE("cli: every op is tuned, documented and emitted as a kernel that passes its self-test", "[cli]") {
  Workspace work;
  const std::string matrix = work.matrix(), tensor = work.tensor();
  for (const std::string op : {"spmv", "spmm", "sddmm", "mttkrp"}) {
    const std::string& input = op == "mttkrp" ? tensor : matrix;
    const std::string type = op == "spmm" ? "f64" : "f32";
    Program program = waco_tune().with(input, "--op", op, "--type", type, "--effort", "quick", "--json");
    if (op == "spmm" || op == "sddmm") program.with("--rhs", "20");
    const json document =
        document_of(program.with("-o", work.path("plan.json"), "--emit", work.path("kernel.cpp")));
    INFO(op);
    check_document(document, op);
    CHECK(document == parse_file(work.path("plan.json")));
    CHECK(document.at("type") == type);
    CHECK(document.at("baseline").at("status") == "ok");
    CHECK(document.at("best").at("speedup").get<double>() >= 1);
    REQUIRE(document.at("candidates").size() == 4);
    for (const json& candidate : document.at("candidates")) {
      INFO(candidate.dump());
      CHECK(candidate.at("status") == "ok");
    }
    check_kernel(work, work.path("kernel.cpp"), input);
  }
}

TEST_CASE("cli: what values a file has makes no difference", "[cli]") {
  const Workspace work;
  const std::string matrix = work.write(
      "odd.mtx",
      "%%MatrixMarket matrix coordinate real general\n3 3 4\n1 1 nan\n1 2 1e300\n2 3 inf\n3 1 0\n");
  const RunResult result = waco_tune().with(matrix, "--op", "spmv", "--effort", "quick", "--json").run();
  INFO(result.err);
  REQUIRE(result.ok());
  CHECK_THAT(result.err, Catch::Contains("2 values are infinite or not a number"));
  CHECK(json::parse(result.out).at("best").at("verified") == true);
}

TEST_CASE("cli: effort none ranks, and neither compiles nor runs anything", "[cli]") {
  Workspace work;
  const std::string matrix = work.matrix();
  const auto program = [&] {
    return waco_tune()
        .with(matrix, "--op", "spmv", "--effort", "none", "--json")
        .environment("XDG_CACHE_HOME", work.path("cache"));
  };
  const json document = document_of(program());
  check_document(document, "spmv", false);
  CHECK(document.at("baseline").is_null());
  CHECK(document.at("best").at("median_ns").is_null());
  CHECK(document.at("best").at("plan") == document.at("candidates")[0].at("plan"));
  CHECK(document.at("candidates").size() >= 5);
  CHECK_FALSE(std::filesystem::exists(work.path("cache/waco/kernels")));

  const json checked = document_of(program().with("--check"));
  check_document(checked, "spmv");
  CHECK(checked.at("best").at("plan") == document.at("best").at("plan"));
  CHECK(checked.at("stages_s").at("convert").get<double>() > 0);
}

TEST_CASE("cli: a kernel is checked before it is emitted, whatever the effort", "[cli]") {
  Workspace work;
  const std::string matrix = work.matrix();
  const json document = document_of(waco_tune().with(matrix, "--op", "spmv", "--effort", "none", "--emit",
                                                     work.path("kernel.cpp"), "--json"));
  CHECK(document.at("best").at("verified") == true);
  check_kernel(work, work.path("kernel.cpp"), matrix);
}

TEST_CASE("cli: where OpenMP binds threads as many of them are used as without", "[cli]") {
  const Workspace work;
  const std::string matrix = work.matrix(10, 10, 0.3);
  const auto threads = [&](const std::string& name, const std::string& value) {
    INFO(name);
    return document_of(Program("waco-tune")
                           .with(matrix, "--op", "spmv", "--model", "none", "--effort", "none", "--json")
                           .environment(name, value))
        .at("threads");
  };
  const json unbound = threads("OMP_PROC_BIND", "false");
  CHECK(threads("OMP_PROC_BIND", "true") == unbound);
  CHECK(threads("OMP_PLACES", "threads") == unbound);
}

TEST_CASE("cli: the kernel of CSR is emitted when the verdict is to stay on CSR", "[cli]") {
  Workspace work;
  const std::string matrix = work.matrix(), kernel = work.path("kernel.cpp"), plan = work.path("plan.json");
  for (const char* threads : {"1", "2"}) {  // by one thread, the point of CSR is serial
    const RunResult result = Program("waco-tune")
                                 .with(matrix, "--op", "spmv", "--calls", "1", "--emit", kernel, "-o", plan)
                                 .with("--json", "--threads", threads)
                                 .run();
    INFO(threads << "\n" << result.err);
    REQUIRE(result.ok());
    const json document = json::parse(result.out);
    CHECK(document.at("verdict").at("chosen").is_null());
    CHECK(document.at("best").at("is_baseline") == true);
    CHECK(document.at("best").at("verified") == true);
    CHECK(document.at("baseline").is_null());
    CHECK_THAT(result.err, Catch::Contains("the kernel of fixed_csr"));
    check_kernel(work, kernel, matrix);
    const std::string emitted = read_file(kernel);
    CHECK_THAT(emitted, Catch::Contains("schedule(dynamic, chunk)") && Catch::Contains(", 128, "));

    // The plan gives the same kernel again, with and without the matrix.
    const RunResult again = waco_codegen().with(plan, matrix, "-o", kernel).run();
    INFO(again.err);
    REQUIRE(again.ok());
    CHECK_THAT(again.err, Catch::Contains("verified"));
    const auto code = [](const std::string& text) { return text.substr(text.find("*/")); };
    CHECK(code(read_file(kernel)) == code(emitted));
    const RunResult any = waco_codegen().with(plan).run();
    REQUIRE(any.ok());
    CHECK(code(any.out) == code(emitted));
  }
}

TEST_CASE("cli: code 4 and no outputs when every kernel is wrong", "[cli]") {
  const Workspace work;
  const std::string matrix = work.matrix(), plan = work.path("plan.json"), kernel = work.path("kernel.cpp");
  // Compiles kernels that compute nothing.
  const auto spoiled = [&](Program program) {
    return program.use_compiler(work.path(""), R"(is_kernel && {
      sed -i 's/extern "C" int waco_kernel(/static int unused(/' "$source"
      echo 'extern "C" int waco_kernel(void*, void*) { return 0; }' >> "$source"; })");
  };
  check_refused(
      spoiled(waco_tune().with(matrix, "--op", "spmv", "--effort", "quick", "-o", plan, "--emit", kernel)), 4,
      "never written");
  check_refused(spoiled(waco_codegen().with("--schedule", "spmv f32 | A: i:U k:C | loop: i k | par: serial",
                                            matrix, "-o", kernel)),
                4, "never written");
  CHECK_FALSE(std::filesystem::exists(plan));
  CHECK_FALSE(std::filesystem::exists(kernel));
}

TEST_CASE("cli: matrices and lists come from stdin", "[cli]") {
  const Workspace work;
  const std::string matrix = work.matrix(), list = work.write("list", matrix + "\n"),
                    rest = work.write("rest", "absent.mtx\n" + matrix + "\n");
  const auto rank = [] { return waco_tune().with("--op", "spmv", "--effort", "none"); };
  const json expected = document_of(rank().with(matrix, "--json")).at("matrix").at("hash");
  for (const RunResult& run :
       {run_on(rank().with("-", "--json"), matrix), run_on(rank().with("--list", "-", "--jsonl"), list),
        run_on(rank().with("--list", "-", "--jsonl"), rest, "read -r first; ")}) {
    INFO(run.err);
    REQUIRE(run.ok());
    CHECK(json::parse(run.out).at("matrix").at("hash") == expected);
  }
}

TEST_CASE("cli: OMP_NUM_THREADS is the number of threads unless --threads is given", "[cli]") {
  const Workspace work;
  const std::string matrix = work.matrix();
  const auto threads = [&](Program program) {
    program.with(matrix, "--op", "spmv", "--effort", "none", "--json").environment("OMP_NUM_THREADS", "1");
    return document_of(program).at("threads").get<int>();
  };
  CHECK(threads(Program("waco-tune")) == 1);
  CHECK(threads(Program("waco-tune").with("--threads", "2")) == 2);
}

TEST_CASE("cli: finalists keep the time that compiling them took", "[cli]") {
  Workspace work;
  const json document = document_of(waco_tune()
                                        .with(work.matrix(), "--effort", "quick", "--json", "--schedule",
                                              "spmv f32 | A: i:U k:C | loop: i k | par: i static x2")
                                        .environment("XDG_CACHE_HOME", work.path("cache")));
  CHECK(document.at("candidates").at(0).at("compile_ns").get<int64_t>() > 0);
}

TEST_CASE("cli: a given schedule is measured, and only that", "[cli]") {
  Workspace work;
  const std::string text = "spmv f64 | A: i1:U k:C i0:U [i/2] | loop: i1 k i0 | par: i1 static x2";
  const json document =
      document_of(waco_tune().with(work.matrix(), "--schedule", text, "--effort", "quick", "--json"));
  REQUIRE(document.at("candidates").size() == 1);
  CHECK(document.at("candidates")[0].at("plan") == text);
  CHECK(document.at("candidates")[0].at("status") == "ok");
}

TEST_CASE("cli: a given schedule with too much fill fails with its reason", "[cli]") {
  Workspace work;
  const std::string text =
      "spmv f32 | A: i1:U k1:C i0:U k0:U [i/16 k/16] | loop: i1 k1 i0 k0 | par: i1 static x2";
  const RunResult result =
      waco_tune()
          .with(work.matrix(), "--schedule", text, "--max-fill", "2", "--effort", "quick", "--json")
          .run();
  INFO(result.err);
  CHECK(result.end.code == 1);
  CHECK(result.err.find("no candidate could be run") != std::string::npos);
  CHECK(result.err.find("error: no plan could be run: " + text + ": constraint (") != std::string::npos);
  const json candidate = json::parse(result.out).at("candidates").at(0);
  CHECK(candidate.at("status") == "constraint");
  CHECK(candidate.at("message").get<std::string>().find("fill") != std::string::npos);

  // So it is without timing, where every schedule is checked and the cheapest right one is the answer.
  const auto checked = [&](const std::vector<std::string>& schedules) {
    Program program = waco_tune().with(work.matrix(), "--max-fill", "2", "--effort", "none", "--json");
    for (const std::string& schedule : schedules) program.with("--schedule", schedule);
    return program;
  };
  CHECK(checked({text}).run().end.code == 1);
  check_refused(
      waco_tune().with(work.matrix(), "--max-fill", "2", "--effort", "none", "--schedule", text, "-q"), 1,
      "no plan could be run");
  const RunResult listed = waco_tune()
                               .with("--list", work.write("list", "\xef\xbb\xbf" + work.matrix() + "\n"),
                                     "--max-fill", "2", "--effort", "none", "--schedule", text, "-q")
                               .run();
  CHECK(listed.end.code == 6);
  CHECK(listed.err.find("error: " + work.matrix() + ": no plan could be run: ") != std::string::npos);
  const std::string serial = "spmv f32 | A: i:U k:C | loop: i k | par: serial",
                    fast = "spmv f32 | A: i:U k:C | loop: i k | par: i static x2";
  const json document = document_of(checked({serial, text, fast}));
  CHECK(document.at("best").at("verified") == true);
  REQUIRE(document.at("candidates").size() == 3);
  CHECK(document.at("best").at("plan") == document.at("candidates")[0].at("plan"));
  CHECK(document.at("candidates")[2].at("status") == "constraint");
}

TEST_CASE("cli: matrices without nonzeros, with one row and with one column are tuned", "[cli]") {
  Workspace work;
  const std::string header = "%%MatrixMarket matrix coordinate real general\n";
  for (const char* body : {"5 7 0\n", "1 9 2\n1 3 1.5\n1 9 2\n", "9 1 2\n3 1 1.5\n9 1 2\n"})
    for (const char* op : {"spmv", "spmm", "sddmm"}) {
      const Program program = waco_tune().with(work.write("small.mtx", header + body), "--op", op, "--effort",
                                               "none", "--check", "--json");
      INFO(op << " " << body);
      CHECK(document_of(program).at("best").at("verified") == true);
    }
  // The kernel of an empty matrix takes operands and results that are null.
  const std::string empty = work.write("empty.mtx", header + "5 7 0\n"), kernel = work.path("kernel.cpp");
  REQUIRE(waco_tune().with(empty, "--op", "sddmm", "--effort", "none", "--emit", kernel).run().ok());
  check_kernel(work, kernel, empty);
}
