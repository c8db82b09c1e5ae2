// Runs that are stopped or killed: what is on disk is whole, and what was found is reported.
#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <future>
#include <map>
#include <set>

#include "program.hpp"

using namespace waco;
using namespace waco::cli;
using nlohmann::json;

namespace {

/// Plan and kernel are whole or absent, and nothing else was left behind.
void check_outputs(const Workspace& work) {
  for (const std::string& name : work.files()) {
    INFO(name);
    CHECK((name == "matrix.mtx" || name == "plan.json" || name == "kernel.cpp" ||
           name.find(".tmp.") != std::string::npos));
    if (name == "plan.json") CHECK_NOTHROW(parse_file(work.path(name)));
    if (name == "kernel.cpp") {
      const std::string text = read_file(work.path(name));
      CHECK(text.substr(text.size() - 36).find("WACO_DECLARATIONS_ONLY */") != std::string::npos);
    }
  }
}

/// The budget ends the run, which has a verified answer.
json check_out_of_time(const Program& program) {
  json document = document_of(program);
  CHECK(document.at("complete") == false);
  CHECK(document.at("stopped_by") == "the time budget is spent");
  CHECK(document.at("best").at("verified") == true);
  return document;
}

}  // namespace

TEST_CASE("cli: a killed run leaves whole files or none, and the next run works", "[cli]") {
  Workspace work;
  const Program program = waco_tune().with(work.matrix(), "--op", "spmv", "--effort", "quick", "-o",
                                           work.path("plan.json"), "--emit", work.path("kernel.cpp"));
  for (const char* state : {"read in", "ranked "}) {
    const SignalledRun run = signal_when(program, SIGKILL, says(state));
    INFO(state << "\n" << run.err);
    CHECK(run.in_time);
    CHECK_FALSE(run.end.exited);
    CHECK_FALSE(std::filesystem::exists(work.path("plan.json")));
    check_outputs(work);
  }
  signal_when(program, SIGKILL, says("finalists and"));  // may end before
  check_outputs(work);
  // While the files are written, or just after.
  for (const char* part : {".tmp.", "plan.json", "kernel.cpp"}) {
    for (const std::string& name : work.files())
      if (name != "matrix.mtx") std::filesystem::remove(work.path(name));
    signal_when(program, SIGKILL, [&](const std::string&) {
      const auto names = work.files();
      return std::any_of(names.begin(), names.end(),
                         [&](const std::string& name) { return name.find(part) != std::string::npos; });
    });
    check_outputs(work);
  }
  // Between the two: nobody reads the kernel.
  const Workspace other;
  const std::string pipe = other.path("pipe"), plan = other.path("plan.json");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const SignalledRun run =
      signal_when(waco_tune().with(work.path("matrix.mtx"), "--op", "spmv", "--effort", "quick", "-o", plan,
                                   "--emit", pipe),
                  SIGKILL, [&](const std::string&) { return std::filesystem::exists(plan); });
  INFO(run.err);
  CHECK(run.in_time);
  CHECK(parse_file(plan).at("best").at("verified") == true);
  CHECK(program.run().ok());
}

TEST_CASE("cli: a stopped run reports its best so far as incomplete", "[cli]") {
  Workspace work;
  const std::string plan = work.path("plan.json");
  const Program program =
      waco_tune().with(work.matrix(600, 600, 0.02), "--op", "spmm", "--effort", "full", "-v", "-o", plan);
  const auto [signal, name] =
      GENERATE(table<int, const char*>({{SIGTERM, "SIGTERM"}, {SIGINT, "SIGINT"}, {SIGUSR1, "SIGUSR1"}}));
  for (const char* state : {"ranked ", "measured 3:"}) {
    std::filesystem::remove(plan);
    const SignalledRun run = signal_when(program, signal, says(state));
    INFO(state << " " << run.end.describe() << "\n" << run.err);
    CHECK(run.in_time);
    REQUIRE(run.end.exited);
    const json document = parse_file(plan);
    CHECK(document.at("complete") == false);
    CHECK(document.at("stopped_by") == name);
    CHECK(run.end.code == (document.at("best").is_null() ? 1 : 0));
    if (!document.at("best").is_null()) CHECK(document.at("best").at("verified") == true);
    if (std::string(state) != "ranked ") CHECK_FALSE(document.at("best").is_null());
  }
}

