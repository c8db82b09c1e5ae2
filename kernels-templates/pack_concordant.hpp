// Packing a sorted matrix whose levels are its modes in order: CSR, DCSR, COO. Coordinates and values stay
// where they are and only become narrower.
#ifndef WACO_PACK_CONCORDANT_HPP
#define WACO_PACK_CONCORDANT_HPP

#include "pack_rows.hpp"
#include "pack_sizes.hpp"

/* i:U k:C, i:C k:C or i:C k:S. */
static inline int waco_is_concordant(const struct waco_format* f) {
  return f->order == 2 && f->num_levels == 2 && f->level[0].mode == 0 && f->level[1].mode == 1 &&
         (f->level[0].kind == WACO_U ? f->level[1].kind == WACO_C
                                     : f->level[0].kind == WACO_C && f->level[1].kind >= WACO_C);
}

static inline void waco_narrow(const struct waco_level* level, const int64_t* from, int64_t begin,
                               int64_t end) {
  waco_with_crd(level, [=](auto* crd) {
    for (int64_t n = begin; n < end; ++n) waco_put(crd + n, from[n]);
  });
}

/* Rows begin .. end-1 that hold nonzeros. */
static inline int64_t waco_count_full_rows(const struct waco_packer* p, int64_t begin, int64_t end) {
  int64_t full = 0;
  for (int64_t r = begin; r < end; ++r) full += p->row_ptr[r] < p->row_ptr[r + 1];
  return full;
}

/* Level 0 and its children's pos for rows begin .. end-1, the full rows at .. at_end-1. Every row is written
   where the next full one goes, so that no branch depends on its length. */
static inline void waco_fill_full_rows(const struct waco_packer* p, int64_t begin, int64_t end, int64_t at,
                                       int64_t at_end) {
  int32_t* pos = (int32_t*)p->out->level[1].pos;
  const int64_t* first = p->row_ptr;
  waco_with_crd(&p->out->level[0], [=](auto* crd) {
    int64_t x = at;
    for (int64_t r = begin; r < end && x < at_end; ++r) {
      waco_put(crd + x, r);
      pos[x + 1] = (int32_t)first[r + 1];
      x += first[r] < first[r + 1];
    }
  });
}

static inline void waco_fill_concordant(const struct waco_packer* p, int t, int threads,
                                        const int64_t* full_before) {
  struct waco_storage* s = p->out;
  const int64_t begin = waco_share(p->nnz, threads, t), end = waco_share(p->nnz, threads, t + 1);
  const int64_t row = waco_share(p->dims[0], threads, t), row_end = waco_share(p->dims[0], threads, t + 1);
  if (p->format->level[0].kind == WACO_U) {
    int32_t* pos = (int32_t*)s->level[1].pos;
    for (int64_t r = row; r < row_end; ++r) pos[r + 1] = (int32_t)p->row_ptr[r + 1];
  } else if (p->format->level[1].kind == WACO_C) {
    waco_fill_full_rows(p, row, row_end, full_before[t], full_before[t + 1]);
  } else if (p->coords[0]) {
    waco_narrow(&s->level[0], p->coords[0], begin, end);
  } else {
    waco_with_crd(&s->level[0], [=](auto* crd) { waco_expand_rows(p, begin, end, crd); });
  }
  waco_narrow(&s->level[1], p->coords[1], begin, end);
  waco_place_values(p, begin, end);
}

/* Needs p->row_ptr and fewer than 2^31 nonzeros. */
static inline int waco_pack_concordant(struct waco_packer* p, int threads) {
  int64_t entries[WACO_MAX_LEVELS] = {p->nnz, p->nnz};
  int64_t* full = (int64_t*)waco_allocate(threads + 1, sizeof *full);
  if (!full) return WACO_OUT_OF_MEMORY;
  full[0] = 0;
  if (p->format->level[1].kind == WACO_C) {
    waco_parallel(threads, [=](int t) {
      full[t + 1] =
          waco_count_full_rows(p, waco_share(p->dims[0], threads, t), waco_share(p->dims[0], threads, t + 1));
    });
    for (int t = 0; t < threads; ++t) full[t + 1] += full[t];
    entries[0] = full[threads];
  }
  int status = waco_size_levels(p, entries);
  if (status == WACO_OK && p->out->pos_bytes != 4) status = kWacoNotDirect;
  if (status == WACO_OK && !waco_allocate_levels(p->out, 1, threads)) status = WACO_OUT_OF_MEMORY;
  if (status == WACO_OK) {
    waco_begin_pos(p);
    if (!p->values) waco_zero(p->out->values, p->out->num_stored * p->out->value_bytes, threads);
    waco_parallel(threads, [=](int t) { waco_fill_concordant(p, t, threads, full); });
  }
  free(full);
  return status;
}

#endif
