// How pieces of work are timed in all benchmarks here.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include "waco/base/clock.hpp"
#include "waco/measure/statistics.hpp"

namespace waco::perf {

using Clock = std::chrono::steady_clock;

/// How often a piece of work is done: `least` times, and again while it took less than `seconds` in all, but
/// not more than `most` times.
struct Repeats {
  int least = 5;
  double seconds = 0;
  int most = 1000;
};

/// Seconds of one run.
inline double seconds_of(const std::function<void()>& work) {
  const auto start = Clock::now();
  work();
  return seconds_since(start);
}

/// Seconds of each run.
inline std::vector<double> times_of(const Repeats& repeats, const std::function<void()>& work) {
  std::vector<double> times;
  const auto start = Clock::now();
  const auto count = [&] { return static_cast<int>(times.size()); };
  while (count() < repeats.least || (count() < repeats.most && seconds_since(start) < repeats.seconds))
    times.push_back(seconds_of(work));
  return times;
}

inline double median_seconds(const Repeats& repeats, const std::function<void()>& work) {
  return measure::estimate_median(times_of(repeats, work)).median;
}

inline double best_seconds(const Repeats& repeats, const std::function<void()>& work) {
  const std::vector<double> times = times_of(repeats, work);
  return *std::min_element(times.begin(), times.end());
}

}  // namespace waco::perf
