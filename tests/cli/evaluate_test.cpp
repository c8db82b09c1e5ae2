// scripts/evaluate.sh: what it measures, leaves out, continues and draws.
#include "../model/learned/random_model.hpp"
#include "program.hpp"

using namespace waco;
using namespace waco::cli;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const std::string kRoot = std::string(WACO_TEST_DATA_DIR) + "/../..";

/// Without a folder of programs they are those of the tree, or none: waco-tune may be installed, too.
RunResult evaluate(std::vector<std::string> arguments, const std::string& root = kRoot,
                   const char* programs = WACO_BIN_DIR) {
  arguments.insert(arguments.begin(), root + "/scripts/evaluate.sh");
  RunOptions options;
  options.timeout_s = 300;
  options.environment = {{"WACO_BIN", programs}};
  if (*programs == '\0') options.environment["PATH"] = "/usr/bin:/bin";
  return run_process(arguments, options);
}

/// A line of summary.jsonl in which a call of fixed_csr takes 1000 ns.
std::string summary_line(const std::string& matrix, const std::map<std::string, double>& speedups) {
  json ways = json::object();
  for (const auto& [way, speedup] : speedups)
    ways[way] = {{"plan", way},        {"is_baseline", speedup == 1},
                 {"tune_ns", 9000},    {"pack_ns", speedup == 1 ? 0 : 1000},
                 {"speedup", speedup}, {"kernel_ns", 1000 / speedup}};
  return json{{"problem", "spmv f32"}, {"model", "learned"}, {"matrix", matrix}, {"nnz", 100},
              {"csr_ns", 1000},        {"ways", ways}}
             .dump() +
         "\n";
}

}  // namespace

TEST_CASE("cli: an evaluation times the plans of all ways together and draws tables", "[cli]") {
  const Workspace work;
  const std::string folder = work.path("evaluation");
  const std::string page =
      work.write("page.md", "before\n<!-- evaluation: begin -->\nold\n<!-- evaluation: end -->\nafter\n");
  fs::copy_file(work.matrix(), work.path("other.mtx"));
  const std::string list =
      work.write("list", "# two\n" + work.path("matrix.mtx") + "\n" + work.path("other.mtx") + "\n");
  const std::vector<std::string> command{"-o",
                                         folder,
                                         "--problems",
                                         "spmv",
                                         "--models",
                                         work.path("none"),
                                         "--ways",
                                         "none quick closed schedule calls-1",
                                         "--page",
                                         page,
                                         "--prepare",
                                         "3",
                                         "--contests",
                                         "2",
                                         "--accept-busy",
                                         list};
  const RunResult first = evaluate(command);
  INFO(first.err);
  REQUIRE(first.ok());
  CHECK(first.err.find("no learned model") != std::string::npos);
  const std::vector<json> summaries = lines_of(folder + "/summary.jsonl");
  REQUIRE(summaries.size() == 2);
  for (const json& summary : summaries) {
    CHECK(summary["problem"] == "spmv f32");
    CHECK(summary["model"] == "closed-form");
    CHECK(summary["ways"].size() == 4);  // without a learned model 'closed' is no way of its own
    std::map<std::string, double> speedups;
    for (const auto& [way, found] : summary["ways"].items()) {
      CHECK(found["kernel_ns"].get<double>() > 0);
      CHECK(found["tune_ns"].get<double>() > 0);
      if (found["is_baseline"]) CHECK(found["speedup"] == 1);
      const auto [at, is_new] = speedups.emplace(found["plan"], found["speedup"]);
      if (!is_new) CHECK(at->second == found["speedup"]);  // equal plans count as equal
    }
    CHECK(summary["ways"]["calls-1"]["is_baseline"] == true);  // one call never pays
    CHECK(summary["ways"]["schedule"]["plan"].get<std::string>().rfind("spmv f32 | A: i:U k:C |", 0) == 0);
  }
  const std::string drawn = read_file(page);
  CHECK(drawn.rfind("before\n<!-- evaluation: begin -->\n", 0) == 0);
  CHECK(drawn.find("\nold\n") == std::string::npos);
  CHECK(drawn.find("| other | ") != std::string::npos);
  CHECK(drawn.find("<!-- evaluation: end -->\nafter\n") != std::string::npos);

  // Again: nothing is measured. A contest that is missing is held again, from the plans that are there.
  fs::remove(folder + "/spmv1-closed-form/contest/other.2.json");
  fs::remove(folder + "/spmv1-closed-form/contest/other.ways");
  const auto plans = read_file(folder + "/spmv1-closed-form/quick.jsonl");
  const RunResult second = evaluate(command);
  INFO(second.err);
  CHECK(second.ok());
  CHECK(second.err.find("spmv: other") != std::string::npos);
  CHECK(second.err.find("spmv: matrix") == std::string::npos);
  CHECK(read_file(folder + "/spmv1-closed-form/quick.jsonl") == plans);
}

