// Packing: how many positions every level has.
#ifndef WACO_PACK_SIZES_HPP
#define WACO_PACK_SIZES_HPP

#include "pack_state.hpp"

/* Status of a way of packing that does not cover the input: another one must be taken. */
static const int kWacoNotDirect = -1;

/* Of so many positions that they can't be counted: where fill has a limit, they are mostly that. */
#ifdef WACO_MAX_FILL
static const int kWacoTooMany = WACO_UNFIT;
#else
static const int kWacoTooMany = WACO_OUT_OF_MEMORY;
#endif

/* Whether values that are mostly fill would take much memory: an emitted kernel is given matrices that nobody
   has looked at. */
static inline int waco_is_mostly_fill(const struct waco_storage* s) {
#ifdef WACO_MAX_FILL
  return s->num_stored > ((int64_t)1 << 28) / s->value_bytes &&
         s->num_stored / WACO_MAX_FILL > s->num_nonzeros;
#else
  (void)s;
  return 0;
#endif
}

/* Whether the kernel that an emitted file was made of reads narrower pos than so many positions need. */
static inline int waco_needs_wider_pos(const struct waco_format* format, int64_t positions) {
#ifdef WACO_POS_BYTES
  int stores_pos = 0;
  for (int l = 0; l < format->num_levels; ++l)
    stores_pos |= format->level[l].kind == WACO_C || format->level[l].kind == WACO_L;
  return stores_pos && WACO_POS_BYTES == 4 && positions > INT32_MAX;
#else
  (void)format, (void)positions;
  return 0;
#endif
}

/* Sets num_positions of every level and pos_bytes. `entries`: of every C group, at its first level.
   WACO_OUT_OF_MEMORY when a level is too large, WACO_UNFIT when it is mostly fill, or too large for the
   kernel of an emitted file. */
static inline int waco_size_levels(struct waco_packer* p, const int64_t* entries) {
  int64_t parents = 1, largest = 0;
  for (int l = 0; l < p->levels; ++l) {
    struct waco_level* level = &p->out->level[l];
    int64_t positions = parents, factor = 1;
    switch (p->format->level[l].kind) {
      case WACO_U:
        factor = level->extent;
        break;
      case WACO_C:
        positions = entries[l];
        break;
      case WACO_S:
        break;
      default:
        positions = p->slice_begin[p->out->level[0].extent];
        factor = p->format->split[0];
    }
    if (factor > 0 && positions > kWacoMaxBytes / factor) return kWacoTooMany;
    level->num_positions = parents = positions * factor;
    largest = parents > largest ? parents : largest;
  }
  p->out->num_stored = parents;
  p->out->pos_bytes = largest <= INT32_MAX ? 4 : 8;
  return waco_is_mostly_fill(p->out) || waco_needs_wider_pos(p->format, largest) ? WACO_UNFIT : WACO_OK;
}

/* The first pos of every C level, and all of level 0's. */
static inline void waco_begin_pos(const struct waco_packer* p) {
  for (int l = 0; l < p->levels; ++l)
    if (p->format->level[l].kind == WACO_C) waco_fill_pos(p->out, l, 0, 1, 0);
  if (p->format->level[0].kind == WACO_C) waco_fill_pos(p->out, 0, 1, 2, p->out->level[0].num_positions);
}

#endif
