// Results of a list: what counts as one when the list is continued.
#include "waco/tune/result_file.hpp"

#include <catch2/catch.hpp>

#include "waco/base/files.hpp"

using namespace waco;
using namespace waco::tune;

namespace {

/// Whether a run that continues the file would leave the input out.
bool holds_after(const nlohmann::json& keys) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "results.jsonl";
  TuneOptions options;
  options.problem = {schedule::Op::kSpmv, schedule::ValueType::kF32, 1};
  options.no_compile = true;  // asks no compiler
  const Machine machine = describe_machine("");
  auto line = listed_document({"a.mtx", {}, nullptr}, options, "waco-tune", "waco-tune ...");
  line.update(nlohmann::ordered_json(keys));
  bool holds = false;
  {
    ResultFile results(file, machine);
    results.append(line);
    CHECK_FALSE(results.holds("b.mtx", options));
    holds = results.holds("a.mtx", options);
  }
  CHECK(ResultFile(file, machine).holds("a.mtx", options) == holds);
  return holds;
}

}  // namespace

TEST_CASE("result_file: what failed, or was cut short by a fault of the machine, is done again", "[tune]") {
  CHECK(holds_after({{"status", "done"}}));
  CHECK(holds_after({{"status", "done"}, {"complete", false}, {"machine_failed", false}}));
  CHECK_FALSE(holds_after({{"status", "done"}, {"complete", false}, {"machine_failed", true}}));
  CHECK_FALSE(holds_after({{"status", "failed"}}));
}
