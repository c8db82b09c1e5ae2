// The CPUs of threads that OpenMP has bound to one place: the initial thread before main began, others at
// their first parallel region.
#pragma once

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

}  // namespace waco