TEST_CASE("cli: an evaluation counts the compiling of a plan that was only ranked", "[cli]") {
  const Workspace work;
  const std::string matrix = work.matrix(10, 10, 0.3), folder = work.path("e"), here = "e/spmv1-closed-form/";
  // Everything has been run: this program only tells what it was asked.
  write_script(work.path("bin"), "waco-tune", "echo \"$@\" >&2\n");
  fs::create_directories(work.path(here + "contest"));
  const auto write_way = [&](const std::string& way, const json& baseline, bool verified) {
    work.write(here + way + ".jsonl",
               json{{"input", matrix},
                    {"status", "done"},
                    {"baseline", baseline},
                    {"best", {{"plan", way + "'s"}, {"is_baseline", false}, {"verified", verified}}},
                    {"stages_s", {{"load", 0.25}, {"read", 1}, {"measure", 8e-7}, {"total", 1.75}}}}
                       .dump() +
                   "\n");
  };
  write_way("none", nullptr, false);
  write_way("quick", {{"median_ns", 1000}}, true);
  const auto write_contest = [&](int number, double csr_ns, double speedup) {
    json candidates;
    for (const char* plan : {"none's", "quick's"})
      candidates.push_back({{"plan", plan}, {"status", "ok"}, {"speedup", speedup}, {"pack_ns", 10}});
    work.write(here + fmt::format("contest/matrix.{}.json", number),
               json{{"complete", true},
                    {"op", "spmv"},
                    {"type", "f32"},
                    {"matrix", {{"name", "matrix"}, {"nnz", 30}}},
                    {"baseline", {{"median_ns", csr_ns}}},
                    {"candidates", candidates}}
                   .dump());
  };
  write_contest(1, 500, 2);
  write_contest(2, 2000, 8);
  work.write(here + "contest/matrix.compiled", R"({"none's": 3000000, "quick's": 0}
{"none's": 0, "quick's": 5000000}
)");
  const auto run = [&] {
    const RunResult result = evaluate({"-o", folder, "--problems", "spmv", "--models", work.path("none"),
                                       "--ways", "none quick", "--prepare", "0", "--contests", "2", matrix},
                                      kRoot, work.path("bin").c_str());
    INFO(result.err);
    REQUIRE(result.ok());
    const std::vector<json> summaries = lines_of(folder + "/summary.jsonl");
    REQUIRE(summaries.size() == 1);
    return summaries[0]["ways"];
  };
  const json ways = run();
  CHECK(ways["none"]["tune_ns"] == 503000000);
  CHECK(ways["quick"]["tune_ns"] == 500000000);
  CHECK(ways["quick"]["speedup"].get<double>() == Approx(4));
  CHECK(ways["quick"]["kernel_ns"].get<double>() == Approx(250));
  CHECK(read_file(folder + "/log").find(" --shard 0/1 --effort quick ") != std::string::npos);
  // A summary that was lost is made again, and the folder may be moved.
  fs::remove(work.path(here + "summary/matrix.json"));
  CHECK(run() == ways);
  fs::rename(folder, work.path("moved"));
  const RunResult drawn = evaluate({"-o", work.path("moved"), "--tables-only"});
  CHECK(drawn.ok());
  CHECK(drawn.out.find("| matrix | 30 |") != std::string::npos);
  CHECK(evaluate({"-o", work.path("misspelt"), "--tables-only"}).end.code == 1);
}

TEST_CASE("cli: an evaluation of empty lists says so", "[cli]") {
  const Workspace work;
  const RunResult refused = evaluate({"-o", work.path("evaluation"), work.write("list", "# nothing\n\n")});
  CHECK(refused.end.code == 2);
  CHECK(refused.err.find("the lists are empty") != std::string::npos);
}

