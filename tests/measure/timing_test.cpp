// Medians, their intervals, and the order in which contestants are called.
#include "waco/measure/timing.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <fstream>
#include <functional>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <utility>

using namespace waco::measure;

namespace {

void wait_us(int microseconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(microseconds);
  while (std::chrono::steady_clock::now() < end) {
  }
}

}  // namespace

TEST_CASE("statistics: the median of odd and even counts", "[measure]") {
  CHECK(estimate_median({3, 1, 2}).median == 2);
  CHECK(estimate_median({4, 1, 3, 2}).median == 2.5);
  CHECK(estimate_median({5}).median == 5);
  CHECK(estimate_median({}).median == 0);
}

TEST_CASE("statistics: the interval holds the binomial ranks around the median", "[measure]") {
  std::vector<double> samples(25);
  std::iota(samples.begin(), samples.end(), 1.0);
  const Estimate estimate = estimate_median(samples);
  CHECK(estimate.median == 13);
  CHECK(estimate.low == 7);  // (25 - 1.96 * 5) / 2 = 7.6
  CHECK(estimate.high == 19);
  const Estimate few = estimate_median({10, 30, 20});
  CHECK(few.low == 10);
  CHECK(few.high == 30);
}

TEST_CASE("statistics: from 6 samples on the interval holds the median with 95 % probability", "[measure]") {
  for (int count = 3; count <= 60; ++count) {
    std::vector<double> samples(static_cast<size_t>(count));
    std::iota(samples.begin(), samples.end(), 1.0);
    const auto rank = static_cast<int>(estimate_median(samples).low);
    // Missed on one side when fewer than `rank` of the samples fall there, each by the toss of a coin.
    double missed = 0;
    for (int n = 0; n < rank; ++n)
      missed += std::exp(std::lgamma(count + 1) - std::lgamma(n + 1) - std::lgamma(count - n + 1)) *
                std::pow(0.5, count);
    CHECK((1 - 2 * missed >= 0.95) == (count >= 6));
  }
}

TEST_CASE("statistics: outliers do not move the median", "[measure]") {
  CHECK(estimate_median({1, 1, 1, 1, 1, 1, 1, 1e9}).median == 1);
}

TEST_CASE("timing: contestants take turns in changing orders, each forwards and backwards", "[measure]") {
  std::string calls;
  TimingOptions options;
  options.min_rounds = options.max_rounds = 40;
  options.min_sample_ns = 1;  // one call a sample
  options.warm_below_ns = 0;  // and none before it
  std::vector<std::function<void()>> contestants;
  for (const char name : {'a', 'b', 'c', 'd'}) {
    contestants.emplace_back([&calls, name] {
      calls += name;
      wait_us(20);
    });
  }
  time_contestants(contestants, options);
  calls = calls.substr(calls.size() - 160);
  std::set<std::string> pairs;
  for (size_t n = 0; n < calls.size(); n += 8) {
    const std::string there = calls.substr(n, 4);
    std::string back = calls.substr(n + 4, 4);
    std::reverse(back.begin(), back.end());
    CHECK(there == back);
    for (size_t place = 0; place < 3; ++place) pairs.insert(there.substr(place, 2));
    std::string sorted = there;
    std::sort(sorted.begin(), sorted.end());
    CHECK(sorted == "abcd");
  }
  CHECK(pairs.size() == 12);  // everyone follows everyone
}

TEST_CASE("timing: fast calls are batched, and every round gives a sample", "[measure]") {
  int64_t calls = 0;
  TimingOptions options;
  options.min_rounds = 9;
  options.max_rounds = 9;
  options.budget_s = 60;
  const std::vector<ContestantTimes> times = time_contestants({[&] { ++calls; }}, options);
  REQUIRE(times.size() == 1);
  CHECK(calls > 9 * 10);
  CHECK(times[0].samples_ns.size() <= 9);
  CHECK(times[0].samples_ns.size() >= 3);
  CHECK(times[0].time_ns.median > 0);
}

TEST_CASE("timing: contestant 0 has speedup 1 and others their ratio to it", "[measure][timing]") {
  const std::vector<ContestantTimes> times =
      time_contestants({[] { wait_us(400); }, [] { wait_us(100); }}, {});
  CHECK(times[0].speedup.median == 1);
  CHECK(times[1].speedup.low <= times[1].speedup.median);
  CHECK(times[1].speedup.median <= times[1].speedup.high);
  CHECK(times[1].speedup.median > 1);
}

TEST_CASE("timing: slow contestants end after three rounds when the budget is spent", "[measure]") {
  int calls = 0;
  TimingOptions options;
  options.budget_s = 0.001;
  options.warm_below_ns = 1e6;
  time_contestants({[&] {
                     ++calls;
                     wait_us(10000);
                   }},
                   options);
  CHECK(calls == 1 + 3);  // one to learn how slow it is
}

