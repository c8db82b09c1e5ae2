// Packing: memory, threads, search, and division by a split.
#ifndef WACO_PACK_MEMORY_HPP
#define WACO_PACK_MEMORY_HPP

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/mman.h>
#endif
#ifdef _OPENMP
#include <omp.h>
#endif

#include "abi.hpp"

/* No array may be larger: 1 TiB. A format that asks for more is refused before anything is allocated. */
static const int64_t kWacoMaxBytes = (int64_t)1 << 40;
/* Large arrays are laid on huge pages: writing to fresh memory is then several times faster, and an array of
   about the size of the L2 cache does not fall on its sets by chance. */
static const int64_t kWacoHugePage = (int64_t)1 << 21;
/* A rest of this size or more takes a huge page of its own. */
static const int64_t kWacoHugeRest = (int64_t)1 << 19;
/* Nonzeros that are worth a thread of their own. */
static const int64_t kWacoThreadGrain = 2048;

/* Bytes at the start of an array of `bytes` that are to lie on huge pages: a multiple of kWacoHugePage. */
static inline int64_t waco_huge_bytes(int64_t bytes) {
  return (bytes + kWacoHugePage - kWacoHugeRest) / kWacoHugePage * kWacoHugePage;
}

/* `bytes`, of which the first `huge` are to lie on huge pages; null when memory runs out. */
static inline void* waco_allocate_pages(int64_t bytes, int64_t huge) {
  const int64_t padded = (bytes + WACO_PADDING_BYTES + 63) / 64 * 64, total = padded > huge ? padded : huge;
  void* memory = nullptr;
  if (posix_memalign(&memory, (size_t)(huge ? kWacoHugePage : 64), (size_t)total)) return nullptr;
#ifdef __linux__
  if (huge) madvise(memory, (size_t)huge, MADV_HUGEPAGE);
#endif
  memset((char*)memory + bytes, 0, (size_t)(padded - bytes));
  return memory;
}

/* 64-byte aligned, followed by zeroed padding; null when `count * size` is too large or memory runs out. */
static inline void* waco_allocate(int64_t count, int64_t size) {
  if (count < 0 || size <= 0 || count > kWacoMaxBytes / size) return nullptr;
  return waco_allocate_pages(count * size, waco_huge_bytes(count * size));
}

/* The same for a while: takes no huge page that it does not fill. */
static inline void* waco_allocate_briefly(int64_t count, int64_t size) {
  if (count < 0 || size <= 0 || count > kWacoMaxBytes / size) return nullptr;
  return waco_allocate_pages(count * size, count * size / kWacoHugePage * kWacoHugePage);
}

/* Start of share t when n items are dealt to `parts` contiguous shares of equal size. */
static inline int64_t waco_share(int64_t n, int parts, int t) {
  const int64_t rest = n % parts;
  return n / parts * t + (t < rest ? t : rest);
}

/* Threads worth starting for n nonzeros. */
static inline int waco_useful_threads(int64_t n, int threads) {
  const int64_t most = 1 + n / kWacoThreadGrain;
  return threads < 1 ? 1 : threads < most ? threads : (int)most;
}

template <class Body>
static inline void waco_parallel(int threads, const Body& body) {
#ifdef _OPENMP
  if (threads > 1) {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int t = 0; t < threads; ++t) body(t);
    return;
  }
#endif
  for (int t = 0; t < threads; ++t) body(t);
}

/* Lets thread t of `threads` have its share of an array's fresh pages made ready in one go, which takes less
   than half the time of a fault for every page. Only a hint. */
static inline void waco_populate(void* memory, int64_t bytes, int threads, int t) {
#if defined(__linux__) && defined(MADV_POPULATE_WRITE)
  const int64_t unit = waco_huge_bytes(bytes) ? kWacoHugePage : 4096;
  const int64_t pad = (int64_t)(-(uintptr_t)memory & 4095), units = (bytes - pad) / unit;
  if (bytes < 1 << 16) return;
  const int64_t begin = waco_share(units, threads, t) * unit;
  const int64_t end =
      t + 1 < threads ? waco_share(units, threads, t + 1) * unit : (bytes - pad) / 4096 * 4096;
  if (begin < end) madvise((char*)memory + pad + begin, (size_t)(end - begin), MADV_POPULATE_WRITE);
#else
  (void)memory, (void)bytes, (void)threads, (void)t;
#endif
}

static inline void waco_zero(void* memory, int64_t bytes, int threads) {
  waco_parallel(threads, [=](int t) {
    const int64_t begin = waco_share(bytes, threads, t), end = waco_share(bytes, threads, t + 1);
    memset((char*)memory + begin, 0, (size_t)(end - begin));
  });
}

/* The first of low .. high-1 for which `holds`, as it does for all after it; high when it does for none. */
template <class Holds>
static inline int64_t waco_find_first(int64_t low, int64_t high, const Holds& holds) {
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (holds(middle))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

static inline int waco_bit_width(uint64_t x) {
  return x ? 64 - __builtin_clzll(x) : 0;
}

/* Division by a split of coordinates below `dim`: one multiplication and a shift, without branches on the
   kind of split, where coordinates stay below 2^31. */
struct waco_divider {
  int64_t split;
  uint64_t multiplier; /* ceil(2^shift / split), below 2^32; 0: divide */
  int shift; /* 31 + ceil(log2(split)): multiplier * split exceeds 2^shift by less than 2^(shift - 31) */
  int log2;  /* split is 1 << log2; -1 when it is no power of two */
};

static inline struct waco_divider waco_make_divider(int64_t split, int64_t dim) {
  struct waco_divider d = {split, 0, 0, -1};
  const int bits = waco_bit_width((uint64_t)split - 1);
  if (split == (int64_t)1 << bits) d.log2 = bits;
  if (dim <= (int64_t)1 << 30 && bits < 31) { /* rows of the last slice may lie beyond dim, by less than it */
    d.shift = 31 + bits;
    d.multiplier = (((uint64_t)1 << d.shift) + (uint64_t)split - 1) / (uint64_t)split;
  }
  return d;
}

static inline int64_t waco_divide(const struct waco_divider* d, int64_t x) {
  if (d->multiplier) return (int64_t)((uint64_t)x * d->multiplier >> d->shift);
  return d->log2 >= 0 ? x >> d->log2 : x / d->split;
}

#endif
