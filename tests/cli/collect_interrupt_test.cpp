// Collections that are killed or stopped, and go on.
#include <cstdlib>

#include "collection.hpp"

using namespace waco;
using namespace waco::cli;

TEST_CASE("cli: killed collections end as one that was not", "[cli]") {
  // More kills: WACO_KILLS=50 cli_tests "cli: killed collections*"
  const char* wanted = std::getenv("WACO_KILLS");
  const int num_kills = wanted != nullptr ? std::atoi(wanted) : 5;
  Workspace work;
  const std::vector<std::string> files = matrices(work);
  const std::string whole = work.path("whole.jsonl");
  REQUIRE(spmv_collection(files, whole).run().ok());
  const auto whole_bytes = static_cast<double>(std::filesystem::file_size(whole));
  const Outline expected = outline_of(records_of(whole));

  Random random(static_cast<uint64_t>(num_kills));
  for (int kill = 0; kill < num_kills; ++kill) {
    const std::string output = work.path(fmt::format("killed{}.jsonl", kill));
    const Program program = spmv_collection(files, output);
    const double share = 0.9 * random.uniform();
    INFO("kill " << kill << " after " << share << " of the file");
    const SignalledRun run = signal_when(program, SIGKILL, [&](const std::string&) {
      std::error_code none_yet;
      const auto bytes = std::filesystem::file_size(output, none_yet);
      return !none_yet && bytes > 0 && static_cast<double>(bytes) >= share * whole_bytes;
    });
    CHECK(run.in_time);
    const size_t num_before = records_of(output, true).size();
    REQUIRE(program.run().ok());
    const std::vector<json> records = records_of(output);
    CHECK(records.size() >= num_before);
    const Outline outline = outline_of(records);
    CHECK(outline.num_doubled == 0);
    CHECK(outline.counts == expected.counts);
    CHECK(outline.keys == expected.keys);
  }
}

TEST_CASE("cli: a signal ends a collection with whole records and code 7", "[cli]") {
  Workspace work;
  const std::string output = work.path("data.jsonl");
  const Program program = spmv_collection(matrices(work), output);
  const auto [signal, name] =
      GENERATE(table<int, const char*>({{SIGTERM, "SIGTERM"}, {SIGUSR1, "SIGUSR1"}, {SIGINT, "SIGINT"}}));
  const SignalledRun run = signal_when(program, signal, [&](const std::string&) {
    return std::filesystem::exists(output) && says("\"stratum\"")(read_file(output));
  });
  INFO(run.end.describe() << "\n" << run.err);
  CHECK(run.in_time);
  REQUIRE(run.end.exited);
  CHECK(run.end.code == 7);
  CHECK_THAT(run.err, Catch::Contains(fmt::format("stopped ({})", name)));
  const std::vector<json> records = records_of(output);
  CHECK(records.size() < 60);
  CHECK(outline_of(records).num_doubled == 0);
  REQUIRE(program.run().ok());
  CHECK(records_of(output).size() == 60);
}
