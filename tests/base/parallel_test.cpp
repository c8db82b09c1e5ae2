// Loops that threads share: every number once, scratch of a thread's own, exceptions.
#include "waco/base/parallel.hpp"

#include <catch2/catch.hpp>
#include <stdexcept>
#include <vector>

using namespace waco;

TEST_CASE("parallel: every number is taken once, in ascending order by each thread", "[base]") {
  for (const int threads : {1, 4}) {
    std::vector<int> visits(1000);
    std::atomic<int> num_scratches{0}, num_descents{0};
    const auto make_scratch = [&] {
      ++num_scratches;
      return int64_t{-1};
    };
    for_each_parallel(1000, threads, make_scratch, [&](int64_t i, int64_t& last) {
      num_descents += i <= last;
      last = i;
      ++visits[static_cast<size_t>(i)];
    });
    CHECK(visits == std::vector<int>(1000, 1));
    CHECK(num_descents == 0);
    CHECK((num_scratches >= 1 && num_scratches <= threads));
  }
}

TEST_CASE("parallel: nothing is called for no numbers", "[base]") {
  for_each_parallel(0, 4, [](int64_t) { throw std::runtime_error("called"); });
}

TEST_CASE("parallel: an exception ends the loop and is thrown by it", "[base]") {
  for (const int threads : {1, 4}) {
    std::atomic<int> num_calls{0};
    const auto work = [&](int64_t i) {
      ++num_calls;
      if (i == 3) throw std::runtime_error("at three");
    };
    CHECK_THROWS_WITH(for_each_parallel(int64_t{1} << 40, threads, work), "at three");
    CHECK(num_calls >= 4);
    const auto make_scratch = []() -> int { throw std::runtime_error("no scratch"); };
    CHECK_THROWS_WITH(for_each_parallel(9, threads, make_scratch, [](int64_t, int) {}), "no scratch");
  }
}
