// Checks many random legal points of every op and type against the reference: the long form of the kernel
// tests. A point that crashes its process is reported like a wrong one and the sweep goes on.
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdio>
#include <filesystem>

#include "point_check.hpp"
#include "waco/base/command_line.hpp"
#include "waco/base/shard.hpp"

namespace {

using namespace waco;

struct Options {
  int64_t points = 20000;
  uint64_t seed = 1;
  std::string shard = "0/1";
  std::string op;
};

/// What the children report to the parent, in shared memory.
struct Board {
  std::atomic<int64_t> current;
  std::atomic<int64_t> failures;
};

void check_from(const Options& options, int64_t begin, int64_t step, Board& board) {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("waco-sweep-{}", getpid());
  {
    const measure::KernelCache cache(measure::Compiler::find(), folder);
    for (int64_t n = begin; n < options.points; n += step) {
      board.current = n;
      const codegen::Case each = codegen::random_case(options.seed, n, options.op);
      const std::string wrong = codegen::check_point(each.point, each.tensor, cache);
      if (wrong.empty()) continue;
      ++board.failures;
      fmt::print("FAIL {} on {}x{}{}, {} nonzeros\n  {}\n  {}\n", n, each.tensor.dims[0], each.tensor.dims[1],
                 each.tensor.order() == 3 ? fmt::format("x{}", each.tensor.dims[2]) : "",
                 each.tensor.num_nonzeros(), schedule::to_text(each.point), wrong);
      std::fflush(stdout);
    }
    board.current = options.points;
  }
  std::filesystem::remove_all(folder);
}

ExitCode run(const Options& options) {
  const Shard shard = parse_shard(options.shard);
  void* memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto& board = *new (memory) Board{};
  for (int64_t begin = shard.index; begin < options.points;) {
    board.current = begin;
    const pid_t child = fork();
    if (child == 0) {
      check_from(options, begin, shard.count, board);
      std::fflush(stdout);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (board.current >= options.points) break;
    const codegen::Case each = codegen::random_case(options.seed, board.current, options.op);
    ++board.failures;
    fmt::print("CRASH {} ({})\n  {}\n", board.current.load(), status, schedule::to_text(each.point));
    std::fflush(stdout);
    begin = board.current + shard.count;
  }
  const int64_t checked = (options.points - shard.index + shard.count - 1) / shard.count;
  fmt::print("{} points checked, {} failed\n", checked, board.failures.load());
  return board.failures == 0 ? ExitCode::kDone : ExitCode::kFailed;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Checks random points of the schedule space against the reference"};
  Options options;
  app.add_option("--points", options.points, "how many points, over all shards")->capture_default_str();
  app.add_option("--seed", options.seed)->capture_default_str();
  app.add_option("--shard", options.shard, "I/N: the I-th (from 0) of N equal parts")->capture_default_str();
  app.add_option("--op", options.op, "only this op");
  CLI11_PARSE(app, argc, argv);
  return guarded_main("kernel_sweep", [&] { return run(options); });
}
