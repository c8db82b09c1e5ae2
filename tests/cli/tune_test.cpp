// The main job through the real program: documents, plans and kernels.
#include <algorithm>
#include <catch2/catch.hpp>

#include "program.hpp"
#include "waco/base/files.hpp"
#include "waco/schedule/super_schedule.hpp"

using namespace waco;
using namespace waco::cli;
using nlohmann::json;

namespace {

void check_document(const json& document, const std::string& op, bool verified = true) {
  CHECK(document.at("format") == "waco-plan");
  CHECK(document.at("version") == 1);
  CHECK(document.at("created_by").at("program") == "waco-tune");
  CHECK(!document.at("machine").at("cpu").get<std::string>().empty());
  CHECK(document.at("complete") == true);
  CHECK(document.at("op") == op);
  CHECK(document.at("matrix").at("hash").get<std::string>().size() == 16);
  CHECK(document.at("parts").size() == 1);
  const json& best = document.at("best");
  CHECK(best.at("verified") == verified);
  CHECK(document.at("parts")[0].at("plan") == best.at("plan"));
  CHECK_NOTHROW(schedule::parse(best.at("plan").get<std::string>()));
  for (const char* stage :
       {"load", "read", "machine", "features", "search", "rank", "convert", "measure", "total"})
    CHECK(document.at("stages_s").at(stage).get<double>() >= 0);
  CHECK(document.at("stages_s").at("read").get<double>() > 0);
  CHECK(document.at("stages_s").at("search").get<double>() > 0);
  CHECK(document.at("stages_s").at("total").get<double>() >
        document.at("stages_s").at("search").get<double>());
  CHECK(document.contains("break_even_calls"));
}

/// Compiles an emitted file alone and lets it judge itself on `input`.
void check_kernel(const Workspace& work, const std::string& kernel, const std::string& input) {
  const std::string program = work.path("self_test");
  const RunResult compiled = run_process({"g++", "-std=c++17", "-O1", "-march=native", "-fopenmp",
                                          "-Wno-psabi", "-DWACO_SELF_TEST", kernel, "-o", program});
  INFO(compiled.err);
  REQUIRE(compiled.ok());
  const RunResult run = run_process({program, input});
  INFO(run.out << run.err);
  CHECK(run.ok());
  CHECK(run.out.find("passed") != std::string::npos);
}

/// The program with `file` as its stdin, of which the shell command `before` reads first.
RunResult run_on(const Program& program, const std::string& file, const std::string& before = "") {
  return run_by_shell(program, fmt::format("exec < '{}'; {}exec \"$@\"", file, before));
}

}  // namespace

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

