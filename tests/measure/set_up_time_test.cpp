#include "waco/measure/set_up_time.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

using namespace waco;

TEST_CASE("set_up_time: what takes long is done once", "[measure]") {
  int cleared = 0, done = 0;
  const double ns = measure::shortest_set_up_ns([&] { ++cleared; },
                                                [&] {
                                                  ++done;
                                                  std::this_thread::sleep_for(std::chrono::milliseconds(40));
                                                });
  CHECK(ns >= 40e6);
  CHECK(done == 1);
  CHECK(cleared == 1);
}

TEST_CASE("set_up_time: no more than three, and none before what was there is gone", "[measure]") {
  bool there = false;
  int done = 0;
  const double ns = measure::shortest_set_up_ns([&] { there = false; },
                                                [&] {
                                                  CHECK_FALSE(there);
                                                  there = true;
                                                  ++done;
                                                });
  CHECK(there);
  CHECK(done >= 1);
  CHECK(done <= 3);
  CHECK(ns > 0);
}
