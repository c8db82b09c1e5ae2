// Packing, any format: entries of every compressed level, slots of every lane.
#ifndef WACO_PACK_COUNT_HPP
#define WACO_PACK_COUNT_HPP

#include "pack_state.hpp"

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

#endif
