// Packing: from coordinates to the level arrays of a waco_storage. The library includes this text and every
// emitted kernel carries it, so its parts need only a few C headers, and OpenMP where it is on.
//
// Sorted input is packed directly where its format has a direct way: narrowed in place (pack_concordant),
// into lanes (pack_lanes), into blocks (pack_blocks), the same with columns in two levels (pack_halves), or
// into columns and tiles (pack_columns). Everything else takes three stages. Order: a permutation that sorts
// the nonzeros by level coordinates; none when the input order already does, and sorted only inside the
// segments and by the levels that the input order leaves open. Count: entries of every compressed level,
// slots of every lane. Fill: coordinates, positions, `source` and values. Both ways give the same arrays, for
// any number of threads. Rows that are to be clustered (pack_cluster) are moved before.
#ifndef WACO_PACKER_HPP
#define WACO_PACKER_HPP

#include "pack_check.hpp"
#ifndef WACO_WITHOUT_CLUSTER
#include "pack_cluster.hpp"
#endif
#ifndef WACO_DIRECT_WAY
#include "pack_blocks.hpp"
#include "pack_columns.hpp"
#include "pack_concordant.hpp"
#include "pack_halves.hpp"
#include "pack_lanes.hpp"
#endif
#include "pack_fill.hpp"
#include "pack_order.hpp"
#include "pack_rows.hpp"

/* Whether the n-th nonzero is the n-th stored value: the input is in level order and the last level stores
   nonzeros only. */
static inline int waco_source_is_identity(const struct waco_packer* p) {
  return !p->order && !p->sliced && p->format->level[p->levels - 1].kind != WACO_U;
}

/* The three stages for any format and order of the input. */
static inline int waco_pack_any(struct waco_packer* p) {
  struct waco_storage* s = p->out;
  if (!waco_check_coordinates(p)) return WACO_BAD_ARGUMENT;
  int status = waco_order_nonzeros(p);
  if (status != WACO_OK) return status;
  struct waco_cursor* cursors = (struct waco_cursor*)waco_allocate(p->threads + 1, sizeof *cursors);
  if (!cursors) return WACO_OUT_OF_MEMORY;
  if (p->sliced) {
    const int64_t slices = s->level[0].extent, slice_bytes = p->format->split[0] * (int64_t)sizeof(int64_t);
    p->lane_length = (int64_t*)waco_allocate(slices, slice_bytes);
    if (p->lane_length) {
      waco_zero(p->lane_length, slices * slice_bytes, p->threads);
      waco_count(p, cursors);
    }
    status = p->lane_length ? waco_measure_slices(p, p->threads) : WACO_OUT_OF_MEMORY;
  } else {
    waco_count(p, cursors);
  }
  if (status == WACO_OK) status = waco_size_levels(p, cursors[p->threads].entries);
  if (status == WACO_OK && !waco_allocate_levels(s, waco_source_is_identity(p), p->threads))
    status = WACO_OUT_OF_MEMORY;
  if (status == WACO_OK) {
    if (!p->values || s->num_stored > p->nnz)
      waco_zero(s->values, s->num_stored * s->value_bytes, p->threads);
    if (p->sliced) waco_fill_slice_pos(p);
    waco_fill(p, cursors);
    if (p->sliced) waco_pad_slots(p);
  }
  free(cursors);
  return status;
}

/* Packs with so many threads; kWacoNotDirect where the input does not allow it. */
typedef int (*waco_direct_way)(struct waco_packer*, int);

/* How sorted input of this format is packed without sorting; null: as any is. An emitted kernel carries the
   way of its format alone, and names it. */
static inline waco_direct_way waco_find_direct_way(const struct waco_format* f) {
#ifdef WACO_DIRECT_WAY
  (void)f;
  return WACO_DIRECT_WAY;
#else
  if (waco_is_concordant(f)) return waco_pack_concordant;
  if (waco_is_in_lanes(f)) return waco_pack_lanes;
  if (waco_find_block_shape(f).tail != WACO_NO_BLOCKS) return waco_pack_blocks;
  if (waco_has_column_halves(f)) return waco_pack_halves;
  return waco_is_in_columns(f) ? waco_pack_columns : nullptr;
#endif
}

/* The direct way of the format, if it has one and the input is sorted; otherwise kWacoNotDirect. */
static inline int waco_pack_directly(struct waco_packer* p) {
  const waco_direct_way pack = waco_find_direct_way(p->format);
  if (!pack || p->nnz >= INT32_MAX) return kWacoNotDirect;
  for (int l = 0; l < p->levels; ++l)
    if (p->out->level[l].crd_bytes > 4) return kWacoNotDirect;
  const int found = waco_find_rows(p, p->threads);
  if (found <= 0) return found < 0 ? WACO_OUT_OF_MEMORY : kWacoNotDirect;
  return pack(p, p->threads);
}

