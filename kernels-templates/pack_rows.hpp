// Packing of sorted input: its row pointers, checked, and ranges of rows for the threads.
#ifndef WACO_PACK_ROWS_HPP
#define WACO_PACK_ROWS_HPP

#include "pack_state.hpp"

/* The sign bit is set when some nonzero of begin .. end-1, begin > 0, is out of range or does not come after
   the one before. Without branches: differences of coordinates in range do not overflow, and -x of a
   difference x >= 0 is negative unless x is 0. */
static inline uint64_t waco_disorder(const struct waco_packer* p, const int64_t* rows, int64_t begin,
                                     int64_t end) {
  const int64_t *k = p->coords[1], *l = p->coords[2];
  const uint64_t last_row = (uint64_t)(p->dims[0] - 1), last_k = (uint64_t)(p->dims[1] - 1);
  uint64_t bad = 0;
  if (p->format->order == 2) {
    for (int64_t n = begin; n < end; ++n) {
      const uint64_t dr = (uint64_t)rows[n] - (uint64_t)rows[n - 1];
      const uint64_t dk = (uint64_t)k[n] - (uint64_t)k[n - 1];
      bad |= (uint64_t)rows[n] | (last_row - (uint64_t)rows[n]);
      bad |= dr | (uint64_t)k[n] | (last_k - (uint64_t)k[n]) | ((dk - 1) & ~(0 - dr));
    }
    return bad;
  }
  const uint64_t last_l = (uint64_t)(p->dims[2] - 1);
  for (int64_t n = begin; n < end; ++n) {
    const uint64_t dr = (uint64_t)rows[n] - (uint64_t)rows[n - 1];
    const uint64_t dk = (uint64_t)k[n] - (uint64_t)k[n - 1], dl = (uint64_t)l[n] - (uint64_t)l[n - 1];
    bad |= (uint64_t)rows[n] | (last_row - (uint64_t)rows[n]);
    bad |= dr | (uint64_t)k[n] | (last_k - (uint64_t)k[n]) | (uint64_t)l[n] | (last_l - (uint64_t)l[n]);
    bad |= (dk | ((dl - 1) & ~(0 - dk))) & ~(0 - dr);
  }
  return bad;
}

static inline int waco_first_is_in_range(const struct waco_packer* p) {
  for (int m = 1; m < p->format->order; ++m)
    if ((uint64_t)p->coords[m][0] >= (uint64_t)p->dims[m]) return 0;
  return 1;
}

/* The first nonzero at or after n that begins a row. */
static inline int64_t waco_next_row(const int64_t* rows, int64_t nnz, int64_t n) {
  while (n > 0 && n < nnz && rows[n] == rows[n - 1]) ++n;
  return n;
}

/* Row pointers of the rows that begin in begin .. end-1, both places where a row begins, and of the empty
   rows before them; 0 when the input is not sorted. Every nonzero stores its row's end, the last one stays.
 */
static inline int waco_point_to_rows(const struct waco_packer* p, int64_t begin, int64_t end,
                                     int64_t* first) {
  const int64_t* rows = p->coords[0];
  if (begin > 0 && (uint64_t)rows[begin - 1] >= (uint64_t)p->dims[0]) return 0;
  const int64_t from = begin > 0 ? rows[begin - 1] + 1 : 0, last = rows[end - 1];
  if (last < from || last >= p->dims[0]) return 0;
  memset(first + from + 1, 0, (size_t)(last + 1 - from) * sizeof *first);
  for (int64_t n = begin, next; n < end; n = next) {
    next = end - n < kWacoBlock ? end : n + kWacoBlock;
    if (waco_disorder(p, rows, n > 0 ? n : 1, next) >> 63 || rows[n] < from || rows[next - 1] > last)
      return 0;
    for (int64_t j = n; j < next; ++j) first[rows[j] + 1] = j + 1;
  }
  int64_t before = begin;
  for (int64_t r = from; r <= last; ++r) before = first[r + 1] = first[r + 1] ? first[r + 1] : before;
  return 1;
}