TEST_CASE("cli: a list that is killed or stopped goes on with what is missing", "[cli]") {
  const Workspace work;
  std::string text;
  for (int n = 20; n < 25; ++n) text += fmt::format("synthetic: stencil2d n={}\n", n);
  const std::string results = work.path("results.jsonl");
  const Program program = waco_tune().with("--list", work.write("list", text), "--op", "spmv", "--model",
                                           "none", "--effort", "quick", "-o", results);
  const int signal = GENERATE(SIGKILL, SIGTERM, SIGINT);
  const SignalledRun run = signal_when(program, signal, [&](const std::string&) {
    return std::filesystem::exists(results) && says("\n")(read_file(results));
  });
  INFO(run.err);
  REQUIRE(run.in_time);
  if (signal != SIGKILL) CHECK(run.end.code == 7);
  run_well(program);
  std::map<std::string, int> done;
  for (const json& line : lines_of(results))
    if (line.at("status") == "done") ++done[line.at("input").get<std::string>()];
  CHECK(done.size() == 5);
  for (const auto& [input, count] : done) CHECK(count == 1);
}

TEST_CASE("cli: a signal ends a run that waits for the other end of a pipe", "[cli]") {
  const Workspace work;
  const std::string matrix = work.matrix();
  std::vector<std::string> pipes;
  for (const char* name : {"tuned", "list", "plan", "codegen"}) {
    pipes.push_back(work.path(name));
    REQUIRE(::mkfifo(pipes.back().c_str(), 0600) == 0);
  }
  // The signal comes after the seconds in which the program begins to wait: in which they all do.
  std::vector<std::pair<std::string, std::future<RunResult>>> runs;
  const auto stopped = [&](const Program& program, const std::string& line) {
    runs.emplace_back(line, std::async(std::launch::async, [=] { return run_by_shell(program, line); }));
  };
  const auto tuned = [](const std::string& input) {
    return waco_tune().with("--op", "spmv", "--effort", "none", input);
  };
  const auto within = [](const char* signal) {
    return fmt::format("timeout -k 10 -s {} --preserve-status 5 \"$@\"", signal);
  };
  stopped(tuned("-"), fmt::format("(head -c 60 '{}'; exec sleep 8) | {}", matrix, within("TERM")));
  stopped(tuned(pipes[0]), within("USR1"));
  stopped(waco_tune().with("--op", "spmv", "--list", pipes[1]), within("INT"));
  stopped(tuned(matrix).with("-o", pipes[2]), within("TERM"));
  stopped(waco_codegen().with(pipes[3]), within("TERM"));
  for (auto& [line, ended] : runs) {
    const RunResult run = ended.get();
    INFO(line << "\n" << run.err);
    CHECK(run.end.code == 1);
    CHECK(run.err.find("stopped (SIG") != std::string::npos);
    CHECK(run.out.empty());
  }
}

TEST_CASE("cli: a run that was stopped before it found a plan leaves an older one", "[cli]") {
  Workspace work;
  const std::string plan = work.path("plan.json");
  REQUIRE(waco_tune().with(work.matrix(), "--op", "spmv", "--effort", "none", "-o", plan).run().ok());
  const std::string content = read_file(plan);
  Program program = waco_tune()
                        .with(work.matrix(), "--op", "spmv", "-o", plan)
                        .use_compiler(work.path(""), "is_kernel && sleep 20");
  const bool stays_on_csr = GENERATE(false, true);  // which is verified where it is written
  if (stays_on_csr) program.with("--calls", "1", "--emit", work.path("kernel.cpp"));
  const SignalledRun run = signal_when(program, SIGTERM, says(stays_on_csr ? "forecasts" : "ranked "));
  INFO(run.err);
  CHECK(run.in_time);
  CHECK(run.end.code == 1);
  CHECK(run.err.find("was left as it was") != std::string::npos);
  CHECK(read_file(plan) == content);
}

