// The CPUs of threads that OpenMP has bound to one place: the initial thread before main began, others at
// their first parallel region.
#pragma once

#include <vector>

namespace waco {

/// Lets the calling thread use all of OpenMP's places again where OMP_PROC_BIND, OMP_PLACES or
/// GOMP_CPU_AFFINITY have bound it to the first of them, so that usable_threads() counts them all and
/// whatever it starts (threads, compilers, workers) may use them too. Does nothing where no binding was asked
/// for.
void release_this_thread();

/// Holds the initial thread on its own place while it lives: during timing.
class InitialThreadPinned {
 public:
  InitialThreadPinned();
  ~InitialThreadPinned();
  InitialThreadPinned(const InitialThreadPinned&) = delete;
  InitialThreadPinned& operator=(const InitialThreadPinned&) = delete;
};

/// Holds each of so many OpenMP threads on a CPU of its own while it lives, the n-th of allowed_cpus(), as
/// the threads of measured kernels are; nothing where OpenMP binds them, or has fewer CPUs than threads.
class ThreadsPinned {
 public:
  explicit ThreadsPinned(int threads);
  ~ThreadsPinned();
  ThreadsPinned(const ThreadsPinned&) = delete;
  ThreadsPinned& operator=(const ThreadsPinned&) = delete;

 private:
  int threads_;
  std::vector<int> cpus_;  ///< all that the threads may use; empty where nothing is held
};

}  // namespace waco
