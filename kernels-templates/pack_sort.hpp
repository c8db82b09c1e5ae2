// Packing, sorting: items that are a key above an index.
#ifndef WACO_PACK_SORT_HPP
#define WACO_PACK_SORT_HPP

#include "pack_memory.hpp"

/* An item is a key above an index: items of equal key that enter in index order leave in it, and whole items
   are distinct numbers. */

static inline void waco_insertion_sort(uint64_t* a, int64_t n) {
  for (int64_t i = 1; i < n; ++i) {
    const uint64_t x = a[i];
    int64_t j = i;
    for (; j > 0 && a[j - 1] > x; --j) a[j] = a[j - 1];
    a[j] = x;
  }
}

/* Merges neighbouring ascending runs of `from` into `to`; returns how many runs are left. */
static inline int64_t waco_merge_runs(const uint64_t* from, uint64_t* to, int64_t n) {
  int64_t begin = 0, runs = 0;
  while (begin < n) {
    int64_t middle = begin + 1;
    while (middle < n && from[middle - 1] <= from[middle]) ++middle;
    int64_t end = middle < n ? middle + 1 : middle;
    while (end < n && from[end - 1] <= from[end]) ++end;
    const uint64_t *a = from + begin, *a_end = from + middle, *b = a_end, *b_end = from + end;
    uint64_t* o = to + begin;
    while (a < a_end && b < b_end) {
      const uint64_t x = *a, y = *b;
      const int second = y < x;
      *o++ = second ? y : x;
      b += second;
      a += 1 - second;
    }
    memcpy(o, a, (size_t)(a_end - a) * sizeof *a);
    memcpy(o + (a_end - a), b, (size_t)(b_end - b) * sizeof *b);
    begin = end;
    ++runs;
  }
  return runs;
}

/* One stable counting pass by `bits` (at most 8) bits of the items. */
static inline void waco_radix_pass(const uint64_t* from, uint64_t* to, int64_t n, int shift, int bits) {
  int64_t next[256];
  const uint64_t mask = ((uint64_t)1 << bits) - 1;
  memset(next, 0, sizeof next);
  for (int64_t i = 0; i < n; ++i) ++next[from[i] >> shift & mask];
  int64_t sum = 0;
  for (int64_t d = 0; d <= (int64_t)mask; ++d) {
    const int64_t count = next[d];
    next[d] = sum;
    sum += count;
  }
  for (int64_t i = 0; i < n; ++i) to[next[from[i] >> shift & mask]++] = from[i];
}

/* Sorts n items whose keys begin at bit `low`; returns where the result is: `a` or the scratch `b`. Items of
   equal key must already be in ascending order. */
static inline uint64_t* waco_sort_items(uint64_t* a, uint64_t* b, int64_t n, int low) {
  int64_t runs = 1;
  uint64_t differ = 0;
  for (int64_t i = 1; i < n; ++i) {
    runs += a[i - 1] > a[i];
    differ |= a[i] ^ a[0];
  }
  if (runs == 1) return a;
  if (n <= 16) {
    waco_insertion_sort(a, n);
    return a;
  }
  differ >>= low;
  const int bottom = __builtin_ctzll(differ), bits = waco_bit_width(differ) - bottom;
  const int passes = (bits + 7) / 8, merges = waco_bit_width((uint64_t)(runs - 1));
  if (n < 192 || merges <= passes) {
    while (runs > 1) {
      runs = waco_merge_runs(a, b, n);
      uint64_t* swap = a;
      a = b;
      b = swap;
    }
    return a;
  }
  const int digit = (bits + passes - 1) / passes;
  for (int done = 0; done < bits; done += digit) {
    waco_radix_pass(a, b, n, low + bottom + done, bits - done < digit ? bits - done : digit);
    uint64_t* swap = a;
    a = b;
    b = swap;
  }
  return a;
}

/* Sorts a long array with all threads: one partition by the leading key bits, then every bucket on its own.
 */
static inline int waco_sort_parallel(uint64_t* items, int64_t n, int low, int key_bits, int threads) {
  const int digit = key_bits < 10 ? key_bits : 10, shift = low + key_bits - digit;
  const int64_t buckets = (int64_t)1 << digit;
  uint64_t* scratch = (uint64_t*)waco_allocate(n, sizeof *scratch);
  int64_t* next = (int64_t*)waco_allocate((buckets + 1) * threads, sizeof *next);
  int64_t* begin = (int64_t*)waco_allocate(buckets + 1, sizeof *begin);
  const int ok = scratch && next && begin;
  if (ok) {
    waco_parallel(threads, [=](int t) {
      int64_t* count = next + t * buckets;
      memset(count, 0, (size_t)buckets * sizeof *count);
      const int64_t end = waco_share(n, threads, t + 1);
      for (int64_t i = waco_share(n, threads, t); i < end; ++i)
        ++count[items[i] >> shift & (uint64_t)(buckets - 1)];
    });
    int64_t sum = 0;
    for (int64_t d = 0; d < buckets; ++d) {
      begin[d] = sum;
      for (int t = 0; t < threads; ++t) {
        const int64_t count = next[t * buckets + d];
        next[t * buckets + d] = sum;
        sum += count;
      }
    }
    begin[buckets] = sum;
    waco_parallel(threads, [=](int t) {
      int64_t* to = next + t * buckets;
      const int64_t end = waco_share(n, threads, t + 1);
      for (int64_t i = waco_share(n, threads, t); i < end; ++i)
        scratch[to[items[i] >> shift & (uint64_t)(buckets - 1)]++] = items[i];
    });
    int64_t bucket = 0;
    waco_parallel(threads, [=, &bucket](int) {
      for (int64_t d; (d = __atomic_fetch_add(&bucket, 1, __ATOMIC_RELAXED)) < buckets;) {
        uint64_t *from = scratch + begin[d], *to = items + begin[d];
        const int64_t count = begin[d + 1] - begin[d];
        if (waco_sort_items(from, to, count, low) != to) memcpy(to, from, (size_t)count * sizeof *to);
      }
    });
  }
  free(scratch);
  free(next);
  free(begin);
  return ok;
}

#endif
