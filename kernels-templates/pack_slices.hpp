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

/* Sorts the rows of every window; sets row_of and stored_of. */
static inline int waco_sort_rows(struct waco_packer* p, int64_t stored_rows, int threads) {
  if (stored_rows >= INT32_MAX) return 0;
  const int64_t window = p->format->sort_window < stored_rows ? p->format->sort_window : stored_rows;
  p->out->row_of = (int32_t*)waco_allocate(stored_rows, sizeof(int32_t));
  p->stored_of = (int32_t*)waco_allocate(stored_rows, sizeof(int32_t));
  const int64_t windows = window > 0 ? (stored_rows + window - 1) / window : 0;
  const int workers = windows < threads ? (int)windows : threads;
  uint64_t* scratch = (uint64_t*)waco_allocate(2 * window * workers, sizeof *scratch);
  const int ok = p->out->row_of && p->stored_of && scratch;
  if (ok && workers > 0) {
    int64_t next = 0;
    waco_parallel(workers, [&](int t) {
      for (int64_t begin; (begin = __atomic_fetch_add(&next, window, __ATOMIC_RELAXED)) < stored_rows;) {
        const int64_t n = begin + window < stored_rows ? window : stored_rows - begin;
        int32_t* row_of = p->out->row_of + begin;
        waco_sort_window(p, begin, n, scratch + 2 * window * t, row_of);
        for (int64_t j = 0; j < n; ++j) {
          const int64_t row = begin + row_of[j];
          row_of[j] = row < p->dims[0] ? (int32_t)row : -1;
          p->stored_of[row] = (int32_t)(begin + j);
        }
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

/* From the rows' lengths to the slices: sorts the rows, sets slice_begin and the width of E. */
static inline int waco_measure_slices(struct waco_packer* p, int threads) {
  const int64_t slices = p->out->level[0].extent;
  if (p->format->sort_window > 1 && !waco_sort_rows(p, slices * p->format->split[0], threads)) return 0;
  int64_t* begin = p->slice_begin = (int64_t*)waco_allocate(slices + 1, sizeof *begin);
  if (!begin) return 0;
  begin[0] = 0;
  waco_parallel(threads, [=](int t) {
    const int64_t last = waco_share(slices, threads, t + 1);
    for (int64_t s = waco_share(slices, threads, t); s < last; ++s) begin[s + 1] = waco_slice_width(p, s);
  });
  if (p->format->level[2].kind == WACO_L) {
    for (int64_t s = 0; s < slices; ++s) begin[s + 1] += begin[s];
    return 1;
  }
  int64_t longest = 0;
  for (int64_t s = 0; s < slices; ++s) longest = begin[s + 1] > longest ? begin[s + 1] : longest;
  if (longest > 0 && slices > kWacoMaxBytes / longest) return 0;
  for (int64_t s = 0; s < slices; ++s) begin[s + 1] = (s + 1) * longest;
  p->out->level[2].width = longest;
  return 1;
}

/* First slots of the slices, for L. */
static inline void waco_fill_slice_pos(const struct waco_packer* p) {
  if (p->format->level[2].kind != WACO_L) return;
  for (int64_t s = 0; s <= p->out->level[0].extent; ++s)
    waco_fill_pos(p->out, 2, s, s + 1, p->slice_begin[s]);
}

#endif