TEST_CASE("cli: a run whose last rounds of neighbours the budget left out says so", "[cli]") {
  Workspace work;
  Program program = waco_tune().with(work.matrix(), "--op", "spmv", "--top", "2", "--model", "none",
                                     "--budget", "8", "--json");
  // Neighbours compile until the time for them is over.
  program.use_compiler(work.path(""), R"(is_kernel && echo x >> "$NOTE" &&
    { [ $(wc -l < "$NOTE") -le 4 ] || sleep 7; })");
  const json document = check_out_of_time(program);
  const auto num_compiled = std::ranges::count(read_file(work.path("note")), '\n');
  INFO(num_compiled << " kernels\n" << document.at("stages_s").dump());
  // The check for OpenMP, fixed_csr, two candidates and a neighbour; unless the time for neighbours, three
  // quarters of all, had gone before.
  CHECK((num_compiled > 4 || document.at("stages_s").at("total").get<double>() > 5));
}

TEST_CASE("cli: a spent budget still answers with fixed_csr or better", "[cli]") {
  Workspace work;
  check_out_of_time(waco_tune().with(work.matrix(), "--op", "spmv", "--budget", "0.001", "--json"));
}

TEST_CASE("cli: what the machine kept from being compiled is done again", "[cli]") {
  const Workspace work;
  const std::string results = work.path("results.jsonl"), list = work.write("list", work.matrix() + "\n");
  Program program = waco_tune().with("--list", list, "--model", "none", "-o", results);
  for (const char* split : {"2", "4", "8"})
    program.with(
        fmt::format("--schedule=spmv f32 | A: i1:U k:C i0:U [i/{}] | loop: i1 k i0 | par: serial", split));
  // The check for OpenMP, fixed_csr and a candidate are compiled; then the disk is full, until there is room.
  program.use_compiler(work.path(""), R"(if is_kernel; then
    for n in 1 2 3; do mkdir "$NOTE.$n" 2> /dev/null && exec c++ "$@"; done
    test -e "$NOTE.room" || { echo 'as: No space left on device' >&2; exit 1; }
  fi)");
  const RunResult full = program.run();
  INFO(full.err);
  CHECK(full.end.code == 1);
  CHECK(full.err.find("1 cut short by the machine") != std::string::npos);
  const json cut = lines_of(results).back();
  CHECK(cut.at("machine_failed") == true);
  CHECK_THAT(cut.at("stopped_by").get<std::string>(), Catch::Contains("No space left"));
  CHECK(cut.at("best").at("verified") == true);
  for (const json& candidate : cut.at("candidates")) CHECK(candidate.at("status") != "compile");

  work.write("note.room", "");
  const RunResult again = program.run();
  INFO(again.err);
  CHECK(again.end.code == 0);
  CHECK(lines_of(results).back().at("complete") == true);
}

TEST_CASE("cli: without a cache folder the inputs of a list share their kernels", "[cli]") {
  const Workspace work;
  const std::string list = work.write("list", "synthetic: stencil2d n=20\nsynthetic: stencil2d n=21\n");
  Program program = waco_tune().with("--list", list, "--op", "spmv", "--model", "none");
  program.with("--schedule", "spmv f32 | A: i:U k:C | loop: i k | par: i static x2");
  program.use_compiler(work.path(""), "is_kernel && echo x >> \"$NOTE\"");
  program.environment("XDG_CACHE_HOME", "/dev/null").environment("TMPDIR", work.path(""));
  const RunResult run = program.run();
  INFO(run.err);
  CHECK(run.ok());
  const std::string compiled = read_file(work.path("note"));
  CHECK(std::count(compiled.begin(), compiled.end(), 'x') ==
        3);  // a check for OpenMP, fixed_csr and the point
  const std::vector<std::string> files = work.files();
  CHECK(std::set<std::string>(files.begin(), files.end()) == std::set<std::string>{"bin", "list", "note"});
}

