// waco-bench as a program: runs on samples, continues files, reports, and refuses what it can't do.
#include <fmt/ranges.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "../model/learned/random_model.hpp"
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
    if (op != "mttkrp") CHECK(result.err.find("symmetric: 70017 entries expanded") != std::string::npos);
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

  // A plan that could not be set up, as records of older versions may say, was not found wrong.
  json constrained = json::parse(content);
  for (json& entry : constrained.at("contestants"))
    if (entry.at("name") == "waco") entry.at("status") = "constraint";
  const RunResult unknown = bench()
                                .with(matrix, "--op", "spmv", "--peers", "none", "-o",
                                      work.write("constrained.jsonl", constrained.dump() + "\n"))
                                .run();
  CHECK(unknown.end.code == 1);
  CHECK(unknown.err.find("skipped") != std::string::npos);

  // A plan that failed is not done because it is written down.
  json record = json::parse(content);
  for (json& entry : record.at("contestants"))
    if (entry.at("name") == "waco") entry.at("status") = "wrong";
  const std::string failed = work.write("failed.jsonl", record.dump() + "\n");
  const RunResult held = bench().with(matrix, "--op", "spmv", "--peers", "none", "-o", failed).run();
  INFO(held.err);
  CHECK(held.end.code == 4);
  CHECK(held.err.find("skipped") != std::string::npos);

  const RunResult report = Program("waco-bench").with("report", file, "--html", work.path("page.html")).run();
  INFO(report.err);
  CHECK(report.ok());
  CHECK(report.out.find("spmv f32") != std::string::npos);
  CHECK(report.out.find("sddmm f32 K=256") != std::string::npos);
  CHECK(read_file(work.path("page.html")).find("</html>") != std::string::npos);
  const RunResult quiet = Program("waco-bench").with("report", file, "-q", "--threads", "1").run();
  CHECK(quiet.out == report.out);
  CHECK(quiet.err.empty());
  const RunResult tables = run_well(Program("waco-bench").with("report", file, "--markdown"));
  CHECK_THAT(tables.out, Catch::StartsWith("| problem | matrices |"));
  for (const char* line : {"\n| spmv f32 | 1 |", "\n| sddmm f32 K=256 | 1 |", "\n| matrix | nonzeros |"})
    CHECK_THAT(tables.out, Catch::Contains(line));
  check_refused(Program("waco-bench").with("report", file, "--op", "spmv"), 2, "--op");
}

TEST_CASE("cli: waco-bench writes its files even where stdout can't be", "[cli]") {
  const Workspace work;
  const std::string file = work.path("records.jsonl"), page = work.path("page.html");
  const RunResult run =
      run_into_full(bench()
                        .with(work.matrix(), "--schedule", "spmv f32 | A: i:U k:C | loop: i k | par: serial")
                        .with("--peers", "none", "--effort", "quick", "-o", file, "--html", page));
  INFO(run.err);
  CHECK(run.end.code == 1);
  CHECK(run.err.find("stdout can't be written") != std::string::npos);
  CHECK(lines(read_file(file)) == 1);
  CHECK(read_file(page).find("</html>") != std::string::npos);
  std::filesystem::remove(page);
  const RunResult report = run_into_full(Program("waco-bench").with("report", file, "--html", page));
  INFO(report.err);
  CHECK(report.end.code == 1);
  CHECK(std::filesystem::exists(page));
}

TEST_CASE("cli: waco-bench writes its page where nobody reads its tables", "[cli]") {
  const Workspace work;
  const std::string page = work.path("page.html");
  const ProcessEnd end = run_into_closed(
      bench()
          .with(work.matrix(), "--schedule", "spmv f32 | A: i:U k:C | loop: i k | par: serial")
          .with("--peers", "none", "--effort", "quick", "--html", page));
  CHECK_FALSE(end.exited);
  CHECK(end.code == SIGPIPE);
  CHECK(read_file(page).find("<title>waco-bench</title>") != std::string::npos);
}

