// Forecasts for numbers of calls, and what pays in the end.
#include "waco/tune/verdict.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

using namespace waco::tune;

namespace {

Outlook outlook() {
  Outlook outlook;
  outlook.csr_ns = 1e6;
  outlook.best_ns = 0.5e6;
  outlook.pack_ns = 10e6;
  outlook.ranking_ns.fill(20e6);
  outlook.compile_ns = 300e6;
  outlook.threads = 2;
  return outlook;
}

/// What its answer costs then: ranking is spent.
Way ahead() {
  Outlook ranked = outlook();
  ranked.ranking_ns = {};
  return way_of(Effort::kNone, ranked);
}

/// Of a run that chose effort none for 1000 calls and timed nothing.
Verdict untimed() {
  Verdict verdict;
  verdict.calls = 1000;
  verdict.forecasts = forecast(outlook());
  verdict.chosen = Effort::kNone;
  return verdict;
}

}  // namespace

TEST_CASE("verdict: the more calls, the more effort, and a few calls stay on CSR", "[tune]") {
  const std::vector<Way> ways = forecast(outlook());
  REQUIRE(ways.size() == 5);
  CHECK_FALSE(ways[0].effort);
  CHECK_FALSE(cheapest(ways, 1).effort);
  CHECK(cheapest(ways, 1000).effort == Effort::kNone);
  CHECK(cheapest(ways, 1000000000).effort == Effort::kFull);
  int before = -1;
  for (int64_t calls = 1; calls < int64_t{1} << 40; calls *= 2) {
    const Way& way = cheapest(ways, calls);
    const int rank = way.effort ? static_cast<int>(*way.effort) : -1;
    CHECK(rank >= before);
    before = rank;
    for (const Way& other : ways) CHECK(way.total_ns(calls) <= other.total_ns(calls));
  }
}

TEST_CASE("verdict: a plan that is predicted to be no faster is never worth tuning for", "[tune]") {
  Outlook slow = outlook();
  slow.best_ns = 1.2e6;
  for (const int64_t calls : {int64_t{1}, int64_t{1000}, int64_t{1} << 50})
    CHECK_FALSE(cheapest(forecast(slow), calls).effort);
}

TEST_CASE("verdict: forecasts are of as many candidates and seconds as were asked for", "[tune]") {
  Outlook limited = outlook();
  limited.top = 2;
  const Way usual = way_of(Effort::kNormal, outlook()), few = way_of(Effort::kNormal, limited);
  CHECK(few.tune_ns < usual.tune_ns);
  CHECK(few.kernel_ns > usual.kernel_ns);
  limited.top = 1000;
  CHECK(way_of(Effort::kNormal, limited).tune_ns > 10 * usual.tune_ns);
  limited.top.reset();
  limited.budget_s = 0.5;
  for (const Way& way : forecast(limited)) CHECK(way.tune_ns <= 0.5e9);
  // In so little time less effort measures the greater part of its candidates.
  CHECK(way_of(Effort::kQuick, limited).kernel_ns < way_of(Effort::kFull, limited).kernel_ns);
  CHECK(way_of(Effort::kFull, limited).kernel_ns < way_of(Effort::kNone, limited).kernel_ns);
}

TEST_CASE("verdict: an effort that ranks anew takes as much longer as it ranks more", "[tune]") {
  Outlook ranked = outlook();
  ranked.ranking_ns = {};
  const std::vector<Way> at_once = forecast(ranked);
  for (const Effort effort : {Effort::kQuick, Effort::kNormal, Effort::kFull})
    ranked.ranking_ns[static_cast<size_t>(effort)] = 1e6 * static_cast<double>(effort);
  const std::vector<Way> anew = forecast(ranked);
  for (size_t n = 1; n < anew.size(); ++n)
    CHECK(anew[n].tune_ns == Approx(at_once[n].tune_ns + 1e6 * static_cast<double>(n - 1)));
  CHECK(ranking_again_ns(20e6, 300, 300) == Approx(20e6));
  CHECK(ranking_again_ns(20e6, 100, 1000) > 40e6);
  CHECK(ranking_again_ns(20e6, 100, 1000) < 200e6);
}

