// Packing: what is packed and how far it is, and the nonzeros of any format in blocks.
#ifndef WACO_PACK_STATE_HPP
#define WACO_PACK_STATE_HPP

#include "pack_memory.hpp"
#include "pack_storage.hpp"

/* Nonzeros walked at a time: the working arrays of a block stay in the first cache level. */
enum { kWacoBlock = 128 };

struct waco_packer {
  const struct waco_format* format;
  const int64_t* dims;
  int64_t nnz;
  const int64_t* coords[3]; /* by mode; coords[0] is null while row_ptr alone gives the rows */
  const int64_t* row_ptr;   /* [dims[0] + 1] first nonzeros of the rows, of sorted input; null: not known */
  const void* values;       /* [nnz] in the order of the input; null: none yet */
  int input_bytes;          /* of an element of `values`; 8 with 4 in storage: double to float */
  int threads;
  int levels;
  int group_last[WACO_MAX_LEVELS]; /* of every level: the last level of its tuple (itself when alone) */
  int last_counted; /* last level of the last C, E or L group: below it positions are arithmetic */
  int sliced;       /* whether level 2 is E or L */
  struct waco_divider divider[3];
  int sorted_modes; /* the input is sorted lexicographically by this many leading modes */
  uint64_t* order;  /* [nnz] low bits: index of the n-th nonzero in level order; null: the identity */
  uint64_t order_mask;
  int64_t* lane_length; /* sliced: slots of every row, [slices * lanes] */
  int64_t* slice_begin; /* sliced: first slot of every slice, [slices + 1] */
  int32_t* stored_of;   /* sort window: row -> stored row; null: the identity */
  int64_t* owned;       /* rows or row pointers that were made here */
  struct waco_storage* out;
};

/* What takes the place of column k in row i of a matrix with so many rows. */
static inline int64_t waco_skewed_column(int64_t rows, int64_t i, int64_t k) {
  return k - i + rows - 1;
}

/* Coordinates of a mode. */
static inline int64_t waco_mode_extent(const struct waco_format* format, const int64_t* dims, int mode) {
  if (mode != 1 || format->arrangement != WACO_SKEWED) return dims[mode];
  if (dims[0] <= 0 || dims[1] <= 0) return 0;
  return dims[1] > INT64_MAX - dims[0] ? INT64_MAX : dims[0] + dims[1] - 1;
}

/* Coordinates of level l. */
static inline int64_t waco_extent(const struct waco_format* format, const int64_t* dims, int l) {
  const int mode = format->level[l].mode;
  const int64_t split = format->split[mode], extent = waco_mode_extent(format, dims, mode);
  return format->level[l].inner ? split : extent / split + (extent % split > 0);
}

/* Lets `p`, whose dims and nonzeros are set, pack as `format` into `out`, which is cleared. */
static inline void waco_begin_storage(struct waco_packer* p, const struct waco_format* format,
                                      int value_bytes, struct waco_storage* out) {
  memset(out, 0, sizeof *out);
  out->format = *format;
  out->num_nonzeros = p->nnz;
  out->value_bytes = value_bytes;
  p->format = format;
  p->out = out;
  p->levels = format->num_levels;
  p->last_counted = p->sliced = 0;
  for (int m = 0; m < format->order; ++m) {
    p->divider[m] = waco_make_divider(format->split[m], p->dims[m]);
    out->dim[m] = p->dims[m];
  }
  for (int l = p->levels - 1; l >= 0; --l) {
    const int kind = format->level[l].kind;
    out->level[l].extent = waco_extent(format, p->dims, l);
    out->level[l].crd_bytes = kind == WACO_U ? 0 : waco_crd_bytes(out->level[l].extent);
    const int joined = l + 1 < p->levels && format->level[l + 1].kind == WACO_S;
    p->group_last[l] = joined ? p->group_last[l + 1] : l;
    if (p->last_counted == 0 && kind != WACO_U) p->last_counted = l;
    p->sliced |= kind == WACO_E || kind == WACO_L;
  }
}

/* Nonzeros n .. n + size - 1 of the level order. */
struct waco_block {
  int size;
  int64_t index[kWacoBlock];    /* in the input */
  int64_t raw[3][kWacoBlock];   /* coordinates by mode, gathered; unused for the identity order of columns as
                                   they are */
  int64_t outer[3][kWacoBlock]; /* coordinate / split, of split modes */
  int64_t inner[3][kWacoBlock]; /* coordinate % split, of split modes */
  const int64_t* mode[3];       /* coordinates by mode */
  const int64_t* coordinate[WACO_MAX_LEVELS]; /* coordinates by level */
  int64_t position[kWacoBlock];               /* at the level reached so far */
  uint8_t fresh[kWacoBlock];                  /* some level reached so far differs from the nonzero before */
  uint8_t lane_fresh[kWacoBlock];             /* sliced: `fresh` after level 1, a new row */
};

