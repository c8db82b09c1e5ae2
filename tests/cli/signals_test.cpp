// What signals leave of the programs that have no file of tests for that.
#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "../model/learned/random_model.hpp"
#include "../train/small_dataset.hpp"
#include "program.hpp"

using namespace waco;
using namespace waco::cli;

namespace {

constexpr const char* kSerialCsr = "spmv f32 | A: i:U k:C | loop: i k | par: serial";
/// Lines for a compiler that compiles no kernel, and notes that it was asked to.
constexpr const char* kNeverDone = R"(is_kernel && ! is_openmp_check && { : > "$NOTE"; exec sleep 50; })";

std::function<bool(const std::string&)> is_there(const std::string& file) {
  return [file](const std::string&) { return std::filesystem::exists(file); };
}

Program contest(const std::string& matrix, const std::string& records) {
  return Program("waco-bench")
      .with("--threads", "2", matrix, "--schedule", kSerialCsr, "--peers", "none", "--effort", "quick")
      .with("-o", records);
}

std::map<std::string, std::string> contents_of(const std::string& folder) {
  std::map<std::string, std::string> contents;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    contents[entry.path().filename().string()] = read_file(entry.path());
  return contents;
}

}  // namespace

TEST_CASE("cli: a signal ends the contest of one matrix without a record", "[cli]") {
  const Workspace work;
  const std::string records = work.path("records.jsonl");
  const Program program = contest(work.matrix(), records).use_compiler(work.path(""), kNeverDone);
  const SignalledRun run = signal_when(program, SIGTERM, is_there(work.path("note")));
  INFO(run.end.describe() << "\n" << run.err);
  CHECK(run.in_time);
  REQUIRE(run.end.exited);
  CHECK(run.end.code == 1);
  CHECK_THAT(run.err, Catch::Contains("stopped"));
  CHECK(lines_of(records).empty());
}

TEST_CASE("cli: of contests that a signal ends the records of those that were done stay", "[cli]") {
  const Workspace work;
  const std::string records = work.path("records.jsonl"), pipe = work.path("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);  // nobody writes the second matrix
  const Program program = contest(work.matrix(), records).with(pipe);
  const SignalledRun run = signal_when(program, SIGUSR1, [&](const std::string&) {
    return std::filesystem::exists(records) && says("\n")(read_file(records));
  });
  INFO(run.end.describe() << "\n" << run.err);
  CHECK(run.in_time);
  REQUIRE(run.end.exited);
  CHECK(run.end.code == 7);
  const auto lines = lines_of(records);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].at("matrix").at("name") == "matrix");
}

TEST_CASE("cli: waco-codegen that is stopped while it checks a kernel writes nothing", "[cli]") {
  const Workspace work;
  const Program program = waco_codegen()
                              .with("--schedule", kSerialCsr, work.matrix(), "-o", work.path("kernel.cpp"))
                              .use_compiler(work.path(""), kNeverDone);
  const SignalledRun run = signal_when(program, SIGTERM, is_there(work.path("note")));
  INFO(run.end.describe() << "\n" << run.err);
  CHECK(run.in_time);
  REQUIRE(run.end.exited);
  CHECK(run.end.code == 1);
  CHECK_THAT(only_error_line(program, run.err), Catch::Contains("stopped"));
  const std::vector<std::string> files = work.files();
  CHECK(std::set<std::string>(files.begin(), files.end()) ==
        std::set<std::string>{"bin", "cache", "matrix.mtx", "note"});
}

TEST_CASE("cli: a signal ends waco-index at once and leaves the index that was there", "[cli]") {
  const Workspace work;
  const std::string model = work.path("model"), index = work.path("index"), data = work.path("data");
  test::write_random_model(model, schedule::Op::kSpmv);
  std::filesystem::create_directory(data);
  const std::string dataset = train::testing::write_small_dataset(data, 1, 3);
  make_index(model, index, 50);
  const auto before = contents_of(index);
  for (const int signal : {SIGINT, SIGUSR1}) {
    // More vertices than are made in a moment.
    const SignalledRun run =
        signal_when(waco_index().with(model, "--dataset", dataset, "--vertices", "1000000", "-o", index),
                    signal, says("new vertices"));
    INFO(run.end.describe() << "\n" << run.err);
    CHECK(run.in_time);
    CHECK_FALSE(run.end.exited);
    CHECK(run.end.code == signal);
    CHECK(contents_of(index) == before);
  }
}
