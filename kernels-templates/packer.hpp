// Packing: from coordinates to the level arrays of a waco_storage, and values in and out of it. The library
// includes this text and every emitted kernel carries it, so it needs only the C headers below and OpenMP
// where it is on.
//
// Three stages. Order: a permutation that sorts the nonzeros by level coordinates; none when the input order
// already does, and sorted only inside the segments and by the levels that the input order leaves open.
// Count: entries of every compressed level, slots of every lane. Fill: coordinates, positions and `source`,
// then values through `source`. Counting and filling cut the nonzeros into one contiguous range a thread and
// walk it in blocks.
#ifndef WACO_PACKER_HPP
#define WACO_PACKER_HPP

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "abi.hpp"

/* No array may be larger: 1 TiB. A format that asks for more is refused before anything is allocated. */
static const int64_t kWacoMaxBytes = (int64_t)1 << 40;
/* Nonzeros walked at a time: the working arrays of a block stay in the first cache level. */
enum { kWacoBlock = 128 };

/* ---- Memory and threads
 * ------------------------------------------------------------------------------------- */

/* 64-byte aligned, followed by zeroed padding; null when `count * size` is too large or memory runs out. */
static inline void* waco_allocate(int64_t count, int64_t size) {
  if (count < 0 || size <= 0 || count > kWacoMaxBytes / size) return nullptr;
  const int64_t bytes = count * size;
  const int64_t total = (bytes + WACO_PADDING_BYTES + 63) / 64 * 64;
  char* memory = (char*)aligned_alloc(64, (size_t)total);
  if (memory) memset(memory + bytes, 0, (size_t)(total - bytes));
  return memory;
}

