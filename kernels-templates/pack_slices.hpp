// Packing E and L levels: the length of the rows, their order inside a window, and the widths of the slices.
#ifndef WACO_PACK_SLICES_HPP
#define WACO_PACK_SLICES_HPP

#include "pack_sizes.hpp"
#include "pack_sort.hpp"

/* Slots of stored row r. */
static inline int64_t waco_lane_slots(const struct waco_packer* p, int64_t r) {
  if (!p->out->row_of) return p->lane_length[r];
  return p->out->row_of[r] < 0 ? 0 : p->lane_length[p->out->row_of[r]];
}

/* Sorts the rows begin .. begin + n - 1 by slots, longest first, stably. `scratch` [2 * n]; `sorted` [n]
   receives offsets from `begin`. */
static inline void waco_sort_window(const struct waco_packer* p, int64_t begin, int64_t n, uint64_t* scratch,
                                    int32_t* sorted) {
  const int64_t* slots = p->lane_length + begin;
  int64_t longest = 0;
  for (int64_t j = 0; j < n; ++j) longest = slots[j] > longest ? slots[j] : longest;
  if (longest + 1 <= 4 * n) {
    int32_t *next = (int32_t*)scratch, sum = 0;
    memset(next, 0, (size_t)(longest + 1) * sizeof *next);
    for (int64_t j = 0; j < n; ++j) ++next[longest - slots[j]];
    for (int64_t x = 0; x <= longest; ++x) {
      const int32_t count = next[x];
      next[x] = sum;
      sum += count;
    }
    for (int64_t j = 0; j < n; ++j) sorted[next[longest - slots[j]]++] = (int32_t)j;
    return;
  }
  /* Rows take 31 bits; the complement of the length puts the longest first. */
  const uint64_t most = ((uint64_t)1 << 33) - 1;
  for (int64_t j = 0; j < n; ++j)
    scratch[j] = (most - ((uint64_t)slots[j] < most ? (uint64_t)slots[j] : most)) << 31 | (uint64_t)j;
  const uint64_t* items = waco_sort_items(scratch, scratch + n, n, 31);
  for (int64_t j = 0; j < n; ++j) sorted[j] = (int32_t)(items[j] & 0x7fffffff);
}

/* Places first .. last-1 of the window at `begin`: offsets in row_of to rows, and stored_of. */
static inline void waco_name_rows(const struct waco_packer* p, int64_t begin, int64_t first, int64_t last) {
  int32_t* row_of = p->out->row_of;
  for (int64_t j = first; j < last; ++j) {
    const int64_t row = begin + row_of[j];
    row_of[j] = row < p->dims[0] ? (int32_t)row : -1;
    p->stored_of[row] = (int32_t)j;
  }
}

/* Sorts all n rows as one window. Every thread counts all lengths: fewer threads where lengths are many. */
static inline void waco_sort_all_rows(const struct waco_packer* p, int64_t n, int threads,
                                      uint64_t* scratch) {
  const int64_t* slots = p->lane_length;
  int32_t *row_of = p->out->row_of, *counts = (int32_t*)scratch;
  waco_parallel(threads, [=](int t) {
    const int64_t end = waco_share(n, threads, t + 1);
    int64_t most = 0;
    for (int64_t j = waco_share(n, threads, t); j < end; ++j) most = slots[j] > most ? slots[j] : most;
    scratch[t] = (uint64_t)most;
  });
  int64_t longest = 0;
  for (int t = 0; t < threads; ++t) longest = (int64_t)scratch[t] > longest ? (int64_t)scratch[t] : longest;
  const int64_t lengths = longest + 1, most_parts = n / (4 * lengths);
  const int parts = most_parts < threads ? (int)most_parts : threads;
  if (parts < 2) {
    waco_sort_window(p, 0, n, scratch, row_of);
  } else {
    waco_parallel(parts, [=](int t) {
      int32_t* count = counts + t * lengths;
      const int64_t end = waco_share(n, parts, t + 1);
      memset(count, 0, (size_t)lengths * sizeof *count);
      for (int64_t j = waco_share(n, parts, t); j < end; ++j) ++count[longest - slots[j]];
    });
    int32_t sum = 0;
    for (int64_t x = 0; x < lengths; ++x) {
      for (int t = 0; t < parts; ++t) {
        const int32_t count = counts[t * lengths + x];
        counts[t * lengths + x] = sum;
        sum += count;
      }
    }
    waco_parallel(parts, [=](int t) {
      int32_t* next = counts + t * lengths;
      const int64_t end = waco_share(n, parts, t + 1);
      for (int64_t j = waco_share(n, parts, t); j < end; ++j) row_of[next[longest - slots[j]]++] = (int32_t)j;
    });
  }
  waco_parallel(threads, [=](int t) {
    waco_name_rows(p, 0, waco_share(n, threads, t), waco_share(n, threads, t + 1));
  });
}

