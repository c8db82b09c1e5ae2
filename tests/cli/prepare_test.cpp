// Kernels compiled ahead by the real program.
#include <filesystem>
#include <sstream>

#include "../model/learned/random_model.hpp"
#include "program.hpp"

using namespace waco;
using namespace waco::cli;

namespace {

size_t num_kernels(const Workspace& work) {
  size_t count = 0;
  for (const auto& file : std::filesystem::directory_iterator(work.path("cache/waco/kernels")))
    count += file.path().extension() == ".so" ? 1 : 0;
  return count;
}

/// Lines that begin with `text`.
int num_lines(const std::string& output, const std::string& text) {
  int count = 0;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) count += line.starts_with(text) ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("cli: kernels are compiled ahead once", "[cli]") {
  const Workspace work;
  const RunResult first = prepare(work, "3").run();
  INFO(first.err);
  REQUIRE(first.ok());
  CHECK(first.out.empty());
  CHECK(num_lines(first.err, "waco-tune: 3 kernels compiled") == 1);
  CHECK(num_kernels(work) == 4);  // and the one that shows that the compiler can do OpenMP
  const RunResult second = prepare(work, "3").run();
  INFO(second.err);
  REQUIRE(second.ok());
  CHECK(num_lines(second.err, "waco-tune: 0 kernels compiled") == 1);
  CHECK(second.err.find(" 3 were there") != std::string::npos);
}

TEST_CASE("cli: compiling ahead that is stopped keeps its kernels, and the next run makes the others",
          "[cli]") {
  const Workspace work;
  // The first kernel is compiled, the others only once `go` is there.
  const Program program = prepare(work, "3").use_compiler(work.path(""), R"(is_kernel && ! is_openmp_check &&
        ! test -e "$NOTE.go" && ! mkdir "$NOTE.first" 2> /dev/null && { : > "$NOTE"; exec sleep 50; })");
  const SignalledRun run = signal_when(program, SIGTERM, [&](const std::string&) {
    return std::filesystem::exists(work.path("note")) && num_kernels(work) == 2;
  });
  INFO(run.end.describe() << "\n" << run.err);
  CHECK(run.in_time);
  REQUIRE(run.end.exited);
  CHECK(run.end.code == 7);
  CHECK(num_kernels(work) == 2);

  work.write("note.go", "");
  const RunResult next = program.run();
  INFO(next.err);
  CHECK(next.ok());
  CHECK(num_lines(next.err, "waco-tune: 2 kernels compiled") == 1);
  CHECK(num_kernels(work) == 4);
}

TEST_CASE("cli: kernels that fail are told of, and leave the pack incomplete", "[cli]") {
  const Workspace work;
  // Compiles the check for OpenMP, and sources without $FAILS.
  const auto failing = [&](Program program, const std::string& which, const std::string& fault) {
    return program
        .use_compiler(work.path(""), R"(is_kernel && ! is_openmp_check && grep -q "$FAILS" "$source" &&
          { echo "error: $FAULT" >&2; exit 1; })")
        .environment("FAILS", which)
        .environment("FAULT", fault)
        .run();
  };
  const RunResult none = failing(prepare(work, "3"), "waco_kernel", "no such luck");
  INFO(none.err);
  CHECK(none.end.code == 1);
  CHECK(none.err.find("3 of 3 kernels failed to compile, the first with: error: no such luck") !=
        std::string::npos);

  // The other ops are not tried on a machine that fails.
  const RunResult full = failing(waco_tune().with("--prepare", "2", "--model", "none"), "waco_kernel",
                                 "No space left on device");
  INFO(full.err);
  CHECK(full.end.code == 1);
  CHECK(num_lines(full.err, "waco-tune: 0 kernels compiled") == 1);
  CHECK(full.err.find("the rest was not tried") != std::string::npos);

  // All but fixed_csr.
  const RunResult some = failing(prepare(work, "3"), "define WACO_OP_SPMV", "no such luck");
  INFO(some.err);
  CHECK(some.end.code == 6);
  CHECK(some.err.find("waco-tune: 2 kernels compiled") != std::string::npos);
  CHECK(some.err.find("1 of 3 kernels failed to compile") != std::string::npos);
}

TEST_CASE("cli: without an op kernels of every op are compiled ahead", "[cli]") {
  const Workspace work;
  const RunResult run = waco_tune()
                            .with("--prepare", "2", "--model", "none")
                            .environment("XDG_CACHE_HOME", work.path("cache"))
                            .run();
  INFO(run.err);
  REQUIRE(run.ok());
  for (const char* problem :
       {"spmv f32:", "spmm f32 J=256:", "sddmm f32 K=256:", "mttkrp f32 J=16:", "spmm f32 J=32:"})
    CHECK(num_lines(run.err, std::string("waco-tune: ") + problem) == 1);
  CHECK(num_lines(run.err, "waco-tune: 2 kernels compiled") == 5);
}

TEST_CASE("cli: of a folder of models kernels of the ops that it has are compiled ahead", "[cli]") {
  const Workspace work;
  test::write_random_model(work.path("models/spmv"), schedule::Op::kSpmv);
  const RunResult run = waco_tune()
                            .with("--prepare", "2", "--model", work.path("models"))
                            .environment("XDG_CACHE_HOME", work.path("cache"))
                            .run();
  INFO(run.err);
  REQUIRE(run.ok());
  CHECK(num_lines(run.err, "waco-tune: 2 kernels compiled") == 1);
  CHECK(run.err.find("mttkrp f32 J=16: left out, as " + work.path("models")) != std::string::npos);
}

TEST_CASE("cli: compiling ahead takes no matrix, and a size or model only with an op", "[cli]") {
  const Workspace work;
  check_refused(prepare(work, "3").with(work.matrix()), 2, "no matrix");
  check_refused(prepare(work, "0"), 2, "--prepare");
  check_refused(prepare(work, "3").with("-o", work.path("plan.json")), 2, "excludes");
  check_refused(prepare(work, "3").with("--effort", "full"), 2, "excludes");
  check_refused(waco_tune().with("--prepare", "3", "--rhs", "8"), 2, "--op");
  const std::string model = work.path("models/spmv");
  test::write_random_model(model, schedule::Op::kSpmv);
  check_refused(waco_tune().with("--prepare", "3", "--model", model), 2, "--op");
  // A folder of models would do.
  check_refused(waco_tune().with("--prepare", "3", "--model", work.path("absent")), 3, "absent");
}

TEST_CASE("cli: a limit of the kernel cache that is not a number is refused", "[cli]") {
  const Workspace work;
  check_refused(prepare(work, "3").environment("WACO_KERNEL_CACHE_MB", "lots"), 2, "WACO_KERNEL_CACHE_MB");
}