TEST_CASE("verdict: what pays is told by what was measured", "[tune]") {
  Verdict verdict;
  verdict.calls = 100;
  verdict.forecasts = forecast(outlook());
  CHECK_FALSE(verdict.pays());
  verdict.chosen = Effort::kNormal;
  CHECK_FALSE(verdict.pays());  // there is no plan yet
  verdict.spent_ns = 2e9;
  verdict.happened = Way{Effort::kNormal, 2e9, 10e6, 0.5e6};
  verdict.csr_ns = 1e6;
  CHECK(verdict.pays());  // packing and 100 calls take 60 ms, CSR 100
  CHECK(account_text(verdict).find("use the plan") != std::string::npos);
  verdict.happened->kernel_ns = 0.95e6;
  CHECK_FALSE(verdict.pays());
  CHECK(account_text(verdict).find("stay on CSR") != std::string::npos);
  CHECK(to_json(verdict).at("pays") == false);
  CHECK(to_json(verdict).at("forecasts").size() == 5);
}

TEST_CASE("verdict: where nothing was timed the account is of predictions, and says so", "[tune]") {
  Verdict verdict = untimed();
  verdict.predict(25e6, ahead());
  REQUIRE(verdict.predicted);
  CHECK_FALSE(verdict.happened);
  CHECK(verdict.predicted->effort == Effort::kNone);
  CHECK(verdict.predicted->tune_ns == 325e6);  // spent, and compiling
  CHECK(verdict.predicted->convert_ns == 10e6);
  CHECK(verdict.predicted->kernel_ns == verdict.forecasts[1].kernel_ns);
  CHECK(verdict.csr_ns == 1e6);
  const double saved_ns = 1e6 - verdict.predicted->kernel_ns;
  CHECK(*verdict.break_even_calls == std::ceil(310e6 / saved_ns));
  CHECK(verdict.pays());
  CHECK_THAT(account_text(verdict), Catch::Contains("predicted") && Catch::Contains("use the plan"));
  CHECK(to_json(verdict).at("happened").is_null());
  CHECK(to_json(verdict).at("predicted").at("tune_ns") == 325e6);
  CHECK(to_json(verdict).at("spent_ns") == 25e6);

  // One call fewer than the break-even, and the plan does not pay; exactly there it does, or is even.
  verdict.calls = *verdict.break_even_calls - 1;
  CHECK_FALSE(verdict.pays());
  verdict.calls = *verdict.break_even_calls + 1;
  CHECK(verdict.pays());
  verdict.calls = 10;
  CHECK_THAT(account_text(verdict), Catch::Contains("predicted") && Catch::Contains("stay on CSR"));
  CHECK(to_json(verdict).at("pays") == false);
}

TEST_CASE("verdict: a plan that is compiled and packed has only its packing to repay", "[tune]") {
  Verdict verdict = untimed();
  Way packed = ahead();
  packed.tune_ns = 0;
  packed.convert_ns = 22e6;
  verdict.predict(400e6, packed);
  CHECK(verdict.predicted->tune_ns == 400e6);
  CHECK(verdict.predicted->convert_ns == 22e6);
  CHECK(*verdict.break_even_calls == std::ceil(22e6 / (1e6 - verdict.predicted->kernel_ns)));
}

TEST_CASE("verdict: who stays on CSR is told from how many calls tuning pays", "[tune]") {
  Verdict verdict;
  verdict.forecasts = forecast(outlook());
  verdict.calls = 1;
  REQUIRE_FALSE(cheapest(verdict.forecasts, 1).effort);
  verdict.predict(20e6, std::nullopt);
  CHECK_FALSE(verdict.pays());
  CHECK_FALSE(verdict.predicted->effort);
  CHECK(verdict.predicted->kernel_ns == 1e6);
  REQUIRE(verdict.break_even_calls);
  CHECK_FALSE(cheapest(verdict.forecasts, *verdict.break_even_calls - 1).effort);
  CHECK(cheapest(verdict.forecasts, *verdict.break_even_calls + 1).effort);
  CHECK_THAT(account_text(verdict), Catch::Contains("stay on CSR") && Catch::Contains("predicted"));

  Outlook slow = outlook();
  slow.best_ns = 2e6;
  Verdict never;
  never.calls = 1000;
  never.forecasts = forecast(slow);
  never.predict(20e6, std::nullopt);
  CHECK_FALSE(never.break_even_calls);
  CHECK_THAT(account_text(never), Catch::Contains("no plan is faster than CSR"));
}

TEST_CASE("verdict: fixed_csr as the answer never pays, however its total is rounded", "[tune]") {
  Verdict verdict;
  verdict.chosen = Effort::kQuick;
  for (int n = 1; n < 1000; ++n) {
    verdict.calls = 100 * n + 7;
    verdict.csr_ns = 1e3 + n / 3.0;
    verdict.spent_ns = 1e8 + n / 7.0;
    verdict.happened = Way{Effort::kQuick, verdict.spent_ns, 0, verdict.csr_ns};
    INFO(n);
    CHECK_FALSE(verdict.pays());
  }
}
