// Several matrices in one run of waco-tune, and lists that are continued.
#include <algorithm>
#include <catch2/catch.hpp>

#include "plans.hpp"
#include "waco/base/files.hpp"

using namespace waco;
using namespace waco::cli;
using nlohmann::json;

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
