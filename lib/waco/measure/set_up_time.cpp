// The shortest of a few.
#include "waco/measure/set_up_time.hpp"

#include <algorithm>
#include <chrono>

#include "waco/base/clock.hpp"
#include "waco/measure/fresh_memory.hpp"

namespace waco::measure {

double shortest_set_up_ns(const std::function<void()>& clear, const std::function<void()>& set_up) {
  constexpr int kMostRuns = 3;
  constexpr double kShort_ns = 30e6;  // together
  const auto first_start = std::chrono::steady_clock::now();
  double shortest_ns = 0;
  for (int run = 0; run < kMostRuns && (run == 0 || ns_since(first_start) < kShort_ns); ++run) {
    clear();
    const FreshMemory fresh;
    const auto start = std::chrono::steady_clock::now();
    set_up();
    const double ns = ns_since(start);
    shortest_ns = run == 0 ? ns : std::min(shortest_ns, ns);
  }
  return shortest_ns;
}

}  // namespace waco::measure
