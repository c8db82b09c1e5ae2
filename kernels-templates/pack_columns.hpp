// Packing sorted input below U levels that take its nonzeros apart, such as columns (CSC) or tiles of them: a
// stable counting sort by parent position.
#ifndef WACO_PACK_COLUMNS_HPP
#define WACO_PACK_COLUMNS_HPP

#include "pack_rows.hpp"
#include "pack_sizes.hpp"

/* U levels, then C, or C and S.., whose coordinates ascend where the input does: in order of the modes. */
static inline int waco_is_in_columns(const struct waco_format* f) {
  int l = 0;
  while (l < f->num_levels && f->level[l].kind == WACO_U) ++l;
  if (l == 0 || l == f->num_levels || f->level[l].kind != WACO_C) return 0;
  for (++l; l < f->num_levels; ++l) {
    const int above = f->level[l - 1].mode * 2 + f->level[l - 1].inner;
    if (f->level[l].kind != WACO_S || f->level[l].mode * 2 + f->level[l].inner < above) return 0;
  }
  return 1;
}

/* What the threads share. */
struct waco_column_packer {
  const struct waco_packer* p;
  int threads;
  int first;       /* the C level */
  int64_t parents; /* positions of the level above */
  int32_t* count;  /* [threads][parents] nonzeros; then where the thread's next nonzero of the parent goes */
  int64_t* before; /* [threads + 1] nonzeros below the parents of a thread's share */
};

/* Calls body(n, block) for the nonzeros of thread t's share. */
template <class Body>
static inline void waco_walk_share(const struct waco_column_packer* q, int t, const Body& body) {
  struct waco_block b;
  const int64_t end = waco_share(q->p->nnz, q->threads, t + 1);
  for (int64_t n = waco_share(q->p->nnz, q->threads, t); n < end; n += b.size) {
    waco_load_block(q->p, n, end - n < kWacoBlock ? (int)(end - n) : kWacoBlock, &b);
    body(n, &b);
  }
}

/* Counts the nonzeros of every parent, which `source` receives. */
static inline void waco_count_parents(const struct waco_column_packer* q, int t) {
  const struct waco_packer* p = q->p;
  int32_t *count = q->count + t * q->parents, *source = (int32_t*)p->out->source;
  memset(count, 0, (size_t)q->parents * sizeof *count);
  waco_walk_share(q, t, [=](int64_t n, const struct waco_block* b) {
    int64_t parent[kWacoBlock] = {0};
    for (int l = 0; l < q->first; ++l) {
      const int64_t extent = p->out->level[l].extent;
      for (int j = 0; j < b->size; ++j) parent[j] = parent[j] * extent + b->coordinate[l][j];
    }
    for (int j = 0; j < b->size; ++j) ++count[source[n + j] = (int32_t)parent[j]];
  });
}

/* From counts to first places, thread after thread below every parent of share t. */
static inline void waco_sum_parents(const struct waco_column_packer* q, int t) {
  int32_t* pos = (int32_t*)q->p->out->level[q->first].pos;
  const int64_t end = waco_share(q->parents, q->threads, t + 1);
  int64_t sum = q->before[t];
  for (int64_t x = waco_share(q->parents, q->threads, t); x < end; ++x) {
    for (int64_t at = x; at < q->threads * q->parents; at += q->parents) {
      const int32_t count = q->count[at];
      q->count[at] = (int32_t)sum;
      sum += count;
    }
    pos[x + 1] = (int32_t)sum;
  }
}

static inline void waco_total_parents(const struct waco_column_packer* q, int t) {
  const int64_t begin = waco_share(q->parents, q->threads, t),
                end = waco_share(q->parents, q->threads, t + 1);
  int64_t sum = 0;
  for (int of = 0; of < q->threads; ++of)
    for (int64_t x = begin; x < end; ++x) sum += q->count[of * q->parents + x];
  q->before[t + 1] = sum;
}

static inline void waco_fill_columns(const struct waco_column_packer* q, int t) {
  const struct waco_packer* p = q->p;
  int32_t *next = q->count + t * q->parents, *source = (int32_t*)p->out->source;
  waco_walk_share(q, t, [=](int64_t n, const struct waco_block* b) {
    for (int j = 0; j < b->size; ++j) source[n + j] = next[source[n + j]]++;
    for (int l = q->first; l < p->levels; ++l) {
      const int64_t* x = b->coordinate[l];
      waco_with_crd(&p->out->level[l], [=](auto* crd) {
        for (int j = 0; j < b->size; ++j) waco_put(crd + source[n + j], x[j]);
      });
    }
    waco_place_values(p, n, n + b->size);
  });
}

/* Needs sorted input of fewer than 2^31 nonzeros. */
static inline int waco_pack_columns(struct waco_packer* p, int threads) {
  struct waco_column_packer q = {p, threads, 0, 0, nullptr, nullptr};
  while (p->format->level[q.first].kind == WACO_U) ++q.first;
  int64_t entries[WACO_MAX_LEVELS] = {0};
  entries[q.first] = p->nnz;
  const int status = waco_size_levels(p, entries);
  if (status != WACO_OK) return status;
  q.parents = p->out->level[q.first - 1].num_positions;
  /* Every thread counts for all parents: no more memory for that than for the nonzeros. */
  const int64_t most = 4 * p->nnz / (q.parents + 1);
  if (p->out->pos_bytes != 4 || (most == 0 && q.parents > 4096)) return kWacoNotDirect;
  if (q.threads > most) q.threads = most > 0 ? (int)most : 1;
  q.count = (int32_t*)waco_allocate(q.threads * q.parents, sizeof *q.count);
  q.before = (int64_t*)waco_allocate(q.threads + 1, sizeof *q.before);
  const int ok = q.count && q.before && waco_make_rows(p) && waco_allocate_levels(p->out, 0, threads);
  if (ok) {
    waco_begin_pos(p);
    if (!p->values) waco_zero(p->out->values, p->out->num_stored * p->out->value_bytes, threads);
    waco_parallel(q.threads, [&q](int t) { waco_count_parents(&q, t); });
    waco_parallel(q.threads, [&q](int t) { waco_total_parents(&q, t); });
    q.before[0] = 0;
    for (int t = 0; t < q.threads; ++t) q.before[t + 1] += q.before[t];
    waco_parallel(q.threads, [&q](int t) { waco_sum_parents(&q, t); });
    waco_parallel(q.threads, [&q](int t) { waco_fill_columns(&q, t); });
  }
  free(q.count);
  free(q.before);
  return ok ? WACO_OK : WACO_OUT_OF_MEMORY;
}

#endif