/* Everything that was allocated on the way, but the result. */
static inline void waco_free_scratch(struct waco_packer* p) {
  free(p->order);
  free(p->lane_length);
  free(p->slice_begin);
  free(p->stored_of);
  if (p->owned && p->row_ptr == p->owned) p->row_ptr = nullptr;
  free(p->owned);
  p->order = nullptr;
  p->lane_length = p->slice_begin = p->owned = nullptr;
  p->stored_of = nullptr;
}

/* The rows as they are given. */
static inline int waco_pack_rows(struct waco_packer* p, int directly) {
  const int status = directly ? waco_pack_directly(p) : kWacoNotDirect;
  if (status != kWacoNotDirect) return status;
  waco_free_scratch(p);
  waco_free_arrays(p->out);
  return waco_make_rows(p) ? waco_pack_any(p) : WACO_OUT_OF_MEMORY;
}

static inline int waco_pack_prepared(struct waco_packer* p, int directly) {
  int status = WACO_OK;
#ifndef WACO_WITHOUT_CLUSTER
  struct waco_moved moved;
  memset(&moved, 0, sizeof moved);
  if (p->format->arrangement == WACO_CLUSTERED) status = waco_cluster_input(p, &moved);
#endif
  if (status == WACO_OK) status = waco_pack_rows(p, directly);
#ifndef WACO_WITHOUT_CLUSTER
  if (p->format->arrangement == WACO_CLUSTERED && status == WACO_OK) status = waco_tell_of_input(p, &moved);
  waco_free_moved(&moved);
#endif
  waco_free_scratch(p);
  if (status != WACO_OK) waco_free(p->out);
  return status;
}

/* What waco_pack is given. */
struct waco_input {
  const int64_t* dims; /* [order] */
  int64_t nnz;
  const int64_t* coords[3]; /* by mode, [nnz] */
  const int64_t* row_ptr;   /* [dims[0] + 1], from 0 ascending to nnz; null: coords[0] is given */
  const void* values;       /* [nnz], or null for zeros */
  int value_bytes;          /* of the input: 4 or 8 */
  const int32_t* crd_bytes; /* [levels] of a packed coordinate at least: 0, 1, 2, 4 or 8; null: 0 */
};

/// Packs a sparse operand of distinct nonzeros, fastest when sorted by mode, with `value_bytes` 4 or 8;
/// doubles (8) may be stored as floats (4). `directly` 0: in three stages whatever the format. Returns
/// WACO_BAD_ARGUMENT for an unsound format, a coordinate out of range or a duplicate, WACO_OUT_OF_MEMORY when
/// an array is larger than memory or 1 TiB, WACO_UNFIT for too many rows to cluster or sort, and for more
/// fill than WACO_MAX_FILL allows where that is defined; `out` then holds nothing.
static inline int waco_pack(const struct waco_format* format, const struct waco_input* input, int value_bytes,
                            int threads, int directly, struct waco_storage* out) {
  memset(out, 0, sizeof *out);
  if (input->nnz < 0 || (value_bytes != 4 && value_bytes != 8) || !waco_format_is_sound(format))
    return WACO_BAD_ARGUMENT;
  if (input->value_bytes != value_bytes && input->value_bytes != 8) return WACO_BAD_ARGUMENT;
  if (input->nnz > kWacoMaxBytes / 8) return WACO_OUT_OF_MEMORY;
  struct waco_packer p;
  memset(&p, 0, sizeof p);
  p.dims = input->dims;
  p.nnz = input->nnz;
  p.row_ptr = input->row_ptr;
  p.values = input->values;
  p.input_bytes = input->value_bytes;
  p.threads = waco_useful_threads(p.nnz, threads);
  for (int m = 0; m < format->order; ++m) {
    if (p.dims[m] < 0) return WACO_BAD_ARGUMENT;
    p.coords[m] = input->coords[m];
  }
  waco_begin_storage(&p, format, value_bytes, out);
  for (int l = 0; l < p.levels && input->crd_bytes; ++l) {
    int32_t* bytes = &out->level[l].crd_bytes;
    if (*bytes && *bytes < input->crd_bytes[l]) *bytes = input->crd_bytes[l];
  }
  if (format->sort_window > 1 && out->level[0].extent >= INT32_MAX / format->split[0]) return WACO_UNFIT;
  waco_settle_memory();
  const int status = waco_pack_prepared(&p, directly);
  waco_settle_memory();
  return status;
}

#endif
