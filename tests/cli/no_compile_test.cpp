// waco-tune --no-compile through the real program: with kernels compiled ahead, and no compiler.
#include <filesystem>
#include <set>

#include "../model/server_ceilings.hpp"
#include "program.hpp"
#include "waco/base/file_replacement.hpp"

using namespace waco;
using namespace waco::cli;
using nlohmann::json;

namespace {

/// No program is found, so that whatever would run a compiler fails.
Program& without_programs(Program& program, const Workspace& work) {
  return program.environment("XDG_CACHE_HOME", work.path("cache"))
      .environment("PATH", work.path("no-programs"))
      .environment("CXX", "");
}

Program tune_only(const Workspace& work, const std::string& matrix) {
  Program program = waco_tune().with(matrix, "--op", "spmv", "--model", "none", "--no-compile");
  return without_programs(program, work);
}

std::set<std::string> kernels(const Workspace& work) {
  std::set<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(work.path("cache/waco/kernels")))
    names.insert(file.path().filename().string());
  return names;
}

/// From here on programs rank by these ceilings, wherever tests run. Those that they measure on a busy
/// machine, or with sanitizers, choose odd points.
void use_server_ceilings(const Workspace& work) {
  run_well(waco_tune()
               .with(work.matrix(), "--op", "spmv", "--effort", "none")
               .environment("XDG_CACHE_HOME", work.path("cache")));
  for (const auto& file : std::filesystem::directory_iterator(work.path("cache/waco"))) {
    if (file.path().filename().string().rfind("ceilings", 0) != 0) continue;
    const json measured = parse_file(file.path());
    json ceilings = model::to_json(test::server_ceilings(measured.at("threads").get<int>()));
    for (const char* key : {"cpu", "vector_bytes", "measured"}) ceilings[key] = measured.at(key);
    write_file_atomically(file.path(), ceilings.dump());
  }
}

}  // namespace

TEST_CASE("cli: without a compiler as many points are measured as their kernels allow", "[cli]") {
  const Workspace work;
  const std::string matrix = work.matrix(3000, 2000, 0.004);
  run_well(prepare(work, "60"));
  const auto before = kernels(work);

  const json quick = document_of(tune_only(work, matrix).with("--effort", "quick", "--json"));
  CHECK(quick.at("no_compile") == true);
  CHECK(quick.at("candidates").size() == 4);
  for (const json& candidate : quick.at("candidates")) {
    CHECK(candidate.at("status") == "ok");
    CHECK(candidate.at("compile_ns") == 0);
  }
  CHECK(quick.at("best").at("verified") == true);
  CHECK(quick.at("num_without_kernel").get<int>() > 0);

  const json full = document_of(tune_only(work, matrix).with("--effort", "full", "--top", "5", "--json"));
  CHECK(full.at("candidates").size() >= 5);
  for (const json& candidate : full.at("candidates")) CHECK(candidate.at("status") == "ok");

  const json checked = document_of(tune_only(work, matrix).with("--effort", "none", "--check", "--json"));
  CHECK(checked.at("best").at("verified") == true);
  const json often = document_of(tune_only(work, matrix).with("--calls", "1000000000", "--json"));
  CHECK(often.at("best").at("verified") == true);
  CHECK(kernels(work) == before);
}

TEST_CASE(
    "cli: where the closed-form model's choices have no kernels, more of the learned model's are measured",
    "[cli]") {
  const Workspace work;
  use_server_ceilings(work);
  const std::string matrix = work.matrix(1100, 1100, 0.005);
  const auto of_op = [&](Program program) {
    return program
        .with("--op", "spmm", "--rhs", "32", "--model",
              std::string(WACO_TEST_DATA_DIR) + "/../../data/models/spmm")
        .environment("XDG_CACHE_HOME", work.path("cache"));
  };
  // Few kernels, those that the index of the model favours.
  run_well(of_op(waco_tune().with("--prepare", "12")));
  Program program = of_op(waco_tune().with(matrix, "--no-compile", "--top", "10", "--json"));
  const json result = document_of(without_programs(program, work));
  CHECK(result.at("candidates").size() >= 10);
  CHECK(result.at("warnings").dump().find("had a kernel") == std::string::npos);
}

TEST_CASE("cli: ranking alone is the same with and without compiling", "[cli]") {
  const Workspace work;
  const std::string matrix = work.matrix();
  const auto ranked = [&](Program program) {
    json document = document_of(program.with(matrix, "--op", "spmv", "--effort", "none", "--json"));
    CHECK(document.at("num_without_kernel") == 0);
    return document.at("candidates");
  };
  CHECK(ranked(waco_tune().with("--no-compile")) == ranked(waco_tune()));
}

