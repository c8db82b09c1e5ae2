// Packing a sorted matrix in blocks: a group of rows, the column blocks that occur in it, and inside the
// blocks either all places (BCSR, groups of rows) or the nonzeros (sparse blocks). Group by group, without
// sorting: the occurring column blocks are the members of a bitmap, and inside a block the input's order is
// the right one.
#ifndef WACO_PACK_BLOCKS_HPP
#define WACO_PACK_BLOCKS_HPP

#include "pack_members.hpp"
#include "pack_rows.hpp"
#include "pack_sizes.hpp"

/* What the levels below the blocks hold. */
enum waco_block_tail {
  WACO_NO_BLOCKS,     /* not a format of this kind */
  WACO_DENSE_BLOCKS,  /* U levels: a value for every place */
  WACO_BLOCK_ENTRIES, /* C, or C and S: the nonzeros of every block */
  WACO_BLOCK_ROWS     /* i0:U k0:C: the nonzeros of every row of every block */
};

struct waco_block_shape {
  enum waco_block_tail tail;
  int64_t rows, columns;             /* of a block */
  int64_t row_stride, column_stride; /* dense: distance of the values of neighbouring rows, columns */
};

/* Levels i1:U|C k1:C|S and then i0, k0 as far as they are split. */
static inline struct waco_block_shape waco_block_shape(const struct waco_format* f) {
  struct waco_block_shape none = {WACO_NO_BLOCKS, f->split[0], f->split[1], 1, 1}, shape = none;
  if (f->order != 2 || f->num_levels < 3 || f->split[0] > 1 << 16 || f->split[1] > 1 << 16) return none;
  if (f->level[0].mode != 0 || f->level[1].mode != 1 || f->level[0].inner || f->level[1].inner) return none;
  if (f->level[0].kind > WACO_C || f->level[1].kind < WACO_C || f->level[1].kind > WACO_S) return none;
  const int last = f->num_levels - 1, tail = f->level[2].kind;
  if (tail == WACO_U && f->level[last].kind == WACO_U) {
    shape.tail = WACO_DENSE_BLOCKS;
    if (f->level[last].mode == 0) shape.column_stride = shape.rows;
    if (f->level[last].mode == 1) shape.row_stride = shape.columns;
    return shape;
  }
  if (f->level[2].mode > f->level[last].mode) return none;
  if (tail == WACO_C && (last == 2 || f->level[3].kind == WACO_S)) shape.tail = WACO_BLOCK_ENTRIES;
  if (tail == WACO_U && f->level[last].kind == WACO_C) shape.tail = WACO_BLOCK_ROWS;
  return shape;
}

/* What the threads share. */
struct waco_block_packer {
  const struct waco_packer* p;
  struct waco_block_shape shape;
  int threads;
  int64_t* blocks; /* [threads + 1] blocks before the rows of a thread */
  int64_t* groups; /* [threads + 1] groups with nonzeros before them */
  int32_t* end;    /* [groups] end of the blocks of a group, counted from the first of its thread */
};

/* Adds the column blocks of nonzeros begin .. end-1. An addition of a member is overwritten by the next one,
   so that no branch depends on the pattern. */
static inline int waco_add_blocks(const struct waco_packer* p, struct waco_members* m, int64_t begin,
                                  int64_t end) {
  const struct waco_divider d = p->divider[1];
  const int64_t* columns = p->coords[1];
  if (!waco_reserve_members(m, end - begin)) return 0;
  int64_t count = 0;
  for (int64_t n = begin; n < end; ++n) {
    const int64_t block = waco_divide(&d, columns[n]);
    m->added[count] = (int32_t)block;
    count += !m->seen[block];
    m->seen[block] = 1;
  }
  m->num_added = count;
  return 1;
}

/* Distinct column blocks of one row. */
static inline int64_t waco_count_runs(const struct waco_packer* p, int64_t begin, int64_t end) {
  const struct waco_divider d = p->divider[1];
  int64_t count = 0, before = -1;
  for (int64_t n = begin; n < end; ++n) {
    const int64_t block = waco_divide(&d, p->coords[1][n]);
    count += block != before;
    before = block;
  }
  return count;
}

static inline int waco_count_blocks(const struct waco_block_packer* q, struct waco_members* m, int t) {
  const struct waco_packer* p = q->p;
  const int64_t rows = q->shape.rows, last = waco_row_cut(p, rows, q->threads, t + 1);
  int64_t count = 0, full = 0;
  for (int64_t g = waco_row_cut(p, rows, q->threads, t); g < last; ++g) {
    const int64_t begin = waco_row_begin(p, g * rows), end = waco_row_begin(p, (g + 1) * rows);
    if (rows == 1) {
      count += waco_count_runs(p, begin, end);
    } else {
      if (!waco_add_blocks(p, m, begin, end)) return 0;
      count += m->num_added;
      waco_clear_members(m);
    }
    full += begin < end;
    q->end[g] = (int32_t)count;
  }
  q->blocks[t + 1] = count;
  q->groups[t + 1] = full;
  return 1;
}