TEST_CASE("cli: several matrices give a line each, and code 6 when one fails", "[cli]") {
  Workspace work;
  const RunResult result = waco_tune()
                               .with(work.matrix(), work.path("missing.mtx"), "--op", "spmv", "--effort",
                                     "none", "--check", "--jsonl")
                               .run();
  INFO(result.err);
  CHECK(result.end.code == 6);
  const std::vector<json> documents = documents_of(result.out);
  REQUIRE(documents.size() == 2);
  check_document(documents[0], "spmv");
  CHECK(result.err.find("missing.mtx") != std::string::npos);
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

TEST_CASE("cli: a plan becomes a kernel again, checked on its matrix", "[cli]") {
  Workspace work;
  const std::string matrix = work.matrix();
  REQUIRE(waco_tune()
              .with(matrix, "--op", "spmm", "--rhs", "16", "--effort", "none", "-o", work.path("plan.json"))
              .run()
              .ok());
  const RunResult result =
      waco_codegen().with(work.path("plan.json"), matrix, "-o", work.path("kernel.cpp")).run();
  INFO(result.err);
  REQUIRE(result.ok());
  CHECK(result.out.empty());
  CHECK(result.err.find("verified") != std::string::npos);
  check_kernel(work, work.path("kernel.cpp"), matrix);

  const RunResult piped = run_on(waco_codegen().with("-", matrix), work.path("plan.json"));
  INFO(piped.err);
  REQUIRE(piped.ok());
  CHECK(piped.out == read_file(work.path("kernel.cpp")));
  check_refused(waco_codegen().with("-", "-"), 2, "not both");

  // Without the matrix it takes as many positions as that needed.
  json plan = parse_file(work.path("plan.json"));
  const std::string narrow = waco_codegen().with(work.path("plan.json")).run().out;
  CHECK(narrow.find("#define WACO_POS int64_t") == std::string::npos);
  CHECK(narrow.find("pattern " + plan.at("matrix").at("hash").get<std::string>()) != std::string::npos);
  CHECK(narrow.find("fewer than 2^31 stored positions") != std::string::npos);
  json& best = *std::ranges::find_if(plan.at("candidates"), [&](const json& candidate) {
    return candidate.at("plan") == plan.at("best").at("plan");
  });
  best.at("num_stored") = int64_t{1} << 31;
  const std::string wide = waco_codegen().with(work.write("wide.json", plan.dump())).run().out;
  CHECK(wide.find("#define WACO_POS int64_t") != std::string::npos);

  // Its vectors are those of the machine that tuned it.
  json& vector_bytes = plan.at("machine").at("vector_bytes");
  const std::string other = vector_bytes == 32 ? "16" : "32";
  const std::string told = waco_codegen().with(work.path("plan.json"), "--vector-bytes", other).run().out;
  vector_bytes = std::stoi(other);
  const RunResult tuned_there = waco_codegen().with(work.write("other.json", plan.dump()), "-v").run();
  INFO(tuned_there.err);
  CHECK(tuned_there.err.find("vectors of " + other + " bytes, by which it was tuned") != std::string::npos);
  const auto code = [](const std::string& text) { return text.substr(text.find("*/")); };
  best.erase("num_stored");
  CHECK(code(waco_codegen().with(work.write("other.json", plan.dump())).run().out) == code(told));

  // Results of a list give each matrix its own.
  const std::string list = work.write("list", "synthetic: stencil2d n=20\n" + matrix + "\n"),
                    results = work.path("results.jsonl");
  REQUIRE(waco_tune()
              .with("--list", list, "--op", "spmm", "--rhs", "16", "--effort", "none", "-o", results)
              .run()
              .ok());
  run_well(waco_codegen().with(results, matrix, "-o", work.path("listed.cpp")));
  CHECK(code(read_file(work.path("listed.cpp"))) == code(read_file(work.path("kernel.cpp"))));
  check_refused(waco_codegen().with(results), 2, "name a matrix");
  const RunResult listed_piped = run_on(waco_codegen().with("-", matrix), results);
  CHECK(listed_piped.end.code == 3);
  CHECK_THAT(listed_piped.err, Catch::Contains("several lines; name a file"));
  std::string last = read_file(results);
  last.erase(0, last.find('\n') + 1);
  CHECK(run_on(waco_codegen().with("-", matrix), work.write("last", last)).ok());
}

TEST_CASE("cli: waco-codegen writes a kernel for any matrix to stdout", "[cli]") {
  Workspace work;
  const RunResult result =
      waco_codegen()
          .with("--schedule", "sddmm f32 K=8 | A: i:C j:S | loop: i j k | par: i balanced x2", "--op",
                "sddmm")
          .run();
  INFO(result.err);
  REQUIRE(result.ok());
  check_kernel(work, work.write("kernel.cpp", result.out), work.matrix());
}

TEST_CASE("cli: waco-codegen writes for the threads it is told", "[cli]") {
  const std::string parallel = "spmv f32 | A: i:U k:C | loop: i k | par: i static x2",
                    serial = "spmv f32 | A: i:U k:C | loop: i k | par: serial";
  const auto plan_of = [](const std::string& schedule, const std::string& threads) {
    const RunResult result = waco_codegen().with("--schedule", schedule, "--threads", threads).run();
    INFO(result.err);
    REQUIRE(result.ok());
    const std::string label = "#define WACO_PLAN_TEXT \"";
    const size_t begin = result.out.find(label) + label.size();
    return result.out.substr(begin, result.out.find('"', begin) - begin);
  };
  CHECK(plan_of(parallel, "8") == "spmv f32 | A: i:U k:C | loop: i k | par: i static x8");
  CHECK(plan_of(parallel, "1") == serial);
  CHECK(plan_of(serial, "8") == serial);
}

TEST_CASE("cli: what a time budget ended in a list is not done again", "[cli]") {
  Workspace work;
  const auto batch = [&] {
    return waco_tune()
        .with("--list", work.write("list", work.matrix() + "\n"), "--op", "spmv", "--effort", "quick")
        .with("--budget", "0.001", "-o", work.path("results.jsonl"))
        .run();
  };
  const RunResult first = batch();
  INFO(first.err);
  REQUIRE(first.ok());
  CHECK(parse_file(work.path("results.jsonl")).at("complete") == false);
  const RunResult second = batch();
  REQUIRE(second.ok());
  CHECK(second.err.find("1 had a result already") != std::string::npos);
}

TEST_CASE("cli: a list is continued, faults are told item by item", "[cli]") {
  Workspace work;
  const std::string matrix = work.matrix(), results = work.path("results.jsonl");
  const std::string list = work.write(
      "list", "# three\n" + matrix + "\nsynthetic: stencil2d n=20\n" + work.path("missing.mtx") + "\n");
  const auto batch = [&] {
    return waco_tune().with("--list", list, "--op", "spmv", "--effort", "none", "--check");
  };
  const auto lines = [&] { return lines_of(results); };
  const RunResult first = batch().with("-o", results, "--jsonl").run();
  INFO(first.err);
  CHECK(first.end.code == 6);
  REQUIRE(lines().size() == 3);
  CHECK(lines()[0].at("status") == "done");
  CHECK(lines()[0].at("input") == matrix);
  CHECK(lines()[0].at("best").at("verified") == true);
  CHECK(lines()[1].at("status") == "done");
  CHECK(lines()[2].at("status") == "failed");
  CHECK(lines()[2].at("exit_code") == 3);
  CHECK(lines()[2].at("error").get<std::string>().find("missing.mtx") != std::string::npos);
  CHECK(std::count(first.out.begin(), first.out.end(), '\n') == 3);

  std::filesystem::copy_file(matrix, work.path("missing.mtx"));
  std::ofstream(results, std::ios::app) << R"({"format":"waco-pl)";  // torn
  const RunResult second = batch().with("-o", results).run();
  INFO(second.err);
  CHECK(second.ok());
  REQUIRE(lines().size() == 4);
  CHECK(lines()[3].at("status") == "done");
  CHECK(second.err.find("2 had a result already") != std::string::npos);

  const RunResult part = batch().with("--shard", "1/3", "-o", work.path("part.jsonl")).run();
  CHECK(part.ok());
  CHECK(part.err.find("; shard 1/3 of 3 inputs") != std::string::npos);
  CHECK(read_file(work.path("part.1-of-3.jsonl")).find("stencil2d") != std::string::npos);
  check_refused(waco_tune().with("--op", "spmv"), 2, "name a matrix");
  // One matrix, such as a pattern of names that only one matched.
  run_well(waco_tune().with(matrix, "--op", "spmv", "--effort", "none", "-o", results));
  CHECK(lines().size() == 5);
  std::filesystem::copy_file(results, work.path("results"));
  check_refused(waco_tune().with(matrix, "--op", "spmv", "--effort", "none", "-o", work.path("results")), 2,
                "results of a list");
  check_refused(waco_tune().with(matrix, "--op", "spmv", "--shard", "0/2"), 2, "--shard");
  check_refused(batch().with("-o", list), 2, "is an input");
  check_refused(batch().with("-o", work.write("notes.txt", "of mine\n")), 3, "is not a result of waco-tune");
  std::filesystem::create_directory(work.path("empty"));
  check_refused(batch().with(work.path("empty"), "-o", work.path("none.jsonl")), 3, "holds no .mtx");
  CHECK_FALSE(std::filesystem::exists(work.path("none.jsonl")));
  check_refused(batch().with("-o", results + ".gz"), 2, "leave .gz out");
}

TEST_CASE("cli: a list that is continued tells names apart that are no UTF-8, and reads streams again",
          "[cli]") {
  const Workspace work;
  const std::string one = work.path("bad\xff.mtx"), two = work.path("bad\xfe.mtx"), matrix = work.matrix();
  for (const std::string& file : {one, two}) std::filesystem::copy_file(matrix, file);
  const std::string list = work.write("list", one + "\n" + two + "\n/dev/stdin\n/dev/fd/0\n");
  const auto said = [&](const char* text) {
    const RunResult run = run_on(
        waco_tune().with("--list", list, "--op", "spmv", "--effort", "none", "-o", work.path("results")),
        matrix);
    INFO(run.err);
    CHECK(run.ok());
    CHECK(run.err.find(text) != std::string::npos);
  };
  said("4 of 4 inputs tuned, 0 had a result already, 0 failed");
  said("2 of 4 inputs tuned, 2 had a result already, 0 failed");
}