TEST_CASE("cli: a list ends where the machine fails, and goes on where an input does", "[cli]") {
  const Workspace work;
  const std::string results = work.path("results.jsonl");
  const std::string list = work.write("list", work.matrix() + "\nsynthetic: stencil2d n=20\n");
  Program program = waco_tune()
                        .with("--list", list, "--op", "spmv", "--model", "none")
                        .with("--effort", "quick", "-o", results);

  SECTION("the compiler finds the disk full") {
    program.use_compiler(work.path(""), R"(is_kernel && ! is_openmp_check &&
      { echo 'as: No space left on device' >&2; exit 1; })");
    const RunResult run = program.run();
    INFO(run.err);
    CHECK(run.end.code == 1);
    CHECK_THAT(run.err, Catch::Contains("free disk space") && Catch::Contains("ended early") &&
                            Catch::Contains("0 of 2 inputs tuned"));
    CHECK(lines_of(results).empty());
  }
  SECTION("the worker is missing") {
    const RunResult run = program.copied_to(work.path("bin")).run();
    INFO(run.err);
    CHECK(run.end.code == 1);
    CHECK(run.err.find("waco-worker is missing") == run.err.rfind("waco-worker is missing"));
    CHECK_THAT(run.err, Catch::Contains("waco-worker is missing") && Catch::Contains("ended early"));
    CHECK(lines_of(results).empty());
  }
  SECTION("the compiler of fixed_csr was killed, as where the first input leaves it no memory") {
    program.use_compiler(work.path(""), R"(is_kernel && ! is_openmp_check &&
      mkdir "$NOTE" 2> /dev/null && kill -KILL $$)");
    const RunResult run = program.run();
    INFO(run.err);
    CHECK(run.end.code == 6);
    const std::vector<json> lines = lines_of(results);
    REQUIRE(lines.size() == 2);
    CHECK(lines[0].at("status") == "failed");
    CHECK_THAT(lines[0].at("error").get<std::string>(), Catch::Contains("free memory"));
    CHECK(lines[1].at("status") == "done");
  }
}

TEST_CASE("cli: a machine that fails in mid-run leaves what was verified", "[cli]") {
  const Workspace work;
  const std::string plan = work.path("plan.json");
  Program program = waco_tune().copied_to(work.path("bin"));
  program.with(work.matrix(), "--model", "none", "-o", plan);
  for (const char* split : {"2", "4", "8"})
    program.with(
        fmt::format("--schedule=spmv f32 | A: i1:U k:C i0:U [i/{}] | loop: i1 k i0 | par: serial", split));
  // The third kernel that a worker loads, fixed_csr's being the first, ends it; and no worker starts again.
  program.use_compiler(work.path(""), R"(is_kernel && cat >> "$source" <<END
#include <fcntl.h>
#include <unistd.h>
__attribute__((constructor)) static void count_loads() {
  const int file = open("$NOTE", O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (write(file, "x", 1) != 1 || lseek(file, 0, SEEK_CUR) == 3) __builtin_trap();
  close(file);
}
END)");
  write_script(work.path("bin"), "waco-worker",
               "mkdir \"$NOTE.started\" || exit 1\nexec '" WACO_BIN_DIR "/waco-worker'\n");
  const RunResult run = program.run();
  INFO(run.err);
  CHECK(run.end.code == 4);  // by hand, and it crashed
  const json document = parse_file(plan);
  CHECK(document.at("complete") == false);
  CHECK(document.at("machine_failed") == true);
  CHECK(document.at("stopped_by").get<std::string>().find("fixed_csr worked before") != std::string::npos);
  CHECK(document.at("best").at("verified") == true);
  std::multiset<std::string> statuses;
  for (const json& candidate : document.at("candidates")) statuses.insert(candidate.at("status"));
  CHECK(statuses == std::multiset<std::string>{"crash", "not measured", "ok"});
}

TEST_CASE("cli: a run whose reader has gone leaves no temporary kernels", "[cli]") {
  const Workspace work;
  std::filesystem::create_directory(work.path("tmp"));
  Program program =
      waco_tune().with("--op", "spmv", "--model", "none", "--jsonl", "synthetic: stencil2d n=20");
  program.with(work.matrix()).with("--schedule", "spmv f32 | A: i:U k:C | loop: i k | par: serial");
  program.environment("XDG_CACHE_HOME", "/dev/null").environment("TMPDIR", work.path("tmp"));
  const ProcessEnd end = run_into_closed(program);
  INFO(end.describe());
  CHECK((!end.exited && end.code == SIGPIPE));
  CHECK(std::filesystem::is_empty(work.path("tmp")));
}
