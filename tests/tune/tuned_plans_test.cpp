// Plans read back: one for any matrix, or one a matrix.
#include "waco/tune/tuned_plans.hpp"

#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "waco/base/error.hpp"
#include "waco/base/files.hpp"

using namespace waco;
using namespace waco::tune;
using nlohmann::json;

namespace {

const schedule::Problem kSpmv{schedule::Op::kSpmv, schedule::ValueType::kF32, 1};
const char* const kSerial = "spmv f32 | A: i:U k:C | loop: i k | par: serial";
const char* const kStatic = "spmv f32 | A: i:U k:C | loop: i k | par: i static x2";
const char* const kSpmm = "spmm f32 J=32 | A: i:U k:C | loop: i k j | par: i static x2";

json document(const std::string& plan, const std::string& hash) {
  return {{"format", "waco-plan"},
          {"version", 1},
          {"matrix", {{"name", "m"}, {"hash", hash}}},
          {"threads", 2},
          {"effort", "quick"},
          {"cost_model", "closed-form"},
          {"search", "neighbours"},
          {"parts", json::array({{{"plan", plan}, {"nnz", 5}}})},
          {"best", {{"plan", plan}, {"is_baseline", false}}}};
}

std::string line(const std::string& input, const std::string& plan, const std::string& hash,
                 int threads = 2) {
  json listed = document(plan, hash);
  listed["input"] = input;
  listed["threads"] = threads;
  return listed.dump() + "\n";
}

std::string failure(const std::string& input, const std::string& error) {
  return json{{"format", "waco-plan"},
              {"version", 1},
              {"input", input},
              {"status", "failed"},
              {"error", error}}
             .dump() +
         "\n";
}

TunedPlans read(const std::string& content) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "plans.jsonl";
  std::ofstream(file) << content;
  return TunedPlans::read(file);
}

std::string found(const TunedPlans& plans, const std::string& input, const std::string& hash,
                  int threads = 2) {
  return schedule::to_text(plans.find(input, hash, kSpmv, threads).point.value());
}

}  // namespace

TEST_CASE("tuned_plans: a plan document of one matrix is for any matrix", "[tune]") {
  for (const int indent : {2, -1}) {
    const TunedPlans plans = read(document(kStatic, "aa").dump(indent) + "\n");
    CHECK(plans.problems() == std::vector<schedule::Problem>{kSpmv});
    CHECK(found(plans, "other.mtx", "bb") == kStatic);
    const TunedPlan& plan = plans.find("other.mtx", "bb", kSpmv, 2);
    CHECK(plan.effort == "quick");
    CHECK(plan.cost_model == "closed-form");
    CHECK_FALSE(plan.is_baseline);
  }
}

TEST_CASE("tuned_plans: a line of a list is for matrices of its pattern, the last one counts", "[tune]") {
  const TunedPlans plans =
      read(line("a.mtx", kSerial, "aa") + line("b.mtx", kSerial, "bb") + failure("c.mtx", "no such file") +
           line("a.mtx", kStatic, "aa") + line("a.mtx", kSpmm, "aa"));
  CHECK(plans.problems().size() == 2);
  CHECK(found(plans, "a.mtx", "aa") == kStatic);
  CHECK(found(plans, "moved/a.mtx", "aa") == kStatic);
  CHECK(found(plans, "b.mtx", "bb") == kSerial);
  CHECK_THROWS_WITH(found(plans, "d.mtx", "dd"), Catch::Contains("holds no plan of spmv f32 for d.mtx"));
  CHECK_THROWS_WITH(found(plans, "c.mtx", "cc"), Catch::Contains("failed on it: no such file"));
  CHECK_THROWS_WITH(found(plans, "a.mtx", "a2"), Catch::Contains("is for another pattern"));
  CHECK_THROWS_AS(found(plans, "d.mtx", "dd"), InputError);
}