TEST_CASE("cli: a list is tuned without compiling, and is done again with compiling", "[cli]") {
  const Workspace work;
  const std::string list = work.write("list.txt", work.matrix() + "\n");
  run_well(prepare(work, "20"));
  const std::string results = work.path("results.jsonl");
  const auto batch = [&] {
    return waco_tune().with("--list", list, "--op", "spmv", "--model", "none", "--effort", "quick", "-o",
                            results);
  };
  Program program = batch().with("--no-compile");
  run_well(without_programs(program, work));
  const json line = parse_file(results);
  CHECK(line.at("asked").at("no_compile") == true);
  CHECK(line.at("no_compile") == true);
  CHECK(line.at("status") == "done");
  const RunResult again = program.run();
  CHECK_THAT(again.err, Catch::Contains("1 had a result already"));

  run_well(batch().environment("XDG_CACHE_HOME", work.path("cache")));
  const json second = lines_of(results).at(1);
  CHECK_FALSE(second.at("asked").contains("no_compile"));
  CHECK(second.at("status") == "done");
}

TEST_CASE("cli: an input of a list without the kernel of fixed_csr leaves the others alone", "[cli]") {
  const Workspace work;
  run_well(prepare(work, "20"));
  // Columns beyond 32 bits: its arrays are wider than those of the kernels that are compiled ahead.
  const std::string wide =
      work.write("wide.mtx", "%%MatrixMarket matrix coordinate real general\n2 3000000000 1\n1 1 1.5\n");
  Program program = waco_tune().with(wide, work.matrix(), "--op", "spmv", "--model", "none", "--no-compile");
  program.with("--effort", "quick", "-o", work.path("results.jsonl"));
  const RunResult result = without_programs(program, work).run();
  INFO(result.err);
  CHECK(result.end.code == 6);
  const std::vector<json> lines = lines_of(work.path("results.jsonl"));
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].at("status") == "failed");
  CHECK(lines[0].at("exit_code") == 5);
  CHECK(lines[1].at("status") == "done");
}

TEST_CASE("cli: without the kernel of fixed_csr one line says how to get it", "[cli]") {
  const Workspace work;
  const std::string matrix = work.matrix();
  check_refused(tune_only(work, matrix), 5, "waco-tune --prepare 300 --op spmv");
  run_well(prepare(work, "1"));
  const json alone = document_of(tune_only(work, matrix).with("--effort", "quick", "--json"));
  CHECK(alone.at("best").at("is_baseline") == true);
  CHECK(alone.at("best").at("verified") == true);
  CHECK_FALSE(alone.at("warnings").empty());
  const json by_calls = document_of(tune_only(work, matrix).with("--calls", "1000000", "--json"));
  CHECK(by_calls.at("best").at("is_baseline") == true);
  CHECK(by_calls.at("verdict").at("chosen").is_null());
  CHECK(by_calls.at("verdict").at("pays") == false);
  CHECK(by_calls.at("verdict").at("break_even_calls").is_null());
  CHECK_THAT(by_calls.at("warnings").dump(), Catch::Contains("only 0 of "));
  const json given =
      document_of(tune_only(work, matrix).with("--calls", "1000000", "--effort", "quick", "--json"));
  CHECK(given.at("verdict").at("chosen") == "quick");
  CHECK(given.at("verdict").at("happened").at("kernel_ns").get<double>() > 0);
  CHECK(given.at("best").at("verified") == true);
  const json checked = document_of(tune_only(work, matrix).with("--effort", "none", "--check", "--json"));
  CHECK(checked.at("best").at("is_baseline") == true);
  CHECK(checked.at("best").at("verified") == true);
  check_refused(tune_only(work, matrix).with("--rhs", "1", "--type", "f64"), 5, "--type f64");
}

TEST_CASE("cli: a given point without a kernel fails with its reason", "[cli]") {
  const Workspace work;
  run_well(prepare(work, "1"));
  const RunResult result =
      tune_only(work, work.matrix())
          .with("--schedule", "spmv f32 | A: i1:U k:C i0:U [i/7] | loop: i1 k i0 | par: i1 static x2",
                "--json")
          .run();
  INFO(result.err);
  CHECK(result.end.code == 1);
  const json candidate = json::parse(result.out).at("candidates").at(0);
  CHECK(candidate.at("status") == "compile");
  CHECK_THAT(candidate.at("message").get<std::string>(), Catch::Contains("not in the cache"));
}

TEST_CASE("cli: compiling ahead and compiling nothing exclude each other", "[cli]") {
  const Workspace work;
  check_refused(waco_tune().with("--prepare", "3", "--op", "spmv", "--no-compile"), 2, "--no-compile");
  check_refused(waco_tune().with("--calibrate", "--no-compile"), 2, "--no-compile");
}