static inline void waco_load_block(const struct waco_packer* p, int64_t n, int size, struct waco_block* b) {
  b->size = size;
  if (p->order) {
    for (int j = 0; j < size; ++j) b->index[j] = (int64_t)(p->order[n + j] & p->order_mask);
  } else {
    for (int j = 0; j < size; ++j) b->index[j] = n + j;
  }
  for (int m = 0; m < p->format->order; ++m) {
    const int64_t* coords = p->coords[m];
    if (p->order) {
      for (int j = 0; j < size; ++j) b->raw[m][j] = coords[b->index[j]];
      b->mode[m] = b->raw[m];
    } else {
      b->mode[m] = coords + n;
    }
    if (m == 1 && p->format->arrangement == WACO_SKEWED) {
      for (int j = 0; j < size; ++j)
        b->raw[1][j] = waco_skewed_column(p->dims[0], b->mode[0][j], b->mode[1][j]);
      b->mode[1] = b->raw[1];
    }
    const struct waco_divider d = p->divider[m];
    if (d.split == 1) continue;
    const int64_t* x = b->mode[m];
    if (d.log2 >= 0) {
      for (int j = 0; j < size; ++j) b->outer[m][j] = x[j] >> d.log2;
    } else {
      for (int j = 0; j < size; ++j) b->outer[m][j] = waco_divide(&d, x[j]);
    }
    for (int j = 0; j < size; ++j) b->inner[m][j] = x[j] - b->outer[m][j] * d.split;
  }
  for (int l = 0; l < p->levels; ++l) {
    const int m = p->format->level[l].mode;
    b->coordinate[l] = p->divider[m].split == 1    ? b->mode[m]
                       : p->format->level[l].inner ? b->inner[m]
                                                   : b->outer[m];
  }
}

/* Marks the nonzeros whose coordinate differs from the one before; `previous` carries over from block to
 * block. */
static inline void waco_mark_changes(const int64_t* coordinate, int size, int64_t* previous, uint8_t* fresh) {
  if (size == 0) return;
  fresh[0] |= coordinate[0] != *previous;
  for (int j = 1; j < size; ++j) fresh[j] |= coordinate[j] != coordinate[j - 1];
  *previous = coordinate[size - 1];
}

/* Whether every part of every mode has one level, S follows C, S, E or L, and E or L is at level 2 below x1:U
 * x0:U, and only i1:U k:C i0:U is skewed. */
static inline int waco_format_is_sound(const struct waco_format* f) {
  if (f->arrangement < WACO_GIVEN || f->arrangement > WACO_SKEWED) return 0;
  if (f->arrangement != WACO_GIVEN && f->order != 2) return 0;
  if (f->cluster_window < 0 || (f->cluster_window > 0 && f->arrangement != WACO_CLUSTERED)) return 0;
  if (f->order < 2 || f->order > 3 || f->num_levels < f->order || f->num_levels > WACO_MAX_LEVELS) return 0;
  int seen[3][2] = {{0, 0}, {0, 0}, {0, 0}}, parts = 0, sliced = 0, above = WACO_U;
  for (int m = 0; m < f->order; ++m) {
    if (f->split[m] < 1 || f->split[m] > (int64_t)1 << 31) return 0;
    parts += f->split[m] > 1 ? 2 : 1;
  }
  if (parts != f->num_levels) return 0;
  for (int l = 0; l < f->num_levels; ++l) {
    const int mode = f->level[l].mode, inner = f->level[l].inner, kind = f->level[l].kind;
    if (mode < 0 || mode >= f->order || inner < 0 || inner > (f->split[mode] > 1)) return 0;
    if (seen[mode][inner]++ || (inner && !seen[mode][0])) return 0;
    if (kind < WACO_U || kind > WACO_L || (kind == WACO_S && above == WACO_U)) return 0;
    if (sliced && kind != WACO_U && kind != WACO_S) return 0;
    if (kind == WACO_E || kind == WACO_L) {
      if (l != 2 || f->level[0].mode != 0 || f->level[1].mode != 0) return 0;
      if (f->level[0].kind != WACO_U || f->level[1].kind != WACO_U) return 0;
      sliced = 1;
    }
    above = kind;
  }
  if (f->arrangement == WACO_SKEWED &&
      (f->num_levels != 3 || f->split[1] > 1 || f->level[0].mode != 0 || f->level[0].kind != WACO_U ||
       f->level[1].kind != WACO_C || f->level[2].kind != WACO_U || f->level[2].mode != 0))
    return 0;
  return f->sort_window <= 1 || (sliced && f->sort_window % f->split[0] == 0);
}

/* Values of nonzeros begin .. end-1 to their positions. Called from many places and large: not inlined. */
__attribute__((noinline, unused)) static void waco_place_values(const struct waco_packer* p, int64_t begin,
                                                                int64_t end) {
  void* to = p->out->values;
  if (!p->values) return;
  if (waco_value_bytes(p->out->value_bytes) == 8)
    waco_scatter(p->out, (const uint64_t*)p->values, (uint64_t*)to, begin, end);
  else if (waco_value_bytes(p->input_bytes) == 4)
    waco_scatter(p->out, (const uint32_t*)p->values, (uint32_t*)to, begin, end);
  else
    waco_scatter(p->out, (const double*)p->values, (float*)to, begin, end);
}

#endif