/* Sorts the rows of every window, of fewer than 2^31 rows; sets row_of and stored_of. */
static inline int waco_sort_rows(struct waco_packer* p, int64_t stored_rows, int threads) {
  const int64_t window = p->format->sort_window < stored_rows ? p->format->sort_window : stored_rows;
  p->out->row_of = (int32_t*)waco_allocate(stored_rows, sizeof(int32_t));
  p->stored_of = (int32_t*)waco_allocate(stored_rows, sizeof(int32_t));
  const int64_t windows = window > 0 ? (stored_rows + window - 1) / window : 0;
  const int workers = windows < threads ? (int)windows : threads;
  uint64_t* scratch = (uint64_t*)waco_allocate(2 * window * workers, sizeof *scratch);
  const int ok = p->out->row_of && p->stored_of && scratch;
  const int together = windows == 1 ? waco_useful_threads(window, threads) : 1;
  if (ok && together > 1) {
    waco_sort_all_rows(p, window, together, scratch);
  } else if (ok && workers > 0) {
    int64_t next = 0;
    waco_parallel(workers, [&](int t) {
      for (int64_t begin; (begin = __atomic_fetch_add(&next, window, __ATOMIC_RELAXED)) < stored_rows;) {
        const int64_t n = begin + window < stored_rows ? window : stored_rows - begin;
        waco_sort_window(p, begin, n, scratch + 2 * window * t, p->out->row_of + begin);
        waco_name_rows(p, begin, begin, begin + n);
      }
    });
  }
  free(scratch);
  return ok;
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

/* From the rows' lengths to the slices: sorts the rows, sets slice_begin and the width of E. A status. */
static inline int waco_measure_slices(struct waco_packer* p, int threads) {
  const int64_t slices = p->out->level[0].extent;
  if (p->format->sort_window > 1 && !waco_sort_rows(p, slices * p->format->split[0], threads))
    return WACO_OUT_OF_MEMORY;
  int64_t* begin = p->slice_begin = (int64_t*)waco_allocate(slices + 1, sizeof *begin);
  if (!begin) return WACO_OUT_OF_MEMORY;
  begin[0] = 0;
  waco_parallel(threads, [=](int t) {
    const int64_t last = waco_share(slices, threads, t + 1);
    for (int64_t s = waco_share(slices, threads, t); s < last; ++s) begin[s + 1] = waco_slice_width(p, s);
  });
  if (p->format->level[2].kind == WACO_L) {
    for (int64_t s = 0; s < slices; ++s) begin[s + 1] += begin[s];
    return WACO_OK;
  }
  int64_t longest = 0;
  for (int64_t s = 0; s < slices; ++s) longest = begin[s + 1] > longest ? begin[s + 1] : longest;
  if (longest > 0 && slices > kWacoMaxBytes / longest) return kWacoTooMany;
  for (int64_t s = 0; s < slices; ++s) begin[s + 1] = (s + 1) * longest;
  p->out->level[2].width = longest;
  return WACO_OK;
}

/* First slots of the slices, for L. */
static inline void waco_fill_slice_pos(const struct waco_packer* p) {
  if (p->format->level[2].kind != WACO_L) return;
  const int64_t count = p->out->level[0].extent + 1;
  waco_parallel(p->threads, [=](int t) {
    const int64_t end = waco_share(count, p->threads, t + 1);
    for (int64_t s = waco_share(count, p->threads, t); s < end; ++s)
      waco_fill_pos(p->out, 2, s, s + 1, p->slice_begin[s]);
  });
}

#endif
