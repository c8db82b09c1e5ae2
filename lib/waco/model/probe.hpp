// The micro-benchmarks behind the ceilings: each runs for a few milliseconds and reports the best of several
// tries, so that a busy machine lowers a figure only when it is busy all the time.
#pragma once

#include <cstdint>

namespace waco::model {

/// Vector width that this CPU can run: 16, 32 (AVX2 and FMA) or 64 (AVX-512F).
int usable_vector_bytes();

/// Bytes/ns read by `threads` threads together, each streaming its own `bytes_per_thread`. Throws
/// std::bad_alloc, as probe_stream does.
double probe_read(int64_t bytes_per_thread, int threads);

/// Bytes/ns that `threads` threads together store past the caches, each to its own `bytes_per_thread`.
double probe_stream(int64_t bytes_per_thread, int threads);

/// Flops/ns of `threads` threads in independent multiply-adds.
double probe_fma(bool f64, int threads);

/// Random 4-byte loads/ns by `threads` threads together over one array of `bytes` (a power of two); the array
/// is the caller's, zeroed, so that several sizes can share one allocation.
double probe_gather(const float* array, int64_t bytes, int threads);

/// Nanoseconds of one empty parallel region, and of fetching one dynamic chunk (thread time).
double probe_region(int threads);
double probe_grab(int threads);

/// Nanoseconds that a short inner loop of unpredictable length costs beyond its iterations.
double probe_short_loop();

}  // namespace waco::model
