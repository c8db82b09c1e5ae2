// Collections that are killed or stopped, and go on.
#include <signal.h>

#include <chrono>
#include <cstdlib>

#include "collection.hpp"

using namespace waco;
using namespace waco::cli;

namespace {

std::string content(const std::string& file) {
  return std::filesystem::exists(file) ? read_file(file) : "";
}

/// Starts the program and kills it, and its workers, after `delay_s`; true when it had ended before. A signal
/// asks for an orderly end, or finds a program that has not touched `output` yet.
bool run_and_kill(const Program& program, const std::string& output, int signal, double delay_s) {
  const std::string before = content(output);
  ChildProcess::Options options;
  options.environment = program.environment();
  ChildProcess child(program.arguments(), options);
  if (child.wait(delay_s)) return true;
  ::kill(child.pid(), signal);
  const auto end = child.wait(60);
  REQUIRE(end.has_value());
  if (signal != SIGKILL && end->exited) CHECK(end->code == 0);
  if (signal != SIGKILL && !end->exited) CHECK(content(output) == before);
  return false;
}

}  // namespace

TEST_CASE("cli: killed collections end as one that was not", "[cli]") {
  // More kills: WACO_KILLS=50 cli_tests "cli: killed collections*"
  const char* wanted = std::getenv("WACO_KILLS");
  const int num_kills = wanted != nullptr ? std::atoi(wanted) : 5;
  Workspace work;
  const std::vector<std::string> files = matrices(work);
  const std::string whole = work.path("whole.jsonl");
  REQUIRE(spmv_collection(files, whole).run().ok());  // compiles
  std::filesystem::remove(whole);
  const auto start = std::chrono::steady_clock::now();
  REQUIRE(spmv_collection(files, whole).run().ok());
  const double duration_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const Outline expected = outline_of(records_of(whole));

  Random random(static_cast<uint64_t>(num_kills));
  int num_cut = 0;
  for (int kill = 0; kill < num_kills; ++kill) {
    const std::string output = work.path(fmt::format("killed{}.jsonl", kill));
    const Program program = spmv_collection(files, output);
    const double delay_s = duration_s * random.uniform();
    INFO("kill " << kill << " after " << delay_s << " of " << duration_s << " s");
    num_cut += run_and_kill(program, output, SIGKILL, delay_s) ? 0 : 1;
    const size_t num_before = std::filesystem::exists(output) ? records_of(output, true).size() : 0;
    REQUIRE(program.run().ok());
    const std::vector<json> records = records_of(output);
    CHECK(records.size() >= num_before);
    const Outline outline = outline_of(records);
    CHECK(outline.num_doubled == 0);
    CHECK(outline.counts == expected.counts);
    CHECK(outline.keys == expected.keys);
  }
  CHECK(num_cut > 0);
}

TEST_CASE("cli: a signal ends a collection with whole records and code 0", "[cli]") {
  Workspace work;
  const std::string output = work.path("data.jsonl");
  const Program program = spmv_collection(matrices(work), output);
  const int signal = GENERATE(SIGTERM, SIGUSR1, SIGINT);
  int num_cut = 0;
  for (const double delay_s : {0.05, 0.1, 0.2}) {
    num_cut += run_and_kill(program, output, signal, delay_s) ? 0 : 1;
    if (std::filesystem::exists(output)) CHECK(outline_of(records_of(output)).num_doubled == 0);
  }
  CHECK(num_cut > 0);
  REQUIRE(program.run().ok());
  CHECK(records_of(output).size() == 60);
}
