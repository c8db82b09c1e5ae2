// Packing groups of rows whose columns are split into two levels, such as i1:U k1:C k0:C i0:U. Whole columns
// are stored in the same order: packed as blocks of one column, i1:U k:C i0:U, and taken apart.
#ifndef WACO_PACK_HALVES_HPP
#define WACO_PACK_HALVES_HPP

#include "pack_blocks.hpp"

/* Levels i1:U|C, then k1 and k0, and i0:U. */
static inline int waco_has_column_halves(const struct waco_format* f) {
  if (f->order != 2 || f->num_levels != 4 || f->split[0] > 1 << 16) return 0;
  if (f->level[0].mode != 0 || f->level[1].mode != 1 || f->level[2].mode != 1) return 0;
  if (f->level[0].kind > WACO_C || f->level[3].kind != WACO_U) return 0;
  if (f->level[1].kind == WACO_C && f->level[2].kind == WACO_S) return 1;
  return f->level[1].kind <= WACO_C && f->level[2].kind == WACO_C;
}

static inline struct waco_format waco_join_columns(const struct waco_format* f) {
  struct waco_format joined = *f;
  joined.num_levels = 3;
  joined.split[1] = 1;
  joined.level[1].kind = WACO_C;
  joined.level[2] = f->level[3];
  return joined;
}

/* What the threads share. */
struct waco_half_packer {
  struct waco_storage* out;
  const struct waco_storage* joined;
  const int32_t* pos; /* of the whole columns: [groups + 1] */
  int64_t groups;     /* positions of level 0 */
  struct waco_divider divider;
  int threads;
  int64_t* outer; /* [threads + 1] distinct k1 in the groups before those of a thread */
};

/* The t-th cut of the groups into ranges of about equally many columns. */
static inline int64_t waco_half_cut(const struct waco_half_packer* q, int t) {
  const int64_t target = waco_share(q->pos[q->groups], q->threads, t);
  if (t == q->threads) return q->groups;
  return waco_find_first(0, q->groups, [=](int64_t g) { return q->pos[g] >= target; });
}

/* Calls body(g, b, k, k1) for every column k of thread t's groups, and then end(g). */
template <class Body, class End>
static inline void waco_walk_halves(const struct waco_half_packer* q, int t, const Body& body,
                                    const End& end) {
  const int64_t last = waco_half_cut(q, t + 1);
  const struct waco_divider divider = q->divider;
  waco_with_crd(&q->joined->level[1], [&](const auto* crd) {
    for (int64_t g = waco_half_cut(q, t); g < last; ++g) {
      for (int64_t b = q->pos[g]; b < q->pos[g + 1]; ++b)
        body(g, b, (int64_t)crd[b], waco_divide(&divider, (int64_t)crd[b]));
      end(g);
    }
  });
}

/* k1:C k0:C: distinct k1 in thread t's groups. */
static inline int64_t waco_count_outer(const struct waco_half_packer* q, int t) {
  int64_t count = 0, before = -1;
  waco_walk_halves(
      q, t,
      [&](int64_t, int64_t, int64_t, int64_t k1) {
        count += k1 != before;
        before = k1;
      },
      [&](int64_t) { before = -1; });
  return count;
}

/* k1:U k0:C. */
static inline void waco_fill_outer_places(const struct waco_half_packer* q, int t) {
  const int64_t extent = q->out->level[1].extent;
  int32_t* pos = (int32_t*)q->out->level[2].pos;
  int64_t x = waco_half_cut(q, t) * extent; /* the place whose columns begin next */
  waco_walk_halves(
      q, t,
      [&](int64_t g, int64_t b, int64_t, int64_t k1) {
        for (; x <= g * extent + k1; ++x) pos[x] = (int32_t)b;
      },
      [&](int64_t g) {
        for (; x < (g + 1) * extent; ++x) pos[x] = q->pos[g + 1];
      });
}

/* k1:C k0:C. */
static inline void waco_fill_outer_entries(const struct waco_half_packer* q, int t) {
  const struct waco_level* level = &q->out->level[1];
  int32_t *pos = (int32_t*)level->pos, *inner_pos = (int32_t*)q->out->level[2].pos;
  int64_t at = q->outer[t], before = -1;
  waco_walk_halves(
      q, t,
      [&](int64_t, int64_t b, int64_t, int64_t k1) {
        if (k1 == before) return;
        waco_store_crd(level, at, k1);
        inner_pos[at++] = (int32_t)b;
        before = k1;
      },
      [&](int64_t g) {
        pos[g + 1] = (int32_t)at;
        before = -1;
      });
}

