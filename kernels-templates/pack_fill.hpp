// Packing, any format: coordinates, positions and values, in blocks of nonzeros in level order.
#ifndef WACO_PACK_FILL_HPP
#define WACO_PACK_FILL_HPP

#include "pack_count.hpp"
#include "pack_slices.hpp"

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
    const int64_t at = (p->slice_begin[slice] + c->lane_slots - 1) * lanes + lane;
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

/* stored[position] = input[index] for a block. */
template <class To, class From>
static inline void waco_scatter_block(const struct waco_block* b, const From* input, To* stored) {
  for (int j = 0; j < b->size; ++j) stored[b->position[j]] = (To)input[b->index[j]];
}

/* Sets `source` and the values of the block. */
static inline void waco_fill_values(const struct waco_packer* p, const struct waco_block* b) {
  void *source = p->out->source, *to = p->out->values;
  if (source && p->out->source_bytes == 4) {
    for (int j = 0; j < b->size; ++j) ((int32_t*)source)[b->index[j]] = (int32_t)b->position[j];
  } else if (source) {
    for (int j = 0; j < b->size; ++j) ((int64_t*)source)[b->index[j]] = b->position[j];
  }
  if (!p->values) return;
  if (waco_value_bytes(p->out->value_bytes) == 8)
    waco_scatter_block(b, (const uint64_t*)p->values, (uint64_t*)to);
  else if (waco_value_bytes(p->input_bytes) == 4)
    waco_scatter_block(b, (const uint32_t*)p->values, (uint32_t*)to);
  else
    waco_scatter_block(b, (const double*)p->values, (float*)to);
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

/* Repeats the last coordinate of every lane, 0 in an empty one, up to the width of its slice. */
static inline void waco_pad_slots(const struct waco_packer* p) {
  const int64_t lanes = p->format->split[0], slices = p->out->level[0].extent;
  waco_parallel(p->threads, [=](int t) {
    const int64_t end = waco_share(slices, p->threads, t + 1);
    for (int64_t s = waco_share(slices, p->threads, t); s < end; ++s) {
      const int64_t begin = p->slice_begin[s], stop = p->slice_begin[s + 1];
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

#endif