TEST_CASE("cli: waco-bench shows its summary even where its page can't be written", "[cli]") {
  const Workspace work;
  const std::string matrix = work.matrix(), second = work.write("second.mtx", read_file(matrix));
  const std::string file = work.path("records.jsonl");
  const RunResult run = bench()
                            .with(matrix, second, "-o", file, "--html", "/dev/full", "--peers", "none")
                            .with("--schedule", "spmv f32 | A: i:U k:C | loop: i k | par: serial")
                            .with("--effort", "quick")
                            .run();
  INFO(run.err);
  CHECK(run.end.code == 1);
  CHECK(run.err.find("/dev/full: can't be written") != std::string::npos);
  CHECK(run.out.find("2 matrices; geometric means") != std::string::npos);
  const RunResult report = Program("waco-bench").with("report", file, "--html", "/dev/full").run();
  CHECK(report.end.code == 1);
  CHECK(report.out.find("2 matrices; geometric means") != std::string::npos);

  // On stdout the page is alone.
  for (const RunResult& alone :
       {Program("waco-bench").with("report", file, "--html", "-").run(),
        bench().with(matrix, second, "--op", "spmv", "-o", file, "--html", "/dev/stdout").run()}) {
    INFO(alone.err);
    CHECK(alone.ok());
    CHECK(alone.out.find("<!DOCTYPE html>") == 0);
    CHECK(alone.out.find("geometric means of speedups") == std::string::npos);
    CHECK(alone.out.substr(alone.out.size() - 8) == "</html>\n");
    CHECK(alone.err.find("geometric means of speedups") != std::string::npos);
  }
}

TEST_CASE("cli: waco-bench that measured nothing leaves an older page", "[cli]") {
  const Workspace work;
  const std::string page = work.write("page.html", "older"), empty = work.write("empty.jsonl", "");
  check_refused(bench().with(work.path("missing.mtx"), "--op", "spmv", "--html", page), 3, "missing.mtx");
  CHECK(read_file(page) == "older");
  const RunResult report = Program("waco-bench").with("report", empty, "--html", page).run();
  INFO(report.err);
  CHECK(report.ok());
  CHECK(report.err.find("no record") != std::string::npos);
  CHECK(read_file(page) == "older");
}

TEST_CASE("cli: waco-bench shows a record that its file has no room for, and ends there", "[cli]") {
  const Workspace work;
  // No file may grow beyond a size that this one has and the compiler's do not reach.
  const size_t size = size_t{32} << 20;
  const std::string file = work.write("records.jsonl", std::string(size, ' ') + "\n");
  const std::string matrix = work.matrix(), second = work.write("second.mtx", read_file(matrix));
  const RunResult run =
      run_by_shell(bench()
                       .with(matrix, second, "--jsonl", "--peers", "none", "--effort", "quick", "-o", file)
                       .with("--schedule", "spmv f32 | A: i:U k:C | loop: i k | par: serial"),
                   "trap '' XFSZ; ulimit -f 16384; exec \"$@\"");
  INFO(run.err);
  CHECK(run.end.code == 1);
  CHECK_THAT(run.err, Catch::Contains("records.jsonl: can't be written") && Catch::Contains("ended early"));
  CHECK_THAT(run.err, Catch::Contains("over csr") && !Catch::Contains("second.mtx"));
  REQUIRE(lines(run.out) == 1);
  CHECK(json::parse(run.out).at("matrix").at("name") == "matrix");
  CHECK(std::filesystem::file_size(file) == size + 1);
}