static inline void waco_fill_halves(const struct waco_half_packer* q, int t) {
  const struct waco_level* outer = &q->out->level[1];
  if (q->out->format.level[2].kind == WACO_S)
    waco_walk_halves(
        q, t, [=](int64_t, int64_t b, int64_t, int64_t k1) { waco_store_crd(outer, b, k1); }, [](int64_t) {});
  else if (q->out->format.level[1].kind == WACO_U)
    waco_fill_outer_places(q, t);
  else
    waco_fill_outer_entries(q, t);
  waco_with_crd(&q->out->level[2], [=](auto* crd) {
    const int64_t split = q->divider.split;
    waco_walk_halves(
        q, t, [=](int64_t, int64_t b, int64_t k, int64_t k1) { waco_put(crd + b, k - k1 * split); },
        [](int64_t) {});
  });
}

/* Moves what both formats share from `joined` and makes room for the halves. */
static inline int waco_take_joined(struct waco_packer* p, struct waco_storage* joined,
                                   const struct waco_half_packer* q) {
  struct waco_storage* s = p->out;
  const int64_t columns = joined->level[1].num_positions;
  const int64_t entries[WACO_MAX_LEVELS] = {
      q->groups, s->format.level[2].kind == WACO_S ? columns : q->outer[q->threads], columns};
  const int status = waco_size_levels(p, entries);
  if (status != WACO_OK) return status;
  if (s->pos_bytes != 4) return kWacoNotDirect;
  if (!waco_allocate_level(s, 1) || !waco_allocate_level(s, 2)) return WACO_OUT_OF_MEMORY;
  s->level[0] = joined->level[0];
  s->values = joined->values;
  s->source = joined->source;
  s->source_bytes = joined->source_bytes;
  joined->level[0].pos = joined->level[0].crd = joined->values = joined->source = nullptr;
  waco_fill_pos(s, 1, 0, s->format.level[1].kind == WACO_C, 0);
  if (s->format.level[2].kind == WACO_C) {
    const int64_t last = s->level[1].num_positions;
    waco_fill_pos(s, 2, last, last + 1, columns);
  } else {
    memcpy(s->level[1].pos, q->pos, (size_t)(q->groups + 1) * sizeof *q->pos);
  }
  return WACO_OK;
}

/* Needs p->row_ptr and fewer than 2^31 nonzeros. */
static inline int waco_pack_halves(struct waco_packer* p, int threads) {
  const struct waco_format format = waco_join_columns(p->format);
  struct waco_storage joined;
  struct waco_packer whole = *p;
  waco_begin_storage(&whole, &format, p->out->value_bytes, &joined);
  joined.level[0].crd_bytes = p->out->level[0].crd_bytes;
  if (joined.level[1].crd_bytes > 4) return kWacoNotDirect;
  /* Blocks of one column are packed by few threads where most columns are empty (see waco_pack_blocks). */
  if (4 * waco_block_threads(&whole) < threads) return kWacoNotDirect;
  /* Sizes that only this format has, before anything is allocated. */
  const int64_t groups = p->out->level[0].extent, outer = p->out->level[1].extent;
  if (p->format->level[1].kind == WACO_U && outer > 0 && groups > INT32_MAX / outer) return kWacoNotDirect;
  int status = waco_pack_blocks(&whole, threads);
  if (status == WACO_OK) {
    struct waco_half_packer q = {
        p->out,  &joined, (const int32_t*)joined.level[1].pos, joined.level[0].num_positions, p->divider[1],
        threads, nullptr};
    q.outer = (int64_t*)waco_allocate(threads + 1, sizeof *q.outer);
    status = WACO_OUT_OF_MEMORY;
    if (q.outer) {
      waco_zero(q.outer, (threads + 1) * (int64_t)sizeof *q.outer, 1);
      if (format.level[1].kind == WACO_C && p->format->level[2].kind == WACO_C)
        waco_parallel(threads, [&q](int t) { q.outer[t + 1] = waco_count_outer(&q, t); });
      for (int t = 0; t < threads; ++t) q.outer[t + 1] += q.outer[t];
      status = waco_take_joined(p, &joined, &q);
    }
    if (status == WACO_OK) waco_parallel(threads, [&q](int t) { waco_fill_halves(&q, t); });
    free(q.outer);
  }
  waco_free_arrays(&joined);
  return status;
}

#endif
