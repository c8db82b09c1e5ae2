// Packing a sorted matrix or tensor whose rows lie side by side in the lanes of slices, ELL and SELL: a slot
// for each nonzero, or for each of a row's blocks of columns.
#ifndef WACO_PACK_LANES_HPP
#define WACO_PACK_LANES_HPP

#include "pack_rows.hpp"
#include "pack_slices.hpp"

/* i1:U i0:U, and then E or L with the other modes in order, whole (S), or with blocks of columns (U). */
static inline int waco_is_in_lanes(const struct waco_format* f) {
  if (f->num_levels != 4 && f->num_levels != f->order + 1) return 0;
  if ((f->level[2].kind != WACO_E && f->level[2].kind != WACO_L) || f->level[2].mode != 1) return 0;
  if (f->order == 2 && f->num_levels == 4) return f->level[3].kind == WACO_U;
  for (int l = 3; l < f->num_levels; ++l)
    if (f->level[l].mode != l - 1 || f->level[l].kind != WACO_S) return 0;
  return 1;
}

/* Slots that a row's nonzeros begin .. end-1 need. */
static inline int64_t waco_slots_of(const struct waco_packer* p, int64_t begin, int64_t end) {
  const struct waco_divider of_column = p->divider[1];
  if (of_column.split == 1) return end - begin;
  const int64_t* columns = p->coords[1];
  int64_t slots = 0, before = -1;
  for (int64_t n = begin; n < end; ++n) {
    const int64_t block = waco_divide(&of_column, columns[n]);
    slots += block != before;
    before = block;
  }
  return slots;
}

/* Slots at, at + lanes, .. of one level from the nonzeros begin .. end-1 of a row, then padding up to `width`
   slots. */
static inline void waco_fill_lane(const struct waco_level* level, const int64_t* from, int64_t begin,
                                  int64_t end, int64_t at, int64_t lanes, int64_t width) {
  waco_with_crd(level, [=](auto* crd) {
    auto* to = crd + at;
    for (int64_t n = begin; n < end; ++n, to += lanes) waco_put(to, from[n]);
    const int64_t last = end > begin ? from[end - 1] : 0;
    for (int64_t slot = end - begin; slot < width; ++slot, to += lanes) waco_put(to, last);
  });
}

/* The same with a slot for each block of columns, and the positions of the nonzeros. */
static inline void waco_fill_lane_blocks(const struct waco_packer* p, int64_t begin, int64_t end, int64_t at,
                                         int64_t lanes, int64_t width) {
  const struct waco_divider of_column = p->divider[1];
  const int64_t* columns = p->coords[1];
  int32_t* source = (int32_t*)p->out->source;
  waco_with_crd(&p->out->level[2], [=](auto* crd) {
    int64_t to = at - lanes, before = -1;
    for (int64_t n = begin; n < end; ++n) {
      const int64_t block = waco_divide(&of_column, columns[n]);
      to += block != before ? lanes : 0;
      before = block;
      waco_put(crd + to, block);
      source[n] = (int32_t)(to * of_column.split + columns[n] - block * of_column.split);
    }
    for (to += lanes; to < at + width * lanes; to += lanes) waco_put(crd + to, end > begin ? before : 0);
  });
}

static inline void waco_fill_slice(const struct waco_packer* p, int64_t slice) {
  struct waco_storage* s = p->out;
  const int64_t lanes = p->format->split[0], columns = p->format->split[1], slot = p->slice_begin[slice];
  const int64_t width = p->slice_begin[slice + 1] - slot;
  int32_t* source = (int32_t*)s->source;
  if (columns > 1)
    memset((char*)s->values + slot * lanes * columns * s->value_bytes, 0,
           (size_t)(width * lanes * columns * s->value_bytes));
  for (int64_t lane = 0; lane < lanes; ++lane) {
    const int64_t stored = slice * lanes + lane, row = s->row_of ? s->row_of[stored] : stored;
    const int64_t begin = row < 0 ? 0 : waco_row_begin(p, row),
                  end = row < 0 ? 0 : waco_row_begin(p, row + 1);
    const int64_t at = slot * lanes + lane;
    if (columns > 1) {
      waco_fill_lane_blocks(p, begin, end, at, lanes, width);
      waco_place_values(p, begin, end);
      continue;
    }
    for (int64_t n = begin; n < end; ++n) source[n] = (int32_t)(at + (n - begin) * lanes);
    for (int l = 2; l < p->levels; ++l)
      waco_fill_lane(&s->level[l], p->coords[l - 1], begin, end, at, lanes, width);
    waco_place_values(p, begin, end);
    for (int64_t x = end - begin; x < width; ++x)
      memset((char*)s->values + (at + x * lanes) * s->value_bytes, 0, (size_t)s->value_bytes);
  }
}

/* The t-th cut of the slices into ranges of about equal slots and slices. */
static inline int64_t waco_slice_cut(const struct waco_packer* p, int parts, int t) {
  const int64_t slices = p->out->level[0].extent, work = p->slice_begin[slices] + slices;
  const int64_t target = work / parts * t + work % parts * t / parts;
  if (t == parts) return slices;
  return waco_find_first(0, slices, [=](int64_t s) { return p->slice_begin[s] + s >= target; });
}

/* Needs p->row_ptr and fewer than 2^31 nonzeros. */
static inline int waco_pack_lanes(struct waco_packer* p, int threads) {
  struct waco_storage* s = p->out;
  const int64_t entries[WACO_MAX_LEVELS] = {0};
  const int64_t stored_rows = s->level[0].extent * p->format->split[0];
  int64_t* length = p->lane_length = (int64_t*)waco_allocate(stored_rows, sizeof *length);
  if (!length) return WACO_OUT_OF_MEMORY;
  waco_parallel(threads, [=](int t) {
    const int64_t lanes = p->format->split[0], end = waco_row_cut(p, lanes, threads, t + 1) * lanes;
    for (int64_t r = waco_row_cut(p, lanes, threads, t) * lanes; r < end; ++r)
      length[r] = waco_slots_of(p, waco_row_begin(p, r), waco_row_begin(p, r + 1));
  });
  int status = waco_measure_slices(p, threads);
  if (status == WACO_OK) status = waco_size_levels(p, entries);
  if (status != WACO_OK) return status;
  if (s->pos_bytes != 4) return kWacoNotDirect;
  if (!waco_allocate_levels(s, 0, threads)) return WACO_OUT_OF_MEMORY;
  waco_fill_slice_pos(p);
  if (!p->values) waco_zero(s->values, s->num_stored * s->value_bytes, threads);
  waco_parallel(threads, [=](int t) {
    const int64_t end = waco_slice_cut(p, threads, t + 1);
    for (int64_t slice = waco_slice_cut(p, threads, t); slice < end; ++slice) waco_fill_slice(p, slice);
  });
  return WACO_OK;
}

#endif
