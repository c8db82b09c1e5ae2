// Results of a list: what counts as one when the list is continued.
#include "waco/tune/result_file.hpp"

#include <catch2/catch.hpp>

#include "waco/base/error.hpp"
#include "waco/base/file_replacement.hpp"
#include "waco/base/files.hpp"

using namespace waco;
using namespace waco::tune;

namespace {

TuneOptions spmv_options() {
  TuneOptions options;
  options.problem = {schedule::Op::kSpmv, schedule::ValueType::kF32, 1};
  options.no_compile = true;  // asks no compiler
  return options;
}

/// Whether a run that continues the file would leave the input out.
bool holds_after(const nlohmann::json& keys) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "results.jsonl";
  const TuneOptions options = spmv_options();
  const Machine machine = describe_machine();
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

TEST_CASE("result_file: a line of wrong types is refused with its place", "[tune]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "results.jsonl";
  auto line = listed_document({"a.mtx", {}, nullptr}, spmv_options(), "waco-tune", "...");
  line["status"] = 1;
  write_file_atomically(file, line.dump() + "\n");
  CHECK_THROWS_AS(ResultFile(file, describe_machine()), InputError);
  CHECK_THROWS_WITH(ResultFile(file, describe_machine()), Catch::Contains("results.jsonl:1"));
}

TEST_CASE("result_file: names that are no UTF-8 are told apart", "[tune]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "results.jsonl";
  const TuneOptions options = spmv_options();
  const Machine machine = describe_machine();
  ResultFile(file, machine)
      .append(listed_document({"bad\xff.mtx", {}, nullptr}, options, "waco-tune", "..."));
  const ResultFile results(file, machine);
  CHECK(results.holds("bad\xff.mtx", options));
  CHECK_FALSE(results.holds("bad\xfe.mtx", options));
  CHECK_THAT(read_file(file), Catch::Contains(R"("input":"bad\\xff.mtx")"));
}

TEST_CASE("result_file: results of a list are told from other files", "[tune]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "results.jsonl";
  CHECK_FALSE(holds_results_of_list(file));
  CHECK_FALSE(holds_results_of_list(folder.path()));
  CHECK_FALSE(holds_results_of_list("/dev/null"));
  for (const char* other : {"", "of mine\n", "[1]\n", "{\n \"format\": \"waco-plan\"\n}\n"}) {
    write_file_atomically(file, other);
    CHECK_FALSE(holds_results_of_list(file));
  }
  write_file_atomically(file, "");
  ResultFile(file, describe_machine())
      .append(listed_document({"a.mtx", {}, nullptr}, spmv_options(), "waco-tune", "waco-tune ..."));
  CHECK(holds_results_of_list(file));
}

TEST_CASE("result_file: an input is done again where another thing was asked, and only there", "[tune]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "results.jsonl";
  const Machine machine = describe_machine();
  TuneOptions base = spmv_options();
  base.threads = 2;
  {
    ResultFile results(file, machine);
    results.append(listed_document({"a.mtx", {}, nullptr}, base, "waco-tune", "waco-tune ..."));
    const auto again = [&](const auto& change) {
      TuneOptions options = base;
      change(options);
      return !results.holds("a.mtx", options);
    };
    CHECK(again([](TuneOptions& o) { o.problem.type = schedule::ValueType::kF64; }));
    CHECK(again([](TuneOptions& o) { o.problem = {schedule::Op::kSpmm, schedule::ValueType::kF32, 8}; }));
    CHECK(again([](TuneOptions& o) { o.threads = 1; }));
    CHECK(again([](TuneOptions& o) { o.calls = 9; }));
    CHECK(again([](TuneOptions& o) { o.search = "tpe"; }));
    CHECK(again([](TuneOptions& o) { o.subspace = schedule::Subspace::kFormat; }));
    CHECK(again([](TuneOptions& o) { o.no_compile = !o.no_compile; }));
    CHECK_FALSE(again([](TuneOptions& o) {
      o.top = 3;
      o.budget_s = 1;
      o.max_fill = 2;
      o.seed = 9;
      o.compiler = "x";
    }));
  }
  Machine other = machine;
  other.cpu_model += "x";
  CHECK_THROWS_WITH(ResultFile(file, other), Catch::Contains("another machine"));
}

TEST_CASE("result_file: a result answers only what was asked", "[tune]") {
  const TemporaryFolder folder;
  ResultFile results(folder.path() / "results.jsonl", describe_machine());
  const TuneOptions searched = spmv_options();
  TuneOptions checked = searched, given = searched, other = searched;
  checked.effort = Effort::kNone;
  TuneOptions ranked = checked;
  checked.check = true;
  given.points = {schedule::parse("spmv f32 | A: i:U k:C | loop: i k | par: serial")};
  other.points = {schedule::csr_point(searched.problem, 2)};
  const std::vector<TuneOptions> all{searched, ranked, checked, given, other};
  for (size_t done = 0; done < all.size(); ++done) {
    results.append(listed_document({"a.mtx", {}, nullptr}, all[done], "waco-tune", "waco-tune ..."));
    for (size_t n = 0; n < all.size(); ++n) {
      INFO(done << " " << n);
      CHECK(results.holds("a.mtx", all[n]) == (n <= done));
    }
  }
}