TEST_CASE("cli: waco-bench times a given schedule or plan without tuning", "[cli]") {
  Workspace work;
  const std::string matrix = work.matrix();
  const std::string text = "spmv f32 | A: i1:U k:C i0:U [i/2] | loop: i1 k i0 | par: i1 static x2";
  const auto timed = [&](const std::string& option, const std::string& value) {
    return document_of(
        bench().with(matrix, option, value, "--peers", "none", "--effort", "quick", "--jsonl"));
  };
  CHECK(timed("--schedule", text).at("plan") == text);

  const std::string plan = work.path("plan.json");
  run_well(waco_tune().with(matrix, "--schedule", text, "--effort", "none", "-o", plan));
  CHECK(timed("--plan", plan).at("plan") == text);

  // Where the answer was to stay on CSR, that is timed as fixed_csr is.
  const std::string stay = work.path("stay.json");
  run_well(waco_tune().with(matrix, "--op", "spmv", "--calls", "0", "-o", stay));
  CHECK(timed("--plan", stay).at("plan") == "fixed_csr");

  // A plan that was found for one thread is timed beside others on two, which the record says.
  const std::string narrow = work.path("narrow.json");
  run_well(
      Program("waco-tune").with("--threads", "1", matrix, "--op", "spmv", "--effort", "none", "-o", narrow));
  CHECK_THAT(timed("--plan", narrow).at("warnings").dump(),
             Catch::Contains("was found for 1 thread, and is timed with 2"));

  const std::string wide = "spmv f32 | A: i:U k:C | loop: i k | par: i static x4";
  check_refused(bench().with(matrix, "--schedule", wide), 1, "runs on 4 threads, at most 2 allowed");

  // waco-tune takes it with --max-fill.
  const std::string filled = "spmv f32 | A: i1:U k:C i0:U [i/32] | loop: i1 k i0 | par: i1 static x2";
  work.matrix(200, 160, 0.002);  // in the place of the other
  CHECK(timed("--schedule", filled).at("plan") == filled);
}

TEST_CASE("cli: waco-bench says where it can't pin its threads", "[cli]") {
  const Workspace work;
  // No variable may be longer than 128 KiB, which this one is once something is added.
  const RunResult result = bench()
                               .with(work.matrix(), "--op", "spmv", "--peers", "none", "--effort", "quick")
                               .environment("GLIBC_TUNABLES", std::string((size_t{128} << 10) - 20, 'x'))
                               .run();
  INFO(result.err);
  CHECK(result.ok());
  CHECK(result.err.find("can't be started anew (Argument list too long)") != std::string::npos);
}

TEST_CASE("cli: waco-bench ends with code 4 where the given kernel crashes", "[cli]") {
  const Workspace work;
  Program program =
      bench().with(work.matrix(), "--schedule", "spmv f32 | A: i:U k:C | loop: i k | par: serial");
  // Its kernels but fixed_csr's, which is compiled with -ffast-math, end whoever loads them.
  program.with("--peers", "none", "--effort", "quick").use_compiler(work.path(""), R"(
    case "$*" in *-ffast-math*) exec c++ "$@" ;; esac
    is_kernel && grep -q 'int waco_kernel(' "$source" &&
      echo '__attribute__((constructor)) static void end() { __builtin_trap(); }' >> "$source")");
  check_refused(program, 4, "no plan could be verified");
}

TEST_CASE("cli: waco-bench times each matrix with its own plan of a list", "[cli]") {
  Workspace work;
  const std::string first = work.matrix();
  std::filesystem::rename(first, work.path("first.mtx"));
  const std::string second = work.matrix(80, 90, 0.05), results = work.path("results.jsonl");
  run_well(waco_tune()
               .with(work.path("first.mtx"), second, "--op", "spmv", "--effort", "none")
               .with("--model", "none", "-o", results));
  std::map<std::string, std::string> plans;
  for (const json& plan : lines_of(results)) plans[plan.at("matrix").at("hash")] = plan.at("best").at("plan");
  REQUIRE(plans.size() == 2);
  const std::string stranger =
      work.write("stranger.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 1\n2 2 1\n");
  // The first matrix has another name by now; the third was never tuned.
  std::filesystem::rename(work.path("first.mtx"), work.path("renamed.mtx"));
  const RunResult result = bench()
                               .with(work.path("renamed.mtx"), stranger, second, "--plan", results)
                               .with("--peers", "none", "--effort", "quick", "--jsonl")
                               .run();
  INFO(result.err);
  CHECK(result.end.code == 6);
  CHECK(result.err.find("results.jsonl: holds no plan of spmv f32 for " + stranger) != std::string::npos);
  const std::vector<json> records = documents_of(result.out);
  REQUIRE(records.size() == 2);
  for (const json& record : records) {
    CHECK(record.at("plan") == plans.at(record.at("matrix").at("hash")));
    CHECK(record.at("plan_origin") == json{{"source", results},
                                           {"cost_model", "closed-form"},
                                           {"search", "neighbours"},
                                           {"effort", "none"}});
  }
  check_refused(bench().with(second, "--plan", results, "--op", "spmm"), 2, "contradict " + results);
  check_refused(bench().with(second, "--plan", results, "--model", "none"), 2,
                "nothing is tuned with --plan");
}