TEST_CASE("cli: an evaluation refuses two files of one name", "[cli]") {
  const Workspace work;
  fs::create_directories(work.path("other"));
  const std::string matrix = work.matrix(), other = work.path("other/matrix.mtx");
  fs::copy_file(matrix, other);
  const RunResult refused = evaluate({"-o", work.path("evaluation"), matrix, other});
  CHECK(refused.end.code == 2);
  CHECK(refused.err.find("two files of the matrix matrix") != std::string::npos);
  CHECK_FALSE(fs::exists(work.path("evaluation")));
}

TEST_CASE("cli: the tables of an evaluation hold the means they say", "[cli]") {
  const Workspace work;
  fs::create_directories(work.path("e/x/summary"));
  work.write("e/x.current", "x\n");
  // Of two matrices: normal 2 and 4.5 (mean 3), full 2 and 8 (4), none 1 and 4 (2), format 2 and 2 (2).
  work.write("e/x/summary/a.json", summary_line("a", {{"none", 1},
                                                      {"quick", 2},
                                                      {"normal", 2},
                                                      {"full", 2},
                                                      {"format", 2},
                                                      {"calls-1", 1},
                                                      {"calls-10", 1},
                                                      {"calls-100", 2},
                                                      {"calls-10000", 2}}));
  work.write("e/x/summary/b.json", summary_line("b", {{"none", 4},
                                                      {"quick", 2},
                                                      {"normal", 4.5},
                                                      {"full", 8},
                                                      {"format", 2},
                                                      {"calls-1", 1},
                                                      {"calls-10", 1},
                                                      {"calls-100", 2},
                                                      {"calls-10000", 8}}));
  const RunResult drawn = evaluate({"-o", work.path("e"), "--tables-only"});
  INFO(drawn.err << drawn.out);
  REQUIRE(drawn.ok());
  const auto holds = [&](const std::string& row) {
    INFO(row);
    CHECK(drawn.out.find("\n" + row + "\n") != std::string::npos);
  };
  holds("| spmv f32 | 2 | 3.00 | 2.00 | 1.50 (2 of 2) |");
  holds("| spmv f32 | 2 | 2.00 | 2.00 | 3.00 | 4.00 | 50.0 % | 50.0 % | 75.0 % |");
  holds("| spmv f32 | 2 | 1.00 | 9.49 | 10.0 | 10.0 | 10.0 |");
  // One call: 1000 / (9000 + 0 + 1000) and 1000 / (9000 + 1000 + 250): mean 0.099. CSR once tuned: 1.
  CHECK(drawn.out.find("| spmv f32 | 1 | 0.099 |") != std::string::npos);
  CHECK(drawn.out.find("| 0.10 | 1.00 | 2 of 2 |") != std::string::npos);
  holds("| matrix | nonzeros | format only | both | `none` | `quick` | `full` |");
  holds("| a | 100 | 2.00 | 2.00 | 1.00 | 2.00 | 2.00 |");

  // Two tables sum it up.
  const std::string page = work.write("page.md", "<!-- evaluation: begin -->\n<!-- evaluation: end -->\n");
  CHECK(evaluate({"-o", work.path("e"), "--tables-only", "--summary", page}).ok());
  const std::string summary = read_file(page);
  CHECK(summary.find("\n| spmv f32 | 2 | 2.00 | 2.00 | 3.00 | 4.00 |") != std::string::npos);
  CHECK(summary.find("| a | 100 |") == std::string::npos);

  // Ways that were not run have no columns, and tables without rows are left out.
  work.write("e/x/summary/a.json", summary_line("a", {{"none", 1}, {"full", 2}}));
  fs::remove(work.path("e/x/summary/b.json"));
  const RunResult fewer = evaluate({"-o", work.path("e"), "--tables-only"});
  INFO(fewer.out);
  CHECK(fewer.out.find("\n| spmv f32 | 1 | 1.00 | 2.00 | 50.0 % |\n") != std::string::npos);
  CHECK(fewer.out.find("N calls") == std::string::npos);
  CHECK(fewer.out.find("format only") == std::string::npos);
}