/* Numbers the blocks of a group from `block` on: their column blocks into level 1, and into `source` every
   nonzero's block. */
static inline int waco_number_blocks(const struct waco_block_packer* q, struct waco_members* m, int64_t begin,
                                     int64_t end, int64_t block) {
  const struct waco_packer* p = q->p;
  const struct waco_divider d = p->divider[1];
  const int64_t* columns = p->coords[1];
  int32_t* source = (int32_t*)p->out->source;
  if (q->shape.rows == 1) {
    waco_with_crd(&p->out->level[1], [=](auto* crd) {
      int64_t number = block - 1, before = -1;
      for (int64_t n = begin; n < end; ++n) {
        const int64_t x = waco_divide(&d, columns[n]);
        number += x != before;
        waco_put(crd + number, x);
        source[n] = (int32_t)number;
        before = x;
      }
    });
    return 1;
  }
  if (!waco_add_blocks(p, m, begin, end)) return 0;
  waco_with_crd(&p->out->level[1], [=](auto* crd) { waco_list_members(m, (int32_t)block, crd); });
  for (int64_t n = begin; n < end; ++n) source[n] = waco_rank(m, waco_divide(&d, columns[n]));
  waco_clear_members(m);
  return 1;
}

/* From blocks to positions in dense blocks. */
static inline void waco_place_dense(const struct waco_block_packer* q, int64_t group) {
  const struct waco_packer* p = q->p;
  const struct waco_divider d = p->divider[1];
  const int64_t *columns = p->coords[1], stride = q->shape.column_stride;
  const int32_t area = (int32_t)(q->shape.rows * q->shape.columns);
  int32_t* source = (int32_t*)p->out->source;
  for (int64_t i = 0; i < q->shape.rows; ++i) {
    const int64_t row = group * q->shape.rows + i, end = waco_row_begin(p, row + 1);
    const int64_t at = i * q->shape.row_stride;
    for (int64_t n = waco_row_begin(p, row); n < end; ++n) {
      const int64_t k = columns[n] - waco_divide(&d, columns[n]) * d.split;
      source[n] = (int32_t)(source[n] * area + at + k * stride);
    }
  }
}

/* From blocks to positions in blocks of nonzeros: a stable counting sort by block (and row), whose counters
 * are the pos array and hold its final content in the end. */
static inline void waco_place_entries(const struct waco_block_packer* q, int64_t group, int64_t block,
                                      int64_t block_end) {
  const struct waco_packer* p = q->p;
  const int by_row = q->shape.tail == WACO_BLOCK_ROWS;
  const int64_t rows = q->shape.rows, cells = by_row ? rows : 1, begin = waco_row_begin(p, group * rows);
  int32_t *source = (int32_t*)p->out->source, *pos = (int32_t*)p->out->level[by_row ? 3 : 2].pos + 1;
  memset(pos + block * cells, 0, (size_t)((block_end - block) * cells) * sizeof *pos);
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t end = waco_row_begin(p, group * rows + i + 1);
    for (int64_t n = waco_row_begin(p, group * rows + i); n < end; ++n) {
      source[n] = (int32_t)(source[n] * cells + i * by_row);
      ++pos[source[n]];
    }
  }
  int32_t sum = (int32_t)begin;
  for (int64_t c = block * cells; c < block_end * cells; ++c) {
    const int32_t count = pos[c];
    pos[c] = sum;
    sum += count;
  }
  for (int64_t n = begin; n < sum; ++n) source[n] = pos[source[n]]++;
}

/* Coordinates inside the blocks, at the positions of the group's nonzeros. */
static inline void waco_fill_inner(const struct waco_block_packer* q, int64_t group) {
  const struct waco_packer* p = q->p;
  const int32_t* source = (const int32_t*)p->out->source;
  for (int l = 2; l < p->levels; ++l) {
    if (p->format->level[l].kind == WACO_U) continue;
    waco_with_crd(&p->out->level[l], [=](auto* crd) {
      const struct waco_divider d = p->divider[1];
      const int64_t *columns = p->coords[1], first = group * q->shape.rows;
      for (int64_t i = 0; i < q->shape.rows; ++i) {
        const int64_t end = waco_row_begin(p, first + i + 1);
        if (p->format->level[l].mode == 0) {
          for (int64_t n = waco_row_begin(p, first + i); n < end; ++n) waco_put(crd + source[n], i);
        } else {
          for (int64_t n = waco_row_begin(p, first + i); n < end; ++n)
            waco_put(crd + source[n], columns[n] - waco_divide(&d, columns[n]) * d.split);
        }
      }
    });
  }
}

