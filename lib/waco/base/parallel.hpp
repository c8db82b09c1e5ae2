// A loop that several threads share and exceptions may leave, as they may not leave an OpenMP region.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>

namespace waco {

/// Calls work(i, scratch) for every i in [0, count), each in the next of `threads` OpenMP threads that is
/// free; i are begun in ascending order. `scratch` is the thread's own, from make_scratch(). After an
/// exception no more are begun, and it is thrown here when all threads have ended.
template <typename MakeScratch, typename Work>
void for_each_parallel(int64_t count, int threads, const MakeScratch& make_scratch, const Work& work) {
  std::atomic<int64_t> next{0};
  std::exception_ptr failure;
#pragma omp parallel num_threads(threads) if (count > 1)
  {
    try {
      int64_t i = next++;
      if (i < count) {
        auto scratch = make_scratch();
        for (; i < count; i = next++) work(i, scratch);
      }
    } catch (...) {
      next = count;
#pragma omp critical(waco_parallel_failure)
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

/// The same without scratch: work(i).
template <typename Work>
void for_each_parallel(int64_t count, int threads, const Work& work) {
  for_each_parallel(
      count, threads, [] { return 0; }, [&](int64_t i, int) { work(i); });
}

}  // namespace waco
