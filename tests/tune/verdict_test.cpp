// Forecasts for numbers of calls, and what pays in the end.
#include "waco/tune/verdict.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace waco::tune;

namespace {

Outlook outlook() {
  Outlook outlook;
  outlook.csr_ns = 1e6;
  outlook.best_ns = 0.5e6;
  outlook.pack_ns = 10e6;
  outlook.ranked_ns = 20e6;
  outlook.compile_ns = 300e6;
  outlook.threads = 2;
  return outlook;
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

TEST_CASE("verdict: what pays is told by what was measured", "[tune]") {
  Verdict verdict;
  verdict.calls = 100;
  verdict.forecasts = forecast(outlook());
  CHECK_FALSE(verdict.pays());
  CHECK(account_text(verdict).find("stay on CSR") != std::string::npos);
  verdict.chosen = Effort::kNormal;
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