/* Level 0 of a group whose blocks are block .. block_end-1; `full` groups with nonzeros come before it. */
static inline void waco_fill_group(const struct waco_packer* p, int64_t group, int64_t block,
                                   int64_t block_end, int64_t full) {
  struct waco_storage* s = p->out;
  if (p->format->level[0].kind == WACO_U) {
    ((int32_t*)s->level[1].pos)[group + 1] = (int32_t)block_end;
  } else if (p->format->level[1].kind == WACO_S) {
    for (int64_t b = block; b < block_end; ++b) waco_store_crd(&s->level[0], b, group);
  } else if (block < block_end) {
    waco_store_crd(&s->level[0], full, group);
    ((int32_t*)s->level[1].pos)[full + 1] = (int32_t)block_end;
  }
}

static inline int waco_fill_blocks(const struct waco_block_packer* q, struct waco_members* m, int t) {
  const struct waco_packer* p = q->p;
  const int64_t rows = q->shape.rows, last = waco_row_cut(p, rows, q->threads, t + 1);
  const int64_t area_bytes = rows * q->shape.columns * p->out->value_bytes;
  int64_t block = q->blocks[t], full = q->groups[t];
  for (int64_t g = waco_row_cut(p, rows, q->threads, t); g < last; ++g) {
    const int64_t begin = waco_row_begin(p, g * rows), end = waco_row_begin(p, (g + 1) * rows);
    const int64_t block_end = q->blocks[t] + q->end[g];
    waco_fill_group(p, g, block, block_end, full);
    if (begin == end) continue;
    if (!waco_number_blocks(q, m, begin, end, block)) return 0;
    if (q->shape.tail == WACO_DENSE_BLOCKS) {
      memset((char*)p->out->values + block * area_bytes, 0, (size_t)((block_end - block) * area_bytes));
      waco_place_dense(q, g);
    } else {
      waco_place_entries(q, g, block, block_end);
      waco_fill_inner(q, g);
    }
    waco_place_values(p, begin, end);
    block = block_end;
    ++full;
  }
  return 1;
}

/* Counts and sizes everything; `members` is the threads' scratch. */
static inline int waco_size_blocks(struct waco_packer* p, const struct waco_block_packer* q,
                                   struct waco_members* members) {
  int64_t entries[WACO_MAX_LEVELS] = {0, 0, p->nnz, p->nnz};
  int ok = 1;
  q->blocks[0] = q->groups[0] = 0;
  waco_parallel(q->threads, [=, &ok](int t) {
    if (!waco_count_blocks(q, &members[t], t)) __atomic_store_n(&ok, 0, __ATOMIC_RELAXED);
  });
  if (!ok) return WACO_OUT_OF_MEMORY;
  for (int t = 0; t < q->threads; ++t) {
    q->blocks[t + 1] += q->blocks[t];
    q->groups[t + 1] += q->groups[t];
  }
  entries[0] = p->format->level[1].kind == WACO_S ? q->blocks[q->threads] : q->groups[q->threads];
  entries[1] = q->blocks[q->threads];
  if (!waco_size_levels(p, entries)) return WACO_OUT_OF_MEMORY;
  if (p->out->pos_bytes != 4) return kWacoNotDirect;
  return waco_allocate_levels(p->out, 0, q->threads) ? WACO_OK : WACO_OUT_OF_MEMORY;
}

/* Needs p->row_ptr and fewer than 2^31 nonzeros. */
static inline int waco_pack_blocks(struct waco_packer* p, int threads) {
  const int64_t groups = p->out->level[0].extent, column_blocks = p->out->level[1].extent;
  if (column_blocks > 16 * p->nnz + (1 << 16)) return kWacoNotDirect;
  struct waco_block_packer q = {p, waco_block_shape(p->format), threads, nullptr, nullptr, nullptr};
  struct waco_members* members = (struct waco_members*)calloc((size_t)threads, sizeof *members);
  q.blocks = (int64_t*)waco_allocate(threads + 1, sizeof *q.blocks);
  q.groups = (int64_t*)waco_allocate(threads + 1, sizeof *q.groups);
  q.end = (int32_t*)waco_allocate(groups, sizeof *q.end);
  int ok = members && q.blocks && q.groups && q.end;
  for (int t = 0; ok && q.shape.rows > 1 && t < threads; ++t)
    ok = waco_make_members(&members[t], column_blocks);
  int status = ok ? waco_size_blocks(p, &q, members) : WACO_OUT_OF_MEMORY;
  if (status == WACO_OK) {
    waco_begin_pos(p);
    if (!p->values) waco_zero(p->out->values, p->out->num_stored * p->out->value_bytes, threads);
    waco_parallel(threads, [&](int t) {
      if (!waco_fill_blocks(&q, &members[t], t)) __atomic_store_n(&ok, 0, __ATOMIC_RELAXED);
    });
    if (!ok) status = WACO_OUT_OF_MEMORY;
  }
  for (int t = 0; members && t < threads; ++t) waco_free_members(&members[t]);
  free(members);
  free(q.blocks);
  free(q.groups);
  free(q.end);
  return status;
}

#endif