TEST_CASE("cli: an evaluation leaves out what its model was trained on", "[cli]") {
  const Workspace work;
  const std::string model = work.path("models/spmv");
  test::write_random_model(model, schedule::Op::kSpmv);
  test::edit_manifest(model, [](auto& manifest) {
    manifest["rhs"] = {1};
    manifest["dataset"] = {{"files", {{{"name", "d.jsonl"}}}}};
  });
  fs::create_directories(work.path("datasets"));
  work.write("datasets/d.jsonl",
             "{\"format\":\"waco-dataset\"}\n{\"original\":\"matrix\",\"split\":\"training\"}\n"
             "{\"original\":\"other\",\"split\":\"validation\"}\n");
  const auto run = [&](const std::string& matrix, const std::string& datasets) {
    return evaluate({"-o", work.path("e"), "--problems", "spmv", "--models", work.path("models"),
                     "--datasets", datasets, "--ways", "none", "--prepare", "0", "--accept-busy", matrix});
  };
  const RunResult trained = run(work.matrix(), work.path("datasets"));
  INFO(trained.err);
  CHECK(trained.ok());
  CHECK(trained.err.find("matrix left out, the model was trained on it") != std::string::npos);
  fs::copy_file(work.path("matrix.mtx"), work.path("other.mtx"));
  const RunResult unseen = run(work.path("other.mtx"), work.path("datasets"));
  INFO(unseen.err);
  CHECK(unseen.ok());
  const std::vector<json> summaries = lines_of(work.path("e/summary.jsonl"));
  REQUIRE(summaries.size() == 1);
  CHECK(summaries[0]["matrix"] == "other");
  CHECK(summaries[0]["model"] == "learned");
  CHECK(run(work.path("other.mtx"), work.path("nowhere")).end.code == 3);

  // What it began from had learned, too; and what is not listed any more is not drawn.
  const std::string first = work.path("first");
  test::write_random_model(first, schedule::Op::kSpmv);
  test::edit_manifest(first, [](auto& manifest) {
    manifest["dataset"] = {{"training_originals", {"third"}}};
  });
  test::edit_manifest(model, [&](auto& manifest) {
    manifest["dataset"] = {{"training_originals", {"matrix"}}, {"training_originals_partial", true}};
    manifest["training"]["init"] = first;
  });
  fs::copy_file(work.path("matrix.mtx"), work.path("third.mtx"));
  const RunResult begun = run(work.path("third.mtx"), work.path("datasets"));
  INFO(begun.err);
  CHECK(begun.ok());
  CHECK(begun.err.find("third left out, the model was trained on it") != std::string::npos);
  CHECK(lines_of(work.path("e/summary.jsonl")).empty());
  test::edit_manifest(model, [&](auto& manifest) { manifest["training"]["init"] = work.path("nowhere"); });
  CHECK(run(work.path("third.mtx"), work.path("datasets")).end.code == 3);
  CHECK(evaluate({"-o", work.path("e"), "--ways", "normal fastest", work.path("other.mtx")}).end.code == 2);
  CHECK(
      evaluate({"-o", work.path("e"), "--page", work.path("matrix.mtx"), work.path("other.mtx")}).end.code ==
      3);
  CHECK(evaluate({"-o", work.path("e"), work.path("missing.mtx")}).end.code == 3);
}

TEST_CASE("cli: an evaluation uses the programs that were built in its tree", "[cli]") {
  const Workspace work;
  const std::string matrix = work.matrix(), root = work.path("tree");
  fs::create_directory(root);
  fs::copy(kRoot + "/scripts", root + "/scripts", fs::copy_options::recursive);
  const auto run = [&] {
    return evaluate({"-o", work.path("e"), "--problems", "spmv", "--models", work.path("none"), matrix}, root,
                    "");
  };
  const RunResult nothing = run();
  CHECK(nothing.end.code == 5);
  CHECK(nothing.err.find(root + "/build-release/bin/waco-tune") != std::string::npos);
  // Programs that only tell their names.
  for (const std::string folder : {"build", "build-release"}) {
    const std::string program =
        write_script(root + "/" + folder + "/bin", "waco-tune", "echo \"$0\" >&2; exit 1\n");
    const RunResult failed = run();
    INFO(failed.err);
    CHECK(failed.end.code == 1);
    CHECK(read_file(work.path("e/log")).ends_with(program + "\n"));
  }
}
