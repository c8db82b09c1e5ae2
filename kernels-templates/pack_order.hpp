// Packing, any format: the permutation that puts the nonzeros in level order.
#ifndef WACO_PACK_ORDER_HPP
#define WACO_PACK_ORDER_HPP

#include "pack_check.hpp"
#include "pack_sort.hpp"

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
    if (!scratch->memory) {
      scratch->capacity = 0;
      return 0;
    }
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
    if (p->order) {
      waco_parallel(p->threads, [=](int t) {
        const int64_t end = waco_share(p->nnz, p->threads, t + 1);
        for (int64_t n = waco_share(p->nnz, p->threads, t); n < end; ++n)
          items[n] = p->order[items[n] & mask] & mask;
      });
    }
    free(p->order);
    p->order = items;
    p->order_mask = mask;
  }
  return p->sorted_modes < p->format->order && p->order && waco_has_duplicates(p) ? WACO_BAD_ARGUMENT
                                                                                  : WACO_OK;
}

#endif