TEST_CASE("timing: settled contestants leave the rounds when they may", "[measure][timing]") {
  TimingOptions options;
  options.drop_settled = true;
  options.precision = 0.3;
  options.min_rounds = 3;
  options.max_rounds = 12;
  options.budget_s = 60;
  options.min_sample_ns = 1;
  options.warm_below_ns = 0;
  const auto steady_calls = [&] {
    int steady = 0, wild = 0;
    // Every call takes 1.6 times the one before: no choice of rounds, as a busy machine makes it, settles.
    double growing_us = 100;
    const auto grow = [&] {
      ++wild;
      wait_us(static_cast<int>(growing_us));
      growing_us *= 1.6;
    };
    const std::vector<ContestantTimes> times = time_contestants(
        {[] { wait_us(2000); }, [&] { ++steady, wait_us(2000); }, grow}, options, {2e6, 2e6, 2e6});
    REQUIRE(times.size() == 3);
    CHECK(wild == 12);
    CHECK(times[1].speedup.median > 0);
    return steady;
  };
  int steady = steady_calls();
  for (int more = 0; more < 20 && steady == 12; ++more) steady = steady_calls();  // on a busy machine
  CHECK(steady < 12);
}

TEST_CASE("timing: a known duration spares slow contestants their trial", "[measure]") {
  int calls = 0;
  TimingOptions options;
  options.min_rounds = options.max_rounds = 3;
  options.warm_below_ns = 1e6;
  time_contestants({[&] {
                     ++calls;
                     wait_us(5000);
                   }},
                   options, {5e6});
  CHECK(calls == 3);
}

TEST_CASE("timing: all contestants get the untimed calls that the fastest needs", "[measure]") {
  const auto calls_of = [](double first_ns, double second_ns, bool alike) {
    std::pair<int, int> calls;
    TimingOptions options;
    options.min_rounds = options.max_rounds = 3;
    options.alike = alike;
    time_contestants({[&] { ++calls.first; }, [&] { ++calls.second; }}, options, {first_ns, second_ns});
    return calls;
  };
  CHECK(calls_of(5e6, 1e6, true) == std::pair(3 * 5, 3 * 5));
  CHECK(calls_of(5e6, 1e6, false) == std::pair(3 * 3, 3 * 5));
  // Not at any price: one that is far slower would make the contest several times as long. The others' need
  // is as great beside it.
  CHECK(calls_of(500e6, 1e6, true) == std::pair(3 * 2, 3 * 5));
  CHECK(calls_of(30e6, 30e6, true) == std::pair(3, 3));
}

namespace {

/// Share of the samples of so many us that are rejected while `other` is called again and again on the same
/// CPU.
double rejected_beside(int us, const std::function<void()>& other) {
  cpu_set_t before;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(::sched_getcpu(), &one);
  REQUIRE(::sched_getaffinity(0, sizeof before, &before) == 0);
  REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
  std::atomic<bool> done{false};
  std::thread beside([&] {
    while (!done) other();
  });
  TimingOptions options;
  options.min_rounds = options.max_rounds = 7;
  options.warm_below_ns = 0;
  const auto times = time_contestants({[us] { wait_us(us); }}, options, {us * 1e3});
  done = true;
  beside.join();
  ::sched_setaffinity(0, sizeof before, &before);
  CHECK(times[0].samples_ns.size() >= 3);
  CHECK(times[0].is_disturbed == (times[0].rejected_share > 4.5 / 7));  // of seven, three are wanted
  return times[0].rejected_share;
}

/// Whether the system counts how long a thread waits for a CPU, which is asked after one has.
bool tells_waiting() {
  double running = 0;
  double waiting = 0;
  std::ifstream("/proc/self/schedstat") >> running >> waiting;
  return waiting > 0;
}

}  // namespace

TEST_CASE("timing: long samples that wait for a CPU are rejected", "[measure][timing]") {
  const double share = rejected_beside(20000, [] {});
  if (tells_waiting()) CHECK(share == 1);
}

TEST_CASE("timing: samples of some milliseconds outlast a moment's interruption", "[measure][timing]") {
  // Other programs of the machine may take this CPU for longer moments, but not each time.
  double share = 1;
  for (int attempt = 0; attempt < 20 && share == 1; ++attempt)
    share = rejected_beside(5000, [] {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      wait_us(2);
    });
  if (tells_waiting()) CHECK(share < 1);
}

TEST_CASE("timing: no contestants, no times", "[measure]") {
  CHECK(time_contestants({}, {}).empty());
}

TEST_CASE("timing: stops when it is asked to", "[measure]") {
  CHECK_THROWS_AS(time_contestants({[] {}}, {}, {}, StopToken().with_budget(0)), Stopped);
}

TEST_CASE("timing: a machine is busy when samples are lost in the mean, not by one of many", "[measure]") {
  CHECK(disturbed({}, 1).warning.empty());
  CHECK(disturbed({0, 0.3, 0.2}, 1).warning.empty());
  std::vector<double> shares(24, 0.04);
  shares[7] = 0.5;
  CHECK(disturbed(shares, 1).by == Disturbance::kNone);
  CHECK_THAT(disturbed({0.4, 0.3, 0.2}, 1).warning, Catch::Contains("30 % of the samples"));
  CHECK(disturbed({0.4, 0.3, 0.2}, 1).by == Disturbance::kOtherWork);
  CHECK_THAT(disturbed({0.4, 0.3, 0.2}, 1024).warning, Catch::Contains("1024 threads shared"));
  CHECK(disturbed({0.4, 0.3, 0.2}, 1024).by == Disturbance::kSharedProcessors);
  for (const Disturbance one : {Disturbance::kNone, Disturbance::kOtherWork, Disturbance::kSharedProcessors})
    CHECK(parse_disturbance(name(one)) == one);
}