/* Start of share t when n items are dealt to `parts` contiguous shares of equal size. */
static inline int64_t waco_share(int64_t n, int parts, int t) {
  const int64_t rest = n % parts;
  return n / parts * t + (t < rest ? t : rest);
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

static inline void waco_zero(void* memory, int64_t bytes, int threads) {
  waco_parallel(threads, [=](int t) {
    const int64_t begin = waco_share(bytes, threads, t), end = waco_share(bytes, threads, t + 1);
    memset((char*)memory + begin, 0, (size_t)(end - begin));
  });
}

static inline int waco_bit_width(uint64_t x) {
  return x ? 64 - __builtin_clzll(x) : 0;
}

/* ---- The packer's state
 * ------------------------------------------------------------------------------------- */

/* x / split without a division where that is exact: by shift, or by reciprocal for x below 2^32. */
struct waco_divider {
  int64_t split;
  int shift;      /* split is 1 << shift; -1 when it is no power of two */
  uint64_t magic; /* ceil(2^64 / split); 0: divide */
};

static inline struct waco_divider waco_make_divider(int64_t split, int64_t dim) {
  struct waco_divider d = {split, -1, 0};
  if ((split & (split - 1)) == 0) {
    d.shift = waco_bit_width((uint64_t)split) - 1;
  } else if (dim <= (int64_t)1 << 32) {
    d.magic = UINT64_MAX / (uint64_t)split + 1;
  }
  return d;
}

__extension__ typedef unsigned __int128 waco_uint128;

static inline int64_t waco_divide(const struct waco_divider* d, int64_t x) {
  if (d->shift >= 0) return x >> d->shift;
  if (d->magic) return (int64_t)(((waco_uint128)(uint64_t)x * d->magic) >> 64);
  return x / d->split;
}

struct waco_packer {
  const struct waco_format* format;
  int64_t nnz;
  const int64_t* const* coords;
  const void* values; /* [nnz] in the order of the input; null: none yet */
  int input_bytes;    /* of an element of `values`; 8 with 4 in storage: double to float */
  int threads;
  int levels;
  int group_last[WACO_MAX_LEVELS]; /* of every level: the last level of its tuple (itself when alone) */
  int last_counted; /* last level of the last C, E or L group: below it positions are arithmetic */
  int sliced;       /* whether level 2 is E or L */
  struct waco_divider divider[3];
  int sorted_modes; /* the input is sorted lexicographically by this many leading modes */
  uint64_t* order;  /* [nnz] low bits: index of the n-th nonzero in level order; null: the identity */
  uint64_t order_mask;
  int64_t* lane_length; /* sliced: slots of every row, [slices * lanes] */
  int32_t* stored_of;   /* sort window: row -> stored row; null: the identity */
  struct waco_storage* out;
};

/* Nonzeros n .. n + size - 1 of the level order. */
struct waco_block {
  int size;
  int64_t index[kWacoBlock];    /* in the input */
  int64_t raw[3][kWacoBlock];   /* coordinates by mode, gathered; unused for the identity order */
  int64_t outer[3][kWacoBlock]; /* coordinate / split, of split modes */
  int64_t inner[3][kWacoBlock]; /* coordinate % split, of split modes */
  const int64_t* mode[3];       /* coordinates by mode */
  const int64_t* coordinate[WACO_MAX_LEVELS]; /* coordinates by level */
  int64_t position[kWacoBlock];               /* at the level reached so far */
  uint8_t fresh[kWacoBlock];                  /* some level reached so far differs from the nonzero before */
  uint8_t lane_fresh[kWacoBlock];             /* sliced: `fresh` after level 1, a new row */
};

static inline void waco_load_block(const struct waco_packer* p, int64_t n, int size, struct waco_block* b) {
  b->size = size;
  if (p->order) {
    for (int j = 0; j < size; ++j) b->index[j] = (int64_t)(p->order[n + j] & p->order_mask);
  } else {
    for (int j = 0; j < size; ++j) b->index[j] = n + j;
  }
  for (int m = 0; m < p->format->order; ++m) {
    const int64_t* coords = p->coords[m];
    if (p->order) {
      for (int j = 0; j < size; ++j) b->raw[m][j] = coords[b->index[j]];
      b->mode[m] = b->raw[m];
    } else {
      b->mode[m] = coords + n;
    }
    const struct waco_divider d = p->divider[m];
    if (d.split == 1) continue;
    const int64_t* x = b->mode[m];
    if (d.shift >= 0) {
      for (int j = 0; j < size; ++j) b->outer[m][j] = x[j] >> d.shift;
    } else {
      for (int j = 0; j < size; ++j) b->outer[m][j] = waco_divide(&d, x[j]);
    }
    for (int j = 0; j < size; ++j) b->inner[m][j] = x[j] - b->outer[m][j] * d.split;
  }
  for (int l = 0; l < p->levels; ++l) {
    const int m = p->format->level[l].mode;
    b->coordinate[l] = p->divider[m].split == 1    ? b->mode[m]
                       : p->format->level[l].inner ? b->inner[m]
                                                   : b->outer[m];
  }
}

/* Marks the nonzeros whose coordinate differs from the one before; `previous` carries over from block to
 * block. */
static inline void waco_mark_changes(const int64_t* coordinate, int size, int64_t* previous, uint8_t* fresh) {
  if (size == 0) return;
  fresh[0] |= coordinate[0] != *previous;
  for (int j = 1; j < size; ++j) fresh[j] |= coordinate[j] != coordinate[j - 1];
  *previous = coordinate[size - 1];
}

/* ---- Checking the arguments
 * --------------------------------------------------------------------------------- */

/* Whether every part of every mode has one level, S follows C, S, E or L, and E or L is at level 2 below x1:U
 * x0:U. */
static inline int waco_format_is_sound(const struct waco_format* f) {
  if (f->order < 2 || f->order > 3 || f->num_levels < f->order || f->num_levels > WACO_MAX_LEVELS) return 0;
  int seen[3][2] = {{0, 0}, {0, 0}, {0, 0}}, parts = 0, sliced = 0, above = WACO_U;
  for (int m = 0; m < f->order; ++m) {
    if (f->split[m] < 1 || f->split[m] > (int64_t)1 << 31) return 0;
    parts += f->split[m] > 1 ? 2 : 1;
  }
  if (parts != f->num_levels) return 0;
  for (int l = 0; l < f->num_levels; ++l) {
    const int mode = f->level[l].mode, inner = f->level[l].inner, kind = f->level[l].kind;
    if (mode < 0 || mode >= f->order || inner < 0 || inner > (f->split[mode] > 1)) return 0;
    if (seen[mode][inner]++ || (inner && !seen[mode][0])) return 0;
    if (kind < WACO_U || kind > WACO_L || (kind == WACO_S && above == WACO_U)) return 0;
    if (sliced && kind != WACO_U && kind != WACO_S) return 0;
    if (kind == WACO_E || kind == WACO_L) {
      if (l != 2 || f->level[0].mode != 0 || f->level[1].mode != 0) return 0;
      if (f->level[0].kind != WACO_U || f->level[1].kind != WACO_U) return 0;
      sliced = 1;
    }
    above = kind;
  }
  return f->sort_window <= 1 || (sliced && f->sort_window % f->split[0] == 0);
}

/* Modes by which nonzeros begin .. end-1 are sorted, each compared with the one before; -1 for a duplicate.
 */
static inline int waco_sorted_modes(const int64_t* const* c, int order, int64_t begin, int64_t end) {
  int prefix = order;
  for (int64_t n = begin > 0 ? begin : 1; n < end; ++n) {
    int m = 0;
    while (m < order && c[m][n] == c[m][n - 1]) ++m;
    if (m == order) return -1;
    if (m < prefix && c[m][n] < c[m][n - 1]) prefix = m;
  }
  return prefix;
}

/* Whether some coordinate of nonzeros begin .. end-1 is out of range. */
static inline int waco_is_out_of_range(const int64_t* coords, int64_t dim, int64_t begin, int64_t end) {
  int bad = 0;
  for (int64_t n = begin; n < end; ++n) bad |= (uint64_t)coords[n] >= (uint64_t)dim;
  return bad;
}

/* Whether nonzeros begin .. end-1 of a matrix ascend strictly, without a branch each. */
static inline int waco_rows_ascend(const int64_t* rows, const int64_t* columns, int64_t begin, int64_t end) {
  int bad = 0;
  for (int64_t n = begin > 0 ? begin : 1; n < end; ++n)
    bad |= (rows[n] < rows[n - 1]) | ((rows[n] == rows[n - 1]) & (columns[n] <= columns[n - 1]));
  return !bad;
}

/* Checks ranges and finds how far the input is sorted; returns 0 for a coordinate out of range or a
 * duplicate. */
static inline int waco_check_coordinates(struct waco_packer* p, const int64_t* dims) {
  const int order = p->format->order;
  int ok = 1, sorted = order;
  waco_parallel(p->threads, [&](int t) {
    const int64_t end = waco_share(p->nnz, p->threads, t + 1);
    int bad = 0, prefix = order;
    for (int64_t n = waco_share(p->nnz, p->threads, t), next; n < end; n = next) {
      next = end - n < kWacoBlock ? end : n + kWacoBlock;
      for (int m = 0; m < order; ++m) bad |= waco_is_out_of_range(p->coords[m], dims[m], n, next);
      if (order == 2 && waco_rows_ascend(p->coords[0], p->coords[1], n, next)) continue;
      const int modes = waco_sorted_modes(p->coords, order, n, next);
      bad |= modes < 0;
      prefix = modes < prefix ? modes : prefix;
    }
    if (bad) __atomic_store_n(&ok, 0, __ATOMIC_RELAXED);
    int seen = __atomic_load_n(&sorted, __ATOMIC_RELAXED);
    while (prefix < seen &&
           !__atomic_compare_exchange_n(&sorted, &seen, prefix, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
  });
  p->sorted_modes = sorted;
  return ok;
}

/* Whether two nonzeros share all coordinates; adjacent in level order, so only needed for unsorted input. */
static inline int waco_has_duplicates(const struct waco_packer* p) {
  int found = 0;
  waco_parallel(p->threads, [&](int t) {
    const int64_t begin = waco_share(p->nnz, p->threads, t), end = waco_share(p->nnz, p->threads, t + 1);
    for (int64_t n = begin > 0 ? begin : 1; n < end; ++n) {
      const int64_t a = (int64_t)(p->order[n - 1] & p->order_mask),
                    b = (int64_t)(p->order[n] & p->order_mask);
      int same = 1;
      for (int m = 0; m < p->format->order; ++m) same &= p->coords[m][a] == p->coords[m][b];
      if (same) __atomic_store_n(&found, 1, __ATOMIC_RELAXED);
    }
  });
  return found;
}

/* ---- Sorting
   ------------------------------------------------------------------------------------------------ An item is
   a key above an index: items of equal key that enter in index order leave in it, and whole items are
   distinct numbers. */

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

/* ---- The order of the nonzeros
 * ------------------------------------------------------------------------------ */

/* Some bits of one level's coordinate, as part of a sort key. */
struct waco_field {
  int level, shift, bits, at;
};

/* One stable sort inside every segment of equal leading levels. */
struct waco_sort_pass {
  int num_fields, key_bits, index_bits;
  struct waco_field field[WACO_MAX_LEVELS];
};

/* What the input order already gives: levels 0 .. lead-1 ascend, and stability orders the levels from `tail`
 * on. */
struct waco_order_plan {
  int lead, tail;
  int lead_modes;   /* modes all of whose parts lead */
  int lead_partial; /* whether the outer part of the next mode leads too */
};

static inline struct waco_order_plan waco_plan_order(const struct waco_packer* p) {
  struct waco_order_plan plan = {0, p->levels, 0, 0};
  const struct waco_format* f = p->format;
  while (plan.lead < p->levels && plan.lead_modes < p->sorted_modes) {
    if (f->level[plan.lead].mode != plan.lead_modes || f->level[plan.lead].inner != plan.lead_partial) break;
    ++plan.lead;
    if (f->split[plan.lead_modes] > 1 && !plan.lead_partial) {
      plan.lead_partial = 1;
    } else {
      plan.lead_partial = 0;
      ++plan.lead_modes;
    }
  }
  if (p->sorted_modes < f->order) return plan;
  /* Where all levels above are equal, the input is sorted by the remaining parts in mode order. */
  plan.tail = p->levels - 1;
  while (plan.tail > plan.lead && f->level[plan.tail - 1].mode * 2 + f->level[plan.tail - 1].inner <
                                      f->level[plan.tail].mode * 2 + f->level[plan.tail].inner)
    --plan.tail;
  return plan;
}

/* Takes fields from the least significant end of levels lead .. *level, of which *used bits are done. */
static inline struct waco_sort_pass waco_next_pass(const struct waco_packer* p, int lead, int* level,
                                                   int* used) {
  struct waco_sort_pass pass;
  memset(&pass, 0, sizeof pass);
  pass.index_bits = waco_bit_width((uint64_t)p->nnz);
  while (*level >= lead && pass.key_bits < 64 - pass.index_bits) {
    const int width = waco_bit_width((uint64_t)(p->out->level[*level].extent - 1)) - *used;
    const int room = 64 - pass.index_bits - pass.key_bits, bits = width < room ? width : room;
    if (bits > 0) {
      const struct waco_field field = {*level, *used, bits, pass.index_bits + pass.key_bits};
      pass.field[pass.num_fields++] = field;
      pass.key_bits += bits;
    }
    *used += bits;
    if (bits == width) {
      --*level;
      *used = 0;
    }
  }
  return pass;
}

static inline void waco_make_items(const struct waco_sort_pass* pass, const struct waco_block* b, int64_t n,
                                   uint64_t* items) {
  for (int j = 0; j < b->size; ++j) items[j] = (uint64_t)(n + j);
  for (int f = 0; f < pass->num_fields; ++f) {
    const struct waco_field field = pass->field[f];
    const int64_t* c = b->coordinate[field.level];
    const uint64_t mask = ((uint64_t)1 << field.bits) - 1;
    for (int j = 0; j < b->size; ++j) items[j] |= ((uint64_t)c[j] >> field.shift & mask) << field.at;
  }
}

/* Segments too long for one thread, left for waco_sort_parallel. */
struct waco_long_segments {
  int64_t limit;
  int64_t capacity, count;
  int64_t* range; /* [2 * capacity] */
};

/* A thread's scratch for sorting a segment; grows. */
struct waco_sort_scratch {
  uint64_t* memory;
  int64_t capacity;
};

static inline int waco_sort_segment(uint64_t* items, int64_t begin, int64_t end, int low,
                                    struct waco_sort_scratch* scratch, struct waco_long_segments* longs) {
  const int64_t n = end - begin;
  if (n < 2) return 1;
  if (n > longs->limit) {
    const int64_t k = __atomic_fetch_add(&longs->count, 1, __ATOMIC_RELAXED);
    longs->range[2 * k] = begin;
    longs->range[2 * k + 1] = end;
    return 1;
  }
  if (n > scratch->capacity) {
    free(scratch->memory);
    scratch->capacity = n * 2;
    scratch->memory = (uint64_t*)waco_allocate(scratch->capacity, sizeof *items);
    if (!scratch->memory) return 0;
  }
  if (waco_sort_items(items + begin, scratch->memory, n, low) != items + begin)
    memcpy(items + begin, scratch->memory, (size_t)n * sizeof *items);
  return 1;
}

/* Builds and sorts the segments that start in [begin, end); the last may reach beyond. */
static inline int waco_sort_chunk(const struct waco_packer* p, const struct waco_order_plan* plan,
                                  const struct waco_sort_pass* pass, uint64_t* items, int64_t begin,
                                  int64_t end, struct waco_sort_scratch* scratch,
                                  struct waco_long_segments* longs) {
  struct waco_block b;
  uint64_t keys[kWacoBlock];
  int64_t previous[3] = {0, 0, 0}, start = -1;
  const int lead_modes = plan->lead_modes + plan->lead_partial;
  for (int64_t n = begin > 0 ? begin - 1 : 0; n < p->nnz; n += b.size) {
    const int before = begin > 0 && n == begin - 1; /* one nonzero first, to compare with */
    const int64_t left = p->nnz - n;
    waco_load_block(p, n, before ? 1 : left < kWacoBlock ? (int)left : kWacoBlock, &b);
    memset(b.fresh, 0, sizeof b.fresh);
    if (n == 0) b.fresh[0] = 1;
    for (int m = 0; m < lead_modes; ++m)
      waco_mark_changes(m < plan->lead_modes ? b.mode[m] : b.outer[m], b.size, &previous[m], b.fresh);
    if (before) continue;
    waco_make_items(pass, &b, n, keys);
    for (int j = 0; j < b.size; ++j) {
      if (b.fresh[j]) {
        if (start >= 0 && !waco_sort_segment(items, start, n + j, pass->index_bits, scratch, longs)) return 0;
        if (n + j >= end) return 1;
        start = n + j;
      }
      if (start >= 0) items[n + j] = keys[j];
    }
    if (start < 0 && n + b.size >= end) return 1;
  }
  return start < 0 || waco_sort_segment(items, start, p->nnz, pass->index_bits, scratch, longs);
}

/* Sorts inside the segments of equal leading levels. */
static inline int waco_sort_in_segments(const struct waco_packer* p, const struct waco_order_plan* plan,
                                        const struct waco_sort_pass* pass, uint64_t* items) {
  const int64_t chunk = 16384;
  struct waco_long_segments longs = {p->nnz / (8 * p->threads), 0, 0, nullptr};
  if (longs.limit < 1 << 18) longs.limit = 1 << 18;
  longs.capacity = p->nnz / longs.limit + 1;
  longs.range = (int64_t*)waco_allocate(2 * longs.capacity, sizeof *longs.range);
  int ok = longs.range != nullptr;
  int64_t next = 0;
  if (ok) {
    waco_parallel(p->threads, [&](int) {
      struct waco_sort_scratch scratch = {nullptr, 0};
      for (int64_t begin; (begin = __atomic_fetch_add(&next, chunk, __ATOMIC_RELAXED)) < p->nnz;) {
        const int64_t end = begin + chunk < p->nnz ? begin + chunk : p->nnz;
        if (!waco_sort_chunk(p, plan, pass, items, begin, end, &scratch, &longs))
          __atomic_store_n(&ok, 0, __ATOMIC_RELAXED);
      }
      free(scratch.memory);
    });
  }
  for (int64_t k = 0; ok && k < longs.count; ++k) {
    const int64_t begin = longs.range[2 * k], end = longs.range[2 * k + 1];
    ok = waco_sort_parallel(items + begin, end - begin, pass->index_bits, pass->key_bits, p->threads);
  }
  free(longs.range);
  return ok;
}

/* Sorts all nonzeros at once: no leading level is in order. */
static inline int waco_sort_all(const struct waco_packer* p, const struct waco_sort_pass* pass,
                                uint64_t* items) {
  waco_parallel(p->threads, [=](int t) {
    struct waco_block b;
    const int64_t end = waco_share(p->nnz, p->threads, t + 1);
    for (int64_t n = waco_share(p->nnz, p->threads, t); n < end; n += b.size) {
      waco_load_block(p, n, end - n < kWacoBlock ? (int)(end - n) : kWacoBlock, &b);
      waco_make_items(pass, &b, n, items + n);
    }
  });
  return waco_sort_parallel(items, p->nnz, pass->index_bits, pass->key_bits, p->threads);
}

/* Sets p->order; stable passes from the least significant levels up when one key does not hold all. */
static inline int waco_order_nonzeros(struct waco_packer* p) {
  const struct waco_order_plan plan = waco_plan_order(p);
  int level = plan.tail - 1, used = 0;
  while (p->nnz > 1 && level >= plan.lead) {
    const struct waco_sort_pass pass = waco_next_pass(p, plan.lead, &level, &used);
    if (pass.key_bits == 0) break;
    uint64_t* items = (uint64_t*)waco_allocate(p->nnz, sizeof *items);
    if (!items) return WACO_OUT_OF_MEMORY;
    const int ok =
        plan.lead > 0 ? waco_sort_in_segments(p, &plan, &pass, items) : waco_sort_all(p, &pass, items);
    if (!ok) {
      free(items);
      return WACO_OUT_OF_MEMORY;
    }
    const uint64_t mask = ((uint64_t)1 << pass.index_bits) - 1;
    for (int64_t n = 0; p->order && n < p->nnz; ++n) items[n] = p->order[items[n] & mask] & mask;
    free(p->order);
    p->order = items;
    p->order_mask = mask;
  }
  return p->sorted_modes < p->format->order && p->order && waco_has_duplicates(p) ? WACO_BAD_ARGUMENT
                                                                                  : WACO_OK;
}

/* ---- Counting
 * ----------------------------------------------------------------------------------------------- */

/* Where a thread stands in its range of nonzeros. Arrays by level; those of groups at the group's first
 * level. */
struct waco_cursor {
  int64_t previous[WACO_MAX_LEVELS];    /* coordinate of the nonzero before */
  int64_t entries[WACO_MAX_LEVELS];     /* C: entries so far */
  int64_t last_parent[WACO_MAX_LEVELS]; /* C: parent of the entry before, -1 for none */
  int64_t lane;                         /* sliced: row of the nonzero before */
  int64_t lane_slots;                   /* sliced: slots of that row so far */
  int lane_changed;                     /* counting: a row began inside the range */
};

/* Marks new entries down to level `l`; below the last level every nonzero is one. */
static inline void waco_mark_level(const struct waco_packer* p, struct waco_cursor* c, struct waco_block* b,
                                   int l) {
  if (l == p->levels - 1) {
    memset(b->fresh, 1, (size_t)b->size);
  } else {
    waco_mark_changes(b->coordinate[l], b->size, &c->previous[l], b->fresh);
  }
  if (l == 1 && p->sliced) memcpy(b->lane_fresh, b->fresh, (size_t)b->size);
}

static inline void waco_add_lane(const struct waco_packer* p, const struct waco_cursor* c) {
  if (c->lane_slots > 0) __atomic_fetch_add(&p->lane_length[c->lane], c->lane_slots, __ATOMIC_RELAXED);
}

static inline void waco_count_slots(const struct waco_packer* p, struct waco_cursor* c,
                                    const struct waco_block* b) {
  for (int j = 0; j < b->size; ++j) {
    if (b->lane_fresh[j]) {
      waco_add_lane(p, c);
      c->lane = b->mode[0][j];
      c->lane_slots = 0;
      c->lane_changed = 1;
    }
    c->lane_slots += b->fresh[j];
  }
}

static inline void waco_count_block(const struct waco_packer* p, struct waco_cursor* c,
                                    struct waco_block* b) {
  for (int l = 0; l <= p->last_counted; ++l) {
    waco_mark_level(p, c, b, l);
    int first = l;
    while (first > 0 && p->group_last[first - 1] == p->group_last[l]) --first;
    if (l != p->group_last[l]) continue;
    if (p->format->level[first].kind == WACO_C) {
      int64_t sum = 0;
      for (int j = 0; j < b->size; ++j) sum += b->fresh[j];
      c->entries[first] += sum;
    } else if (p->format->level[first].kind != WACO_U) {
      waco_count_slots(p, c, b);
    }
  }
}

/* Coordinates of the nonzero before the range, so that its first entry is recognised. */
static inline void waco_start_cursor(const struct waco_packer* p, int64_t begin, struct waco_cursor* c,
                                     struct waco_block* b) {
  memset(c, 0, sizeof *c);
  for (int l = 0; l < WACO_MAX_LEVELS; ++l) c->last_parent[l] = -1;
  if (begin == 0) return;
  waco_load_block(p, begin - 1, 1, b);
  for (int l = 0; l < p->levels; ++l) c->previous[l] = b->coordinate[l][0];
  c->lane = b->mode[0][0];
}

static inline void waco_begin_block(const struct waco_packer* p, int64_t n, int64_t end,
                                    struct waco_block* b) {
  waco_load_block(p, n, end - n < kWacoBlock ? (int)(end - n) : kWacoBlock, b);
  memset(b->fresh, 0, sizeof b->fresh);
  if (n == 0) b->fresh[0] = 1;
}

/* Counts the range of every thread and turns the counts into the state each range starts from: total entries
   beyond the last thread, at cursors[threads]. */
static inline void waco_count(const struct waco_packer* p, struct waco_cursor* cursors) {
  int only = !p->sliced; /* whether every counted entry is one nonzero: CSR, COO */
  for (int l = 0; l < p->levels; ++l)
    only &= p->format->level[l].kind != WACO_C || p->group_last[l] == p->levels - 1;
  waco_parallel(p->threads, [=](int t) {
    struct waco_block b;
    struct waco_cursor c;
    const int64_t begin = waco_share(p->nnz, p->threads, t), end = waco_share(p->nnz, p->threads, t + 1);
    waco_start_cursor(p, begin, &c, &b);
    if (only) {
      for (int l = 0; l < p->levels; ++l) c.entries[l] = end - begin;
    } else {
      for (int64_t n = begin; n < end; n += b.size) {
        waco_begin_block(p, n, end, &b);
        waco_count_block(p, &c, &b);
      }
      if (p->sliced) waco_add_lane(p, &c);
    }
    cursors[t] = c;
  });
  struct waco_cursor sum;
  memset(&sum, 0, sizeof sum);
  for (int t = 0; t <= p->threads; ++t) {
    const struct waco_cursor c = cursors[t];
    for (int l = 0; l < p->levels; ++l) cursors[t].entries[l] = sum.entries[l];
    cursors[t].lane_slots = sum.lane_slots;
    if (t == p->threads) break;
    for (int l = 0; l < p->levels; ++l) sum.entries[l] += c.entries[l];
    sum.lane_slots = c.lane_slots + (c.lane_changed ? 0 : sum.lane_slots);
  }
}

/* ---- Sizes of the levels
 * ------------------------------------------------------------------------------------ */

static inline int waco_crd_bytes(int64_t extent) {
  return extent <= (int64_t)1 << 8 ? 1 : extent <= (int64_t)1 << 16 ? 2 : extent <= (int64_t)1 << 32 ? 4 : 8;
}

static inline int64_t waco_load_pos(const struct waco_storage* s, int level, int64_t i) {
  return s->pos_bytes == 4 ? ((const int32_t*)s->level[level].pos)[i]
                           : ((const int64_t*)s->level[level].pos)[i];
}

/* pos[begin .. end) = value. */
static inline void waco_fill_pos(struct waco_storage* s, int level, int64_t begin, int64_t end,
                                 int64_t value) {
  if (s->pos_bytes == 4) {
    int32_t* pos = (int32_t*)s->level[level].pos;
    for (int64_t i = begin; i < end; ++i) pos[i] = (int32_t)value;
  } else {
    int64_t* pos = (int64_t*)s->level[level].pos;
    for (int64_t i = begin; i < end; ++i) pos[i] = value;
  }
}

static inline int64_t waco_load_crd(const struct waco_level* level, int64_t i) {
  switch (level->crd_bytes) {
    case 1:
      return ((const uint8_t*)level->crd)[i];
    case 2:
      return ((const uint16_t*)level->crd)[i];
    case 4:
      return ((const uint32_t*)level->crd)[i];
    default:
      return ((const int64_t*)level->crd)[i];
  }
}

static inline void waco_store_crd(const struct waco_level* level, int64_t i, int64_t value) {
  switch (level->crd_bytes) {
    case 1:
      ((uint8_t*)level->crd)[i] = (uint8_t)value;
      break;
    case 2:
      ((uint16_t*)level->crd)[i] = (uint16_t)value;
      break;
    case 4:
      ((uint32_t*)level->crd)[i] = (uint32_t)value;
      break;
    default:
      ((int64_t*)level->crd)[i] = value;
      break;
  }
}

/* Slots of stored row r. */
static inline int64_t waco_lane_slots(const struct waco_packer* p, int64_t r) {
  if (!p->out->row_of) return p->lane_length[r];
  return p->out->row_of[r] < 0 ? 0 : p->lane_length[p->out->row_of[r]];
}

/* The longest lane of a slice. */
static inline int64_t waco_slice_width(const struct waco_packer* p, int64_t slice) {
  const int64_t lanes = p->format->split[0];
  int64_t width = 0;
  for (int64_t r = slice * lanes; r < (slice + 1) * lanes; ++r) {
    const int64_t slots = waco_lane_slots(p, r);
    width = slots > width ? slots : width;
  }
  return width;
}

/* Sorts rows by slots inside every window, longest first, stably; sets row_of and stored_of. */
static inline int waco_sort_rows(struct waco_packer* p, int64_t rows, int64_t stored_rows) {
  if (stored_rows >= INT32_MAX) return 0;
  const int64_t window = p->format->sort_window < stored_rows ? p->format->sort_window : stored_rows;
  p->out->row_of = (int32_t*)waco_allocate(stored_rows, sizeof(int32_t));
  p->stored_of = (int32_t*)waco_allocate(stored_rows, sizeof(int32_t));
  const int64_t windows = window > 0 ? (stored_rows + window - 1) / window : 0;
  const int workers = windows < p->threads ? (int)windows : p->threads;
  uint64_t* scratch = (uint64_t*)waco_allocate(2 * window * workers, sizeof *scratch);
  const int ok = p->out->row_of && p->stored_of && scratch;
  if (ok && workers > 0) {
    int64_t next = 0;
    waco_parallel(workers, [&](int t) {
      uint64_t* items = scratch + 2 * window * t;
      for (int64_t begin; (begin = __atomic_fetch_add(&next, window, __ATOMIC_RELAXED)) < stored_rows;) {
        const int64_t n = begin + window < stored_rows ? window : stored_rows - begin;
        /* Rows take 31 bits; the complement of the length puts the longest first. */
        const uint64_t longest = ((uint64_t)1 << 33) - 1;
        for (int64_t j = 0; j < n; ++j) {
          const uint64_t slots = (uint64_t)p->lane_length[begin + j];
          items[j] = (longest - (slots < longest ? slots : longest)) << 31 | (uint64_t)j;
        }
        const uint64_t* sorted = waco_sort_items(items, items + window, n, 31);
        for (int64_t j = 0; j < n; ++j) {
          const int64_t row = begin + (int64_t)(sorted[j] & 0x7fffffff);
          p->out->row_of[begin + j] = row < rows ? (int32_t)row : -1;
          p->stored_of[row] = (int32_t)(begin + j);
        }
      }
    });
  }
  free(scratch);
  return ok;
}

/* Slots of all slices together (L), or the common width times the slices (E); sets the width of E. */
static inline int64_t waco_count_slice_slots(const struct waco_packer* p) {
  const int64_t slices = p->out->level[0].extent;
  int64_t sum = 0, longest = 0;
  for (int64_t s = 0; s < slices; ++s) {
    const int64_t width = waco_slice_width(p, s);
    sum += width;
    longest = width > longest ? width : longest;
  }
  if (p->format->level[2].kind == WACO_L) return sum;
  p->out->level[2].width = longest;
  return longest > 0 && slices > kWacoMaxBytes / longest ? kWacoMaxBytes : slices * longest;
}

/* Sets num_positions of every level and pos_bytes; 0 when a level is too large. */
static inline int waco_size_levels(struct waco_packer* p, const struct waco_cursor* total) {
  int64_t parents = 1, largest = 0;
  for (int l = 0; l < p->levels; ++l) {
    struct waco_level* level = &p->out->level[l];
    int64_t positions = parents, factor = 1;
    switch (p->format->level[l].kind) {
      case WACO_U:
        factor = level->extent;
        break;
      case WACO_C:
        positions = total->entries[l];
        break;
      case WACO_S:
        break;
      default:
        positions = waco_count_slice_slots(p);
        factor = p->format->split[0];
    }
    if (factor > 0 && positions > kWacoMaxBytes / factor) return 0;
    level->num_positions = parents = positions * factor;
    largest = parents > largest ? parents : largest;
  }
  p->out->num_stored = parents;
  p->out->pos_bytes = largest <= INT32_MAX ? 4 : 8;
  return 1;
}

/* Entries of a level's pos array; 0 for a level without one. */
static inline int64_t waco_pos_count(const struct waco_storage* s, int l) {
  if (s->format.level[l].kind == WACO_L) return s->level[0].num_positions + 1;
  if (s->format.level[l].kind != WACO_C) return 0;
  return (l > 0 ? s->level[l - 1].num_positions : 1) + 1;
}

static inline int waco_allocate_levels(struct waco_storage* s) {
  for (int l = 0; l < s->format.num_levels; ++l) {
    struct waco_level* level = &s->level[l];
    if (s->format.level[l].kind == WACO_U) continue;
    level->crd_bytes = waco_crd_bytes(level->extent);
    level->crd = waco_allocate(level->num_positions, level->crd_bytes);
    if (!level->crd) return 0;
    if (waco_pos_count(s, l) == 0) continue;
    level->pos = waco_allocate(waco_pos_count(s, l), s->pos_bytes);
    if (!level->pos) return 0;
  }
  s->values = waco_allocate(s->num_stored, s->value_bytes);
  s->source = (int64_t*)waco_allocate(s->num_nonzeros, sizeof *s->source);
  return s->values && s->source;
}

/* ---- Filling
 * ------------------------------------------------------------------------------------------------ */

template <class T>
static inline void waco_copy_crd(T* to, const int64_t* from, const uint8_t* pick, int n) {
  for (int i = 0; i < n; ++i) to[i] = (T)from[pick[i]];
}

static inline void waco_fill_crd(const struct waco_level* level, int64_t at, const int64_t* from,
                                 const uint8_t* pick, int n) {
  switch (level->crd_bytes) {
    case 1:
      waco_copy_crd((uint8_t*)level->crd + at, from, pick, n);
      break;
    case 2:
      waco_copy_crd((uint16_t*)level->crd + at, from, pick, n);
      break;
    case 4:
      waco_copy_crd((uint32_t*)level->crd + at, from, pick, n);
      break;
    default:
      waco_copy_crd((int64_t*)level->crd + at, from, pick, n);
      break;
  }
}

/* Writes the block's entries of the C group at `first` and moves positions from their parents to them. */
static inline void waco_fill_compressed(const struct waco_packer* p, struct waco_cursor* c,
                                        struct waco_block* b, int first) {
  static_assert(kWacoBlock <= 256, "places inside a block are bytes");
  uint8_t pick[kWacoBlock];
  const int64_t before = c->entries[first];
  int64_t last = c->last_parent[first];
  int n = 0;
  for (int j = 0; j < b->size; ++j) {
    if (b->fresh[j]) {
      if (b->position[j] != last) {
        waco_fill_pos(p->out, first, last + 1, b->position[j] + 1, before + n);
        last = b->position[j];
      }
      pick[n++] = (uint8_t)j;
    }
    b->position[j] = before + n - 1;
  }
  c->last_parent[first] = last;
  c->entries[first] = before + n;
  for (int l = first; l <= p->group_last[first]; ++l)
    waco_fill_crd(&p->out->level[l], before, b->coordinate[l], pick, n);
}

/* First slot of a slice, counted over all slices. */
static inline int64_t waco_slice_begin(const struct waco_storage* s, int64_t slice) {
  return s->format.level[2].kind == WACO_L ? waco_load_pos(s, 2, slice) : slice * s->level[2].width;
}

/* Writes the block's slots and moves positions from lanes to them. */
static inline void waco_fill_slots(const struct waco_packer* p, struct waco_cursor* c, struct waco_block* b) {
  const int64_t lanes = p->format->split[0];
  for (int j = 0; j < b->size; ++j) {
    c->lane_slots = b->lane_fresh[j] ? 1 : c->lane_slots + b->fresh[j];
    int64_t slice = b->outer[0][j], lane = b->inner[0][j];
    if (p->stored_of) {
      const int64_t stored = p->stored_of[b->mode[0][j]];
      slice = waco_divide(&p->divider[0], stored);
      lane = stored - slice * lanes;
    }
    const int64_t at = (waco_slice_begin(p->out, slice) + c->lane_slots - 1) * lanes + lane;
    b->position[j] = at;
    if (!b->fresh[j]) continue;
    for (int l = 2; l <= p->group_last[2]; ++l) waco_store_crd(&p->out->level[l], at, b->coordinate[l][j]);
  }
}

static inline void waco_fill_block(const struct waco_packer* p, struct waco_cursor* c, struct waco_block* b) {
  memset(b->position, 0, sizeof b->position);
  for (int l = 0; l < p->levels; l = p->group_last[l] + 1) {
    if (l <= p->last_counted)
      for (int k = l; k <= p->group_last[l]; ++k) waco_mark_level(p, c, b, k);
    if (p->format->level[l].kind == WACO_C) {
      waco_fill_compressed(p, c, b, l);
    } else if (p->format->level[l].kind == WACO_U) {
      const int64_t extent = p->out->level[l].extent;
      for (int j = 0; j < b->size; ++j) b->position[j] = b->position[j] * extent + b->coordinate[l][j];
    } else {
      waco_fill_slots(p, c, b);
    }
  }
}

/* Back to the start of the range: coordinates of the nonzero before it, and its positions as parents. */
static inline void waco_resume_cursor(const struct waco_packer* p, int64_t begin, struct waco_cursor* c,
                                      struct waco_block* b) {
  if (begin == 0) return;
  waco_load_block(p, begin - 1, 1, b);
  int64_t position = 0;
  for (int l = 0; l < p->levels; ++l) c->previous[l] = b->coordinate[l][0];
  for (int l = 0; l < p->levels && !p->sliced; l = p->group_last[l] + 1) {
    if (p->format->level[l].kind == WACO_C) {
      c->last_parent[l] = position;
      position = c->entries[l] - 1;
    } else {
      position = position * p->out->level[l].extent + b->coordinate[l][0];
    }
  }
}

/* Closes pos beyond the last entry. */
static inline void waco_finish_pos(const struct waco_packer* p, const struct waco_cursor* c) {
  for (int l = 0; l < p->levels; ++l) {
    if (p->format->level[l].kind != WACO_C) continue;
    waco_fill_pos(p->out, l, c->last_parent[l] + 1, waco_pos_count(p->out, l), c->entries[l]);
  }
}

/* Sets `source` and the values of the block. */
static inline void waco_fill_values(const struct waco_packer* p, const struct waco_block* b) {
  int64_t* source = p->out->source;
  for (int j = 0; j < b->size; ++j) source[b->index[j]] = b->position[j];
  if (!p->values) return;
  if (p->input_bytes == 4) {
    for (int j = 0; j < b->size; ++j)
      ((uint32_t*)p->out->values)[b->position[j]] = ((const uint32_t*)p->values)[b->index[j]];
  } else if (p->out->value_bytes == 8) {
    for (int j = 0; j < b->size; ++j)
      ((uint64_t*)p->out->values)[b->position[j]] = ((const uint64_t*)p->values)[b->index[j]];
  } else {
    for (int j = 0; j < b->size; ++j)
      ((float*)p->out->values)[b->position[j]] = (float)((const double*)p->values)[b->index[j]];
  }
}

static inline void waco_fill(const struct waco_packer* p, const struct waco_cursor* cursors) {
  waco_parallel(p->threads, [=](int t) {
    struct waco_block b;
    struct waco_cursor c = cursors[t];
    const int64_t begin = waco_share(p->nnz, p->threads, t), end = waco_share(p->nnz, p->threads, t + 1);
    waco_resume_cursor(p, begin, &c, &b);
    for (int64_t n = begin; n < end; n += b.size) {
      waco_begin_block(p, n, end, &b);
      waco_fill_block(p, &c, &b);
      waco_fill_values(p, &b);
    }
    if (t == p->threads - 1) waco_finish_pos(p, &c);
  });
}

/* First slots of the slices, for L. */
static inline void waco_fill_slice_pos(const struct waco_packer* p) {
  int64_t sum = 0;
  for (int64_t s = 0; s < p->out->level[0].extent; ++s) {
    waco_fill_pos(p->out, 2, s, s + 1, sum);
    sum += waco_slice_width(p, s);
  }
  waco_fill_pos(p->out, 2, p->out->level[0].extent, p->out->level[0].extent + 1, sum);
}

/* Repeats the last coordinate of every lane, 0 in an empty one, up to the width of its slice. */
static inline void waco_pad_slots(const struct waco_packer* p) {
  const int64_t lanes = p->format->split[0], slices = p->out->level[0].extent;
  waco_parallel(p->threads, [=](int t) {
    const int64_t end = waco_share(slices, p->threads, t + 1);
    for (int64_t s = waco_share(slices, p->threads, t); s < end; ++s) {
      const int64_t begin = waco_slice_begin(p->out, s), stop = waco_slice_begin(p->out, s + 1);
      for (int64_t lane = 0; lane < lanes; ++lane) {
        const int64_t used = begin + waco_lane_slots(p, s * lanes + lane);
        for (int l = 2; l <= p->group_last[2]; ++l) {
          const struct waco_level* level = &p->out->level[l];
          const int64_t last = used > begin ? waco_load_crd(level, (used - 1) * lanes + lane) : 0;
          for (int64_t slot = used; slot < stop; ++slot) waco_store_crd(level, slot * lanes + lane, last);
        }
      }
    }
  });
}

/* ---- Public functions
 * --------------------------------------------------------------------------------------- */

/// Releases the arrays and clears the struct; safe on a cleared one.
static inline void waco_free(struct waco_storage* s) {
  for (int l = 0; l < WACO_MAX_LEVELS; ++l) {
    free(s->level[l].pos);
    free(s->level[l].crd);
  }
  free(s->values);
  free(s->row_of);
  free(s->source);
  memset(s, 0, sizeof *s);
}

/// Replaces the values: `values` [num_nonzeros] in the order of the input, of s->value_bytes each. Fill stays
/// 0.
static inline void waco_update_values(struct waco_storage* s, const void* values, int threads) {
  threads = threads > 1 ? threads : 1;
  waco_parallel(threads, [=](int t) {
    const int64_t begin = waco_share(s->num_nonzeros, threads, t),
                  end = waco_share(s->num_nonzeros, threads, t + 1);
    if (s->value_bytes == 4) {
      const uint32_t* from = (const uint32_t*)values;
      for (int64_t n = begin; n < end; ++n) ((uint32_t*)s->values)[s->source[n]] = from[n];
    } else {
      const uint64_t* from = (const uint64_t*)values;
      for (int64_t n = begin; n < end; ++n) ((uint64_t*)s->values)[s->source[n]] = from[n];
    }
  });
}

/// The inverse: `stored` [num_stored] in storage order -> `out` [num_nonzeros] in the order of the input.
static inline void waco_unpack_values(const struct waco_storage* s, const void* stored, void* out,
                                      int threads) {
  threads = threads > 1 ? threads : 1;
  waco_parallel(threads, [=](int t) {
    const int64_t begin = waco_share(s->num_nonzeros, threads, t),
                  end = waco_share(s->num_nonzeros, threads, t + 1);
    if (s->value_bytes == 4) {
      for (int64_t n = begin; n < end; ++n) ((uint32_t*)out)[n] = ((const uint32_t*)stored)[s->source[n]];
    } else {
      for (int64_t n = begin; n < end; ++n) ((uint64_t*)out)[n] = ((const uint64_t*)stored)[s->source[n]];
    }
  });
}

/// Bytes of pos, crd, values and row permutation; without padding and without `source`.
static inline int64_t waco_storage_bytes(const struct waco_storage* s) {
  int64_t bytes = s->num_stored * s->value_bytes;
  for (int l = 0; l < s->format.num_levels; ++l)
    bytes += waco_pos_count(s, l) * s->pos_bytes + s->level[l].num_positions * s->level[l].crd_bytes;
  if (s->row_of) bytes += s->level[1].num_positions * (int64_t)sizeof *s->row_of;
  return bytes;
}

static inline int waco_pack_levels(struct waco_packer* p, const int64_t* dims) {
  struct waco_storage* s = p->out;
  int status = waco_order_nonzeros(p);
  if (status != WACO_OK) return status;
  struct waco_cursor* cursors = (struct waco_cursor*)waco_allocate(p->threads + 1, sizeof *cursors);
  if (!cursors) return WACO_OUT_OF_MEMORY;
  int ok = 1;
  if (p->sliced) {
    const int64_t stored_rows = s->level[0].extent * p->format->split[0];
    p->lane_length = (int64_t*)waco_allocate(stored_rows, sizeof(int64_t));
    ok = p->lane_length != nullptr;
    if (ok) waco_zero(p->lane_length, stored_rows * (int64_t)sizeof(int64_t), p->threads);
    if (ok) waco_count(p, cursors);
    if (ok && p->format->sort_window > 1) ok = waco_sort_rows(p, dims[0], stored_rows);
  } else {
    waco_count(p, cursors);
  }
  ok = ok && waco_size_levels(p, &cursors[p->threads]) && waco_allocate_levels(s);
  if (ok) {
    if (!p->values || s->num_stored > p->nnz)
      waco_zero(s->values, s->num_stored * s->value_bytes, p->threads);
    if (p->sliced && p->format->level[2].kind == WACO_L) waco_fill_slice_pos(p);
    waco_fill(p, cursors);
    if (p->sliced) waco_pad_slots(p);
  }
  free(cursors);
  return ok ? WACO_OK : WACO_OUT_OF_MEMORY;
}

/* waco_pack with values of `input_bytes` each, which may be doubles (8) to be stored as floats (4). */
static inline int waco_pack_converted(const struct waco_format* format, const int64_t* dims, int64_t nnz,
                                      const int64_t* const* coords, const void* values, int input_bytes,
                                      int value_bytes, int threads, struct waco_storage* out) {
  memset(out, 0, sizeof *out);
  if (nnz < 0 || (value_bytes != 4 && value_bytes != 8) || !waco_format_is_sound(format))
    return WACO_BAD_ARGUMENT;
  if (input_bytes != value_bytes && input_bytes != 8) return WACO_BAD_ARGUMENT;
  if (nnz > kWacoMaxBytes / 8) return WACO_OUT_OF_MEMORY;
  struct waco_packer p;
  memset(&p, 0, sizeof p);
  p.format = format;
  p.nnz = nnz;
  p.coords = coords;
  p.values = values;
  p.input_bytes = input_bytes;
  p.threads = threads > 1 ? threads : 1;
  p.levels = format->num_levels;
  p.out = out;
  for (int m = 0; m < format->order; ++m) {
    if (dims[m] < 0) return WACO_BAD_ARGUMENT;
    p.divider[m] = waco_make_divider(format->split[m], dims[m]);
    out->dim[m] = dims[m];
  }
  for (int l = p.levels - 1; l >= 0; --l) {
    const int mode = format->level[l].mode, kind = format->level[l].kind;
    const int64_t split = format->split[mode];
    out->level[l].extent = split == 1               ? dims[mode]
                           : format->level[l].inner ? split
                                                    : (dims[mode] + split - 1) / split;
    const int joined = l + 1 < p.levels && format->level[l + 1].kind == WACO_S;
    p.group_last[l] = joined ? p.group_last[l + 1] : l;
    if (p.last_counted == 0 && kind != WACO_U) p.last_counted = l;
    p.sliced |= kind == WACO_E || kind == WACO_L;
  }
  if (!waco_check_coordinates(&p, dims)) return WACO_BAD_ARGUMENT;
  out->format = *format;
  out->num_nonzeros = nnz;
  out->value_bytes = value_bytes;
  const int status = waco_pack_levels(&p, dims);
  free(p.order);
  free(p.lane_length);
  free(p.stored_of);
  if (status != WACO_OK) waco_free(out);
  return status;
}

/// Packs a sparse operand. `dims` [order]; `coords` [order][nnz], in any order (fastest when sorted by mode),
/// without duplicates; `values` [nnz] of `value_bytes` (4 or 8) each, or null for zeros. Returns
/// WACO_BAD_ARGUMENT for an unsound format, a coordinate out of range or a duplicate, WACO_OUT_OF_MEMORY when
/// an array is larger than memory or 1 TiB; `out` then holds nothing.
static inline int waco_pack(const struct waco_format* format, const int64_t* dims, int64_t nnz,
                            const int64_t* const* coords, const void* values, int value_bytes, int threads,
                            struct waco_storage* out) {
  return waco_pack_converted(format, dims, nnz, coords, values, value_bytes, value_bytes, threads, out);
}

/* ---- Partition
 * ---------------------------------------------------------------------------------------------- */

/* First stored value below position `at` of `level` (level 0: of a whole slice, for E and L). */
static inline int64_t waco_first_value(const struct waco_storage* s, int level, int64_t at) {
  for (int l = level + 1; l < s->format.num_levels; ++l) {
    switch (s->format.level[l].kind) {
      case WACO_U:
        at *= s->level[l].extent;
        break;
      case WACO_C:
        at = waco_load_pos(s, l, at);
        break;
      case WACO_S:
        break;
      case WACO_E:
        at *= s->level[l].width;
        break;
      default:
        at = waco_load_pos(s, l, at / s->level[1].extent) * s->level[1].extent;
    }
  }
  return at;
}

static inline int64_t waco_first_child(const struct waco_storage* s, int64_t x) {
  if (s->format.num_levels == 1) return x;
  switch (s->format.level[1].kind) {
    case WACO_U:
      return x * s->level[1].extent;
    case WACO_C:
      return waco_load_pos(s, 1, x);
    default:
      return x;
  }
}

/* Stored values and iterations before iteration x of level 0. */
static inline int64_t waco_work_before(const struct waco_storage* s, int64_t x) {
  return waco_first_value(s, 0, x) + x;
}

/* The largest position q of [low, high] with waco_first_value(level, q) + extra * q <= target; low when none.
 */
static inline int64_t waco_last_within(const struct waco_storage* s, int level, int extra, int64_t low,
                                       int64_t high, int64_t target) {
  while (low < high) {
    const int64_t middle = low + (high - low + 1) / 2;
    if (waco_first_value(s, level, middle) + extra * middle <= target) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

/* The nearest place to cut at or after x: between different first coordinates. */
static inline int64_t waco_next_cut(const struct waco_storage* s, int64_t x) {
  const int64_t all = s->level[0].num_positions;
  if (x <= 0 || x >= all || s->format.level[0].kind == WACO_U) return x < all ? x : all;
  const int64_t first = waco_load_crd(&s->level[0], x - 1);
  int64_t low = x, high = all; /* the first position beyond those of `first` */
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (waco_load_crd(&s->level[0], middle) <= first) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* The nearest place to cut at or before x. */
static inline int64_t waco_previous_cut(const struct waco_storage* s, int64_t x) {
  const int64_t all = s->level[0].num_positions;
  if (x <= 0 || x >= all || s->format.level[0].kind == WACO_U) return x < all ? x : all;
  const int64_t first = waco_load_crd(&s->level[0], x);
  int64_t low = 0, high = x; /* the first position of `first` */
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (waco_load_crd(&s->level[0], middle) < first) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// Cuts level 0 into `threads` contiguous ranges of equal work: stored values plus one per iteration of level
/// 0. `bounds` [2 * (threads + 1)] receives pairs (x, q): x an iteration of level 0 (U: coordinate, otherwise
/// position), q the first level-1 position of the range that begins there (x itself below a tuple or a single
/// level). Thread t owns iterations x_t .. x_{t+1}, the last one only when q_{t+1} is greater than its first
/// child position, and of those the level-1 positions [q_t, q_{t+1}). With `may_cut_rows` a boundary may fall
/// inside an iteration when level 0 is U and level 1 is C. A level 0 of several coordinates is cut only where
/// the first of them changes.
static inline void waco_partition(const struct waco_storage* s, int threads, int may_cut_rows,
                                  int64_t* bounds) {
  const int64_t all = s->level[0].num_positions, total = waco_work_before(s, all);
  const int cut = may_cut_rows && s->format.num_levels > 1 && s->format.level[0].kind == WACO_U &&
                  s->format.level[1].kind == WACO_C;
  for (int t = 0; t <= threads; ++t) {
    const int64_t target = t == threads ? total : total / threads * t + total % threads * t / threads;
    int64_t x = t == 0 ? 0 : waco_last_within(s, 0, 1, 0, all, target);
    int64_t q = waco_first_child(s, x);
    if (t > 0 && x < all && cut) {
      const int64_t end = waco_first_child(s, x + 1);
      q = waco_last_within(s, 1, 0, q, end, target - x);
      x += q == end;
    } else if (t > 0 && x < all) {
      const int64_t before = waco_previous_cut(s, x), after = waco_next_cut(s, x + 1);
      x = target - waco_work_before(s, before) <= waco_work_before(s, after) - target ? before : after;
      q = waco_first_child(s, x);
    }
    bounds[2 * t] = x;
    bounds[2 * t + 1] = q;
  }
}

#endif