TEST_CASE("tuned_plans: of one pattern's plans that of as many threads, then of the name, is taken",
          "[tune]") {
  const std::string four = "spmv f32 | A: i:U k:C | loop: i k | par: i static x4";
  const TunedPlans plans =
      read(line("a.mtx", kStatic, "aa") + line("copy.mtx", kSerial, "aa") + line("a.mtx", four, "aa", 4));
  CHECK(found(plans, "a.mtx", "aa", 2) == kStatic);
  CHECK(found(plans, "copy.mtx", "aa", 2) == kSerial);
  CHECK(found(plans, "a.mtx", "aa", 4) == four);
  CHECK(found(plans, "copy.mtx", "aa", 4) == four);
}

TEST_CASE("tuned_plans: one line of a list stays a list, and a torn last line is left out", "[tune]") {
  const std::string one = line("a.mtx", kStatic, "aa");
  CHECK_THROWS_AS(found(read(one), "b.mtx", "bb"), InputError);
  const TunedPlans torn = read(one + one.substr(0, one.size() / 2));
  CHECK(found(torn, "a.mtx", "aa") == kStatic);
  CHECK(found(read(one.substr(0, one.size() - 1)), "a.mtx", "aa") == kStatic);  // only the newline is missing
}

TEST_CASE("tuned_plans: a plan knows how much it stored, where it was measured", "[tune]") {
  const auto stored = [](const json& tuned) {
    return read(tuned.dump()).find("a", "aa", kSpmv, 2).num_stored;
  };
  json tuned = document(kStatic, "aa");
  CHECK(stored(tuned) == 0);
  tuned["baseline"] = nullptr;
  tuned["candidates"] = {{{"plan", kSerial}, {"num_stored", 5}},
                         {{"plan", kStatic}, {"num_stored", 3000000000}}};
  CHECK(stored(tuned) == 3000000000);
  tuned["candidates"] = json::array();
  tuned["baseline"] = {{"plan", kStatic}, {"num_stored", 7}};
  CHECK(stored(tuned) == 7);
}

TEST_CASE("tuned_plans: an answer of fixed_csr is told from a plan", "[tune]") {
  for (const int threads : {1, 2}) {
    json stay = document(schedule::to_text(schedule::csr_point(kSpmv, threads)), "aa");
    stay["best"]["is_baseline"] = true;
    CHECK(read(stay.dump()).find("a", "aa", kSpmv, 2).is_baseline);
  }
  json edited = document(kStatic, "aa");
  edited["best"]["is_baseline"] = true;
  CHECK_THROWS_WITH(read(edited.dump()), Catch::Contains("fixed_csr is the best"));
}

TEST_CASE("tuned_plans: other files, newer versions, damage and several parts are refused", "[tune]") {
  CHECK_THROWS_AS(TunedPlans::read("/nonexistent/plans.jsonl"), Error);
  CHECK_THROWS_WITH(read("hello\nworld\n"), Catch::Contains(":1: is not a plan of waco-tune"));
  CHECK_THROWS_AS(read(""), InputError);
  const std::string whole = document(kStatic, "aa").dump(2);
  CHECK_THROWS_WITH(read(whole.substr(0, whole.size() / 2)), Catch::Contains("is not complete, valid JSON"));
  CHECK_THROWS_WITH(read(R"({"format": "waco-bench", "version": 1})"), Catch::Contains("waco-bench"));
  json newer = document(kStatic, "aa");
  newer["version"] = 99;
  CHECK_THROWS_WITH(read(newer.dump()), Catch::Contains("99"));
  CHECK_THROWS_WITH(read(line("a", kStatic, "aa") + line("b", "spmv f32 | nonsense", "bb")),
                    Catch::Contains(":2: "));
  json parts = document(kStatic, "aa");
  parts["parts"].push_back(parts["parts"][0]);
  CHECK_THROWS_WITH(read(parts.dump()), Catch::Contains("2 parts"));
  CHECK_THROWS_WITH(read(failure("a.mtx", "no")), Catch::Contains("holds no plan"));
}
