// What a dataset holds of each matrix already.
#include "waco/collect/ledger.hpp"

#include <catch2/catch.hpp>

using namespace waco;
using namespace waco::collect;

TEST_CASE("ledger: what a matrix has is found by pattern, and by name when that is unique", "[collect]") {
  dataset::Record record;
  record.matrix = "m";
  record.source = "m.mtx";
  record.matrix_hash = "1";
  record.dims = {3, 4};
  record.plan = "slow";
  record.stratum = "model";
  record.time_ns = 10;
  record.speedup = 1;
  Ledger ledger;
  ledger.add(record);
  record.plan = "fast";
  record.stratum = "neighbours";
  record.speedup = 2;
  ledger.add(record);
  record.plan = "unknown";
  record.censored = true;
  ledger.add(record);
  REQUIRE(ledger.find("1") != nullptr);
  CHECK(ledger.find("1")->plans.size() == 3);
  CHECK(ledger.find("1")->num_neighbours == 2);
  CHECK(ledger.find("1")->fastest() == std::vector<std::string>{"fast", "slow"});
  CHECK(ledger.find("m", "m.mtx") == ledger.find("1"));
  record.matrix_hash = "2";
  ledger.add(record);
  CHECK(ledger.find("m", "m.mtx") == nullptr);
  CHECK(ledger.find("3") == nullptr);
  CHECK(ledger.num_records() == 4);
}
