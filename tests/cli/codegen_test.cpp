// waco-codegen: kernels of plans, of lists of them and of schedules.
#include <algorithm>
#include <catch2/catch.hpp>

#include "plans.hpp"
#include "waco/base/files.hpp"

using namespace waco;
using namespace waco::cli;
using nlohmann::json;

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
  CHECK_THAT(waco_codegen().with("--schedule", serial, "--threads", "8").run().err,
             Catch::Contains("the schedule is serial"));
}
