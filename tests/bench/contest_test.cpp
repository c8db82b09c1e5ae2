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