TEST_CASE("cli: waco-bench tunes with the model and search of waco-tune", "[cli]") {
  Workspace work;
  const std::string matrix = work.matrix(), model = work.path("model"), index = work.path("index");
  test::write_random_model(model, schedule::Op::kSpmv);
  make_index(model, index, 300);
  for (const auto& options : std::vector<std::vector<std::string>>{
           {}, {"--model", "none"}, {"--model", model}, {"--model", model, "--index", index}}) {
    Program timing = bench().with(matrix, "--op", "spmv", "--effort", "quick", "--peers", "none", "--jsonl");
    Program ranking = waco_tune().with(matrix, "--op", "spmv", "--effort", "none", "--json");
    for (const std::string& option : options) timing.with(option), ranking.with(option);
    const RunResult timed = run_well(timing.with("--top", "2"));
    INFO(fmt::format("{}", fmt::join(options, " ")) << "\n" << timed.err);
    const json origin = json::parse(timed.out).at("plan_origin"), plan = document_of(ranking);
    CHECK(origin.at("source") == "tuning");
    CHECK(origin.at("cost_model") == plan.at("cost_model"));
    CHECK(origin.at("search") == plan.at("search"));
    CHECK(origin.at("effort") == "quick");
    CHECK(timed.err.find(" 2 to measure") != std::string::npos);
  }
  check_refused(bench().with(matrix, "--op", "spmv", "--model", work.path("absent")), 3, "absent");
  check_refused(bench().with(matrix, "--op", "spmv", "--index", index), 2, "--model");
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
  const std::string csr = "spmv f32 | A: i:U k:C | loop: i k | par: i static x2";
  check_refused(bench().with(matrix, "--schedule", csr, "--schedule", csr), 2, "--schedule");
  check_refused(bench().with(matrix, "--op", "spmv", "--compiler", "/nonexistent/c++"), 5,
                "/nonexistent/c++");
  check_refused(bench().with(matrix, "--op", "spmv", "-o", work.write("text.jsonl", "hello\n")), 3,
                "text.jsonl");
  check_refused(bench().with(matrix, "--op", "spmv", "-o", work.path("records.jsonl.gz")), 2,
                "leave .gz out");
  CHECK_FALSE(std::filesystem::exists(work.path("records.jsonl.gz")));
  const std::string page = work.path("no/such/folder/page.html");
  check_refused(bench().with(work.path("unread.mtx"), "--op", "spmv", "--html", page), 1, page);
  check_refused(Program("waco-bench").with("report", work.path("unread.jsonl"), "--html", page), 1, page);
  check_refused(Program("waco-bench").with("report", work.path("unread.jsonl"), "--html", "-", "--markdown"),
                2, "would mix what they write");
  check_refused(Program("waco-bench").with("report"), 2, "FILE");
  for (const std::string option : {"--op=spmv", "--jsonl", "--output=x", "--list-peers", "m.mtx"})
    check_refused(Program("waco-bench").with(option, "report", work.path("unread.jsonl")), 2,
                  "report takes no");
  for (const std::string option : {"--op=spmv", "--html=page.html", "m.mtx"})
    check_refused(Program("waco-bench").with("--list-peers", option), 2, "--list-peers takes no");
  check_refused(Program("waco-bench").with("report", work.path("missing.jsonl")), 3, "missing.jsonl");
}
