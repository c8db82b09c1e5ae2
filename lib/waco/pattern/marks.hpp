// Marking what occurs, by all threads in one array.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace waco::pattern {

/// Sets marks[place_of(n)] to 1 for every n in [0, count).
template <typename PlaceOf>
void mark_places(int64_t count, const PlaceOf& place_of, std::vector<uint8_t>& marks) {
  constexpr int64_t kWorthThreads = 1 << 17;
#pragma omp parallel for schedule(static) if (count > kWorthThreads)
  for (int64_t n = 0; n < count; ++n) {
    const std::atomic_ref<uint8_t> mark(marks[static_cast<size_t>(place_of(n))]);
    // Read first: a cache line that is only read stays with all threads.
    if (mark.load(std::memory_order_relaxed) == 0) mark.store(1, std::memory_order_relaxed);
  }
}

}  // namespace waco::pattern
