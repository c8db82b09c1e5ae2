// Packing: whether coordinates are in range, distinct and sorted.
#ifndef WACO_PACK_CHECK_HPP
#define WACO_PACK_CHECK_HPP

#include "pack_state.hpp"

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
static inline int waco_check_coordinates(struct waco_packer* p) {
  const int order = p->format->order;
  int ok = 1, sorted = order;
  waco_parallel(p->threads, [&](int t) {
    const int64_t end = waco_share(p->nnz, p->threads, t + 1);
    int bad = 0, prefix = order;
    for (int64_t n = waco_share(p->nnz, p->threads, t), next; n < end; n = next) {
      next = end - n < kWacoBlock ? end : n + kWacoBlock;
      for (int m = 0; m < order; ++m) bad |= waco_is_out_of_range(p->coords[m], p->dims[m], n, next);
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

#endif
