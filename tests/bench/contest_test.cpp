// What a contest makes of its contestants, without timing any.
#include "apps/bench/contest.hpp"

#include <catch2/catch.hpp>

#include "records.hpp"
#include "waco/measure/session.hpp"

using namespace waco;
using namespace waco::bench;
using namespace waco::bench::testing;

TEST_CASE("contest: peers that were not in the rounds do not hide that others were disturbed", "[bench]") {
  Record r = record("a", 500, 9000, 12000);
  r.warnings.clear();
  for (size_t n = 0; n < 3; ++n) r.entries[n].rejected_share = 0.3;
  for (size_t n = 3; n < 5; ++n) r.entries[n].censored = true;
  complete(r, {});
  CHECK(r.warnings.size() == 1);
  CHECK(r.disturbed == measure::Disturbance::kOtherWork);
  r.warnings.clear();
  for (size_t n = 0; n < 3; ++n) r.entries[n].rejected_share = 0;
  complete(r, {});
  CHECK(r.warnings.empty());
}

TEST_CASE("contest: a censored peer is compared by its few calls", "[bench]") {
  Record r = record("a", 500, 10000, 12000);
  r.entries[3].censored = true;
  r.entries[3].speedup = {};
  complete(r, {});
  CHECK(r.entries[3].speedup.median == Approx(0.1));
  CHECK(speedup_over(r.find(kWaco), r.find("fast")) == Approx(20));
}

TEST_CASE("contest: a plan that could not be set up makes no record", "[bench]") {
  const Record r = record("a", 500, 1000, 2000);
  Entry entry = wrong(kWaco, "");
  entry.message = "not enough memory";
  for (const char* status : {"constraint", "compile"}) {
    entry.status = status;
    CHECK_THROWS_AS(require_set_up(r, entry), measure::Unmeasurable);
    CHECK_THROWS_WITH(require_set_up(r, entry), Catch::Contains("not enough memory"));
  }
  for (const char* status : {"ok", "wrong", "crash", "timeout"}) {
    entry.status = status;
    CHECK_NOTHROW(require_set_up(r, entry));
  }
}

TEST_CASE("contest: a plan for another number of threads is told with both numbers", "[bench]") {
  GivenPlan given;
  given.file = "plan.json";
  CHECK(thread_warning(given, 2).empty());  // an old file does not say
  given.plan.threads = 2;
  CHECK(thread_warning(given, 2).empty());
  given.plan.threads = 1;
  CHECK(thread_warning(given, 2) ==
        "the plan of plan.json was found for 1 thread, and is timed with 2: another may be better");
}

TEST_CASE("contest: a record that was taken otherwise is told from one that was not", "[bench]") {
  ContestOptions options;
  tune::TuneOptions& tuning = options.tuning;
  CompilerTarget gcc, clang;
  gcc.version = "gcc 12";
  clang.version = "clang 14";
  Record r = record("a", 500, 1000, 2000);
  r.effort = "normal";
  r.warnings.clear();
  r.machine.compiler = gcc;
  r.plan_origin.source = PlanOrigin::kTuning;
  CHECK(differences(r, options, "", {}, gcc).empty());
  CHECK(differences(r, options, "", {}, clang) == "by gcc 12");
  CHECK(differences(r, options, "plan.json", {}, gcc) == "of a plan that was tuned for it");
  tuning.effort = tune::Effort::kQuick;
  r.disturbed = measure::Disturbance::kOtherWork;
  CHECK(differences(r, options, "", {}, gcc) == "with --effort normal, while the machine was busy");
  r.disturbed = measure::Disturbance::kNone;

  tuning.effort = tune::Effort::kNormal;
  r.warnings.clear();
  r.plan_origin.source = "plan.json";
  tuning.threads = 2;
  CHECK(differences(r, options, "plan.json", {}, gcc).empty());
  CHECK(differences(r, options, "other.json", {}, gcc) == "of the plan of plan.json");
  std::optional<GivenPlan> given(std::in_place);
  given->plan.point = schedule::csr_point(tuning.problem, 2);
  r.plan = schedule::to_text(schedule::canonical(*given->plan.point));
  CHECK(differences(r, options, "plan.json", given, gcc).empty());
  given->plan.point = schedule::csr_point(tuning.problem, 16);  // which is timed with 2
  CHECK(differences(r, options, "plan.json", given, gcc).empty());
  given->plan.is_baseline = true;
  CHECK(differences(r, options, "plan.json", given, gcc) == "of another plan of plan.json");
  r.plan_origin = {PlanOrigin::kTuning, "closed-form", "", ""};
  CHECK(differences(r, options, "", {}, gcc).empty());
  r.plan_origin.cost_model = "0123456789abcdef";
  CHECK(differences(r, options, "", {}, gcc) == "of a plan found by the learned model 0123456789ab");
  r.plan_origin.cost_model.clear();
  options.peers.resize(2);
  options.peers[0].name = "some_csr";
  options.peers[1].name = "other_csr";
  r.absent = {{"other_csr", "no sddmm"}};
  CHECK(differences(r, options, "", {}, gcc) == "without some_csr");
  options.peers.clear();
  tuning.points = {schedule::csr_point(tuning.problem, 1)};
  r.plan_origin.source = PlanOrigin::kSchedule;
  r.plan = schedule::to_text(tuning.points[0]);
  CHECK(differences(r, options, "", {}, gcc).empty());
  tuning.points = {schedule::csr_point(tuning.problem, 2)};
  CHECK(differences(r, options, "", {}, gcc) == "of --schedule '" + r.plan + "'");
}
