// Copying into fresh memory by all threads: a page comes to lie beside the thread that writes it first.
#pragma once

#include <cstdint>

namespace waco::bench {

/// Element by element, by `threads` threads in equal contiguous shares.
template <class To, class From>
void copy_by_threads(const From* from, int64_t count, To* to, int threads) {
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t n = 0; n < count; ++n) to[n] = static_cast<To>(from[n]);
}

}  // namespace waco::bench