/* Whether row_ptr, given by the caller, ascends, and the columns of every row do. */
static inline int waco_check_row_ptr(const struct waco_packer* p, int threads) {
  const int64_t* columns = p->coords[1];
  int ok = 1;
  waco_parallel(threads, [&](int t) {
    const int64_t begin = waco_share(p->nnz, threads, t), end = waco_share(p->nnz, threads, t + 1);
    const uint64_t last = (uint64_t)(p->dims[1] - 1);
    uint64_t bad = 0;
    int64_t descents = 0;
    for (int64_t n = begin; n < end; ++n) bad |= (uint64_t)columns[n] | (last - (uint64_t)columns[n]);
    for (int64_t n = begin > 0 ? begin : 1; n < end; ++n) descents += columns[n] <= columns[n - 1];
    /* Columns may descend from one row to the next only. */
    int64_t r = waco_find_first(0, p->dims[0], [=](int64_t row) { return p->row_ptr[row] >= begin; });
    for (int64_t before = -1; r < p->dims[0] && p->row_ptr[r] < end; ++r) {
      const int64_t n = p->row_ptr[r];
      if (n > 0 && n != before) descents -= columns[n] <= columns[n - 1];
      before = n;
    }
    if (bad >> 63 || descents != 0) __atomic_store_n(&ok, 0, __ATOMIC_RELAXED);
  });
  return ok;
}

/* Sets p->row_ptr when the input is sorted, distinct and in range, which it checks; 1 when done, 0 when it is
   not or has many more rows than nonzeros, -1 when memory runs out. */
static inline int waco_find_rows(struct waco_packer* p, int threads) {
  if (p->row_ptr) return p->nnz == 0 || waco_check_row_ptr(p, threads);
  const int64_t rows = p->dims[0], nnz = p->nnz;
  if (rows > 4 * nnz + 1024) return 0;
  int64_t* first = (int64_t*)waco_allocate(rows + 1, sizeof *first);
  if (!first) return -1;
  p->owned = first;
  first[0] = 0;
  int ok = nnz == 0 || waco_first_is_in_range(p);
  /* Shares whose last rows do not ascend would write to the same pointers. */
  for (int64_t t = 1, cut = 0, before = -1; t <= threads && ok; ++t) {
    const int64_t share = waco_share(nnz, threads, (int)t);
    if (share > cut)
      cut = waco_next_row(p->coords[0], nnz, share); /* else in a row that was walked already */
    if (cut == 0) continue;
    ok = p->coords[0][cut - 1] >= before;
    before = p->coords[0][cut - 1];
  }
  if (ok && nnz > 0) {
    waco_parallel(threads, [&](int t) {
      const int64_t begin = waco_next_row(p->coords[0], nnz, waco_share(nnz, threads, t));
      const int64_t end = waco_next_row(p->coords[0], nnz, waco_share(nnz, threads, t + 1));
      if (begin < end && !waco_point_to_rows(p, begin, end, first))
        __atomic_store_n(&ok, 0, __ATOMIC_RELAXED);
    });
  }
  if (!ok) return 0;
  for (int64_t r = nnz > 0 ? p->coords[0][nnz - 1] + 2 : 0; r <= rows; ++r) first[r] = nnz;
  p->row_ptr = first;
  return 1;
}

/* The t-th cut of the rows into `parts` ranges of whole groups of `group` rows and about equal work, in
   groups. */
static inline int64_t waco_row_cut(const struct waco_packer* p, int64_t group, int parts, int t) {
  const int64_t rows = p->dims[0], groups = (rows + group - 1) / group, work = p->nnz + rows;
  const int64_t target = work / parts * t + work % parts * t / parts;
  if (t == parts) return groups;
  return waco_find_first(0, groups, [=](int64_t g) { return p->row_ptr[g * group] + g * group >= target; });
}

/* Row r's first nonzero; the end of the last row for rows beyond it. */
static inline int64_t waco_row_begin(const struct waco_packer* p, int64_t r) {
  return p->row_ptr[r < p->dims[0] ? r : p->dims[0]];
}

/* Writes the row of every nonzero begin .. end-1, of input that gives row pointers only. */
template <class T>
static inline void waco_expand_rows(const struct waco_packer* p, int64_t begin, int64_t end, T* rows) {
  /* The row of `begin` is the last one that begins at or before it. */
  const int64_t after = waco_find_first(1, p->dims[0], [=](int64_t row) { return p->row_ptr[row] > begin; });
  for (int64_t r = after - 1, n = begin; n < end; ++r)
    for (; n < end && n < p->row_ptr[r + 1]; ++n) rows[n] = (T)r;
}

/* Rows of all nonzeros, for input that gives row pointers only. */
static inline int waco_make_rows(struct waco_packer* p) {
  if (p->coords[0] || !p->row_ptr || p->nnz == 0) return 1;
  int64_t* rows = (int64_t*)waco_allocate(p->nnz, sizeof *rows);
  if (!rows) return 0;
  waco_parallel(p->threads, [=](int t) {
    waco_expand_rows(p, waco_share(p->nnz, p->threads, t), waco_share(p->nnz, p->threads, t + 1), rows);
  });
  p->coords[0] = p->owned = rows;
  return 1;
}

#endif
