// The CPUs of a thread, by OpenMP's list of places.
#include "waco/base/thread_places.hpp"

#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <vector>

#include "waco/base/machine.hpp"

namespace waco {
namespace {

/// Adds the CPUs of one OpenMP place.
void add_place(int place, std::vector<int>& cpus) {
  const size_t before = cpus.size();
  cpus.resize(before + static_cast<size_t>(omp_get_place_num_procs(place)));
  if (cpus.size() > before) omp_get_place_proc_ids(place, cpus.data() + before);
}

void run_on(const std::vector<int>& cpus) {
  if (cpus.empty()) return;
  const int end = 1 + *std::max_element(cpus.begin(), cpus.end());
  cpu_set_t* set = CPU_ALLOC(end);
  if (set == nullptr) return;
  const size_t bytes = CPU_ALLOC_SIZE(end);
  CPU_ZERO_S(bytes, set);
  for (const int cpu : cpus) CPU_SET_S(cpu, bytes, set);
  (void)::sched_setaffinity(0, bytes, set);
  CPU_FREE(set);
}

bool pool_is_pinned() {
  return omp_get_proc_bind() != omp_proc_bind_false && omp_get_num_places() > 0;
}

}  // namespace

void release_this_thread() {
  if (!pool_is_pinned()) return;
  std::vector<int> cpus;
  for (int place = 0; place < omp_get_num_places(); ++place) add_place(place, cpus);
  run_on(cpus);
}

InitialThreadPinned::InitialThreadPinned() {
  if (!pool_is_pinned()) return;
  std::vector<int> cpus;
  add_place(0, cpus);
  run_on(cpus);
}

InitialThreadPinned::~InitialThreadPinned() {
  release_this_thread();
}

ThreadsPinned::ThreadsPinned(int threads) : threads_(threads) {
  if (pool_is_pinned()) return;
  cpus_ = allowed_cpus();
  if (threads_ > static_cast<int>(cpus_.size())) cpus_.clear();
  if (cpus_.empty()) return;
#pragma omp parallel num_threads(threads_)
  run_on({cpus_[static_cast<size_t>(omp_get_thread_num())]});
}

ThreadsPinned::~ThreadsPinned() {
  if (cpus_.empty()) return;
#pragma omp parallel num_threads(threads_)
  run_on(cpus_);
}

}  // namespace waco
