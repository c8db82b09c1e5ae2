// Packing a sorted matrix in blocks: a group of rows, the column blocks that occur in it, and inside the
// blocks either all places (BCSR, groups of rows) or the nonzeros (sparse blocks). Group by group, without
// sorting: the occurring column blocks are the members of a bitmap, and inside a block the input's order is
// the right one.
#ifndef WACO_PACK_BLOCKS_HPP
#define WACO_PACK_BLOCKS_HPP

#include "pack_block_chunk.hpp"
#include "pack_sizes.hpp"

static inline int waco_count_blocks(const struct waco_block_packer* q, struct waco_block_scratch* c, int t) {
  const struct waco_packer* p = q->p;
  const int64_t rows = q->shape.rows, first = waco_row_cut(p, rows, q->threads, t),
                last = waco_row_cut(p, rows, q->threads, t + 1);
  int64_t count = 0, full = 0;
  memset(q->end + first, 0, (size_t)(last - first) * sizeof *q->end);
  for (int64_t g = first, next; g < last; g = next) {
    next = waco_chunk_end(p, rows, g, last);
    const int64_t begin = waco_row_begin(p, g * rows), end = waco_row_begin(p, next * rows);
    if (!waco_begin_chunk(p, c, begin, end)) return 0;
    count = waco_meet_blocks<true>(q, c, begin, end, 1, count, nullptr);
  }
  for (int64_t g = first, before = 0; g < last; ++g) {
    full += q->end[g] > 0;
    before = q->end[g] = q->end[g] ? q->end[g] : (int32_t)before;
  }
  q->blocks[t + 1] = count;
  q->groups[t + 1] = full;
  return 1;
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

/* Numbers the blocks of groups first .. last-1, and writes level 1 and above; `full` groups with nonzeros
   come before, all blocks of the thread from `base` on. Returns `full` after them. */
static inline int64_t waco_number_blocks(const struct waco_block_packer* q, struct waco_block_scratch* c,
                                         int64_t first, int64_t last, int64_t base, int64_t block,
                                         int64_t full) {
  const int64_t begin = block;
  for (int64_t g = first; g < last; ++g) {
    const int64_t end = base + q->end[g];
    waco_fill_group(q->p, g, block, end, full);
    if (q->shape.rows > 1)
      waco_rank_members(&c->members, c->met + (block - begin), end - block, (int32_t)block,
                        c->number + (block - begin));
    full += block < end;
    block = end;
  }
  for (int64_t n = 0; q->shape.rows == 1 && n < block - begin; ++n) c->number[n] = (int32_t)(begin + n);
  waco_with_crd(&q->p->out->level[1], [=](auto* crd) {
    for (int64_t n = 0; n < block - begin; ++n) waco_put(crd + c->number[n], c->met[n]);
  });
  return full;
}

/* From places in c->met to positions in dense blocks. */
static inline void waco_place_dense(const struct waco_block_packer* q, const struct waco_block_scratch* c,
                                    int64_t begin, int64_t end) {
  const struct waco_divider of_row = q->p->divider[0], of_column = q->p->divider[1];
  const int64_t *columns = q->p->coords[1], *rows = c->rows;
  const int64_t area = q->shape.rows * q->shape.columns;
  int32_t* source = (int32_t*)q->p->out->source;
  for (int64_t n = begin; n < end; ++n) {
    const int64_t i = rows[n] - waco_divide(&of_row, rows[n]) * of_row.split;
    const int64_t k = columns[n] - waco_divide(&of_column, columns[n]) * of_column.split;
    const int64_t at = i * q->shape.row_stride + k * q->shape.column_stride;
    source[n] = (int32_t)(c->number[source[n]] * area + at);
  }
}

/* From places in c->met to positions in blocks of nonzeros: a stable counting sort by block (and row), whose
   counters are the pos array and hold its final content in the end. */
static inline void waco_place_entries(const struct waco_block_packer* q, const struct waco_block_scratch* c,
                                      int64_t begin, int64_t end, int64_t block, int64_t block_end) {
  const struct waco_divider of_row = q->p->divider[0];
  const int by_row = q->shape.tail == WACO_BLOCK_ROWS;
  const int64_t cells = by_row ? q->shape.rows : 1;
  int32_t *source = (int32_t*)q->p->out->source, *pos = (int32_t*)q->p->out->level[by_row ? 3 : 2].pos + 1;
  memset(pos + block * cells, 0, (size_t)((block_end - block) * cells) * sizeof *pos);
  for (int64_t n = begin; n < end; ++n) {
    const int64_t i = by_row ? c->rows[n] - waco_divide(&of_row, c->rows[n]) * of_row.split : 0;
    source[n] = (int32_t)(c->number[source[n]] * cells + i);
    ++pos[source[n]];
  }
  int32_t sum = (int32_t)begin;
  for (int64_t cell = block * cells; cell < block_end * cells; ++cell) {
    const int32_t count = pos[cell];
    pos[cell] = sum;
    sum += count;
  }
  for (int64_t n = begin; n < end; ++n) source[n] = pos[source[n]]++;
}

/* Coordinates inside the blocks, at the positions of the nonzeros. */
static inline void waco_fill_inner(const struct waco_block_packer* q, const struct waco_block_scratch* c,
                                   int64_t begin, int64_t end) {
  const struct waco_packer* p = q->p;
  const int32_t* source = (const int32_t*)p->out->source;
  for (int l = 2; l < p->levels; ++l) {
    if (p->format->level[l].kind == WACO_U) continue;
    const int mode = p->format->level[l].mode;
    const int64_t* x = mode == 0 ? c->rows : p->coords[1];
    const struct waco_divider d = p->divider[mode];
    waco_with_crd(&p->out->level[l], [=](auto* crd) {
      for (int64_t n = begin; n < end; ++n) waco_put(crd + source[n], x[n] - waco_divide(&d, x[n]) * d.split);
    });
  }
}

static inline int waco_fill_blocks(const struct waco_block_packer* q, struct waco_block_scratch* c, int t) {
  const struct waco_packer* p = q->p;
  const int64_t rows = q->shape.rows, last = waco_row_cut(p, rows, q->threads, t + 1);
  const int64_t area_bytes = rows * q->shape.columns * p->out->value_bytes;
  const uint32_t mark = (uint32_t)q->num_groups + 1; /* above those of counting */
  int64_t block = q->blocks[t], full = q->groups[t];
  for (int64_t g = waco_row_cut(p, rows, q->threads, t), next; g < last; g = next) {
    next = waco_chunk_end(p, rows, g, last);
    const int64_t begin = waco_row_begin(p, g * rows), end = waco_row_begin(p, next * rows);
    const int64_t block_end = q->blocks[t] + q->end[next - 1];
    if (!waco_begin_chunk(p, c, begin, end)) return 0;
    waco_meet_blocks<false>(q, c, begin, end, mark, 0, (int32_t*)p->out->source);
    full = waco_number_blocks(q, c, g, next, q->blocks[t], block, full);
    if (q->shape.tail == WACO_DENSE_BLOCKS) {
      memset((char*)p->out->values + block * area_bytes, 0, (size_t)((block_end - block) * area_bytes));
      waco_place_dense(q, c, begin, end);
    } else {
      waco_place_entries(q, c, begin, end, block, block_end);
      waco_fill_inner(q, c, begin, end);
    }
    waco_place_values(p, begin, end);
    block = block_end;
  }
  return 1;
}

/* Counts and sizes everything. */
static inline int waco_size_blocks(struct waco_packer* p, const struct waco_block_packer* q,
                                   struct waco_block_scratch* scratch) {
  int64_t entries[WACO_MAX_LEVELS] = {0, 0, p->nnz, p->nnz};
  int ok = 1;
  q->blocks[0] = q->groups[0] = 0;
  waco_parallel(q->threads, [=, &ok](int t) {
    if (!waco_make_block_scratch(&scratch[t], p->out->level[1].extent) ||
        !waco_count_blocks(q, &scratch[t], t))
      __atomic_store_n(&ok, 0, __ATOMIC_RELAXED);
  });
  if (!ok) return WACO_OUT_OF_MEMORY;
  for (int t = 0; t < q->threads; ++t) {
    q->blocks[t + 1] += q->blocks[t];
    q->groups[t + 1] += q->groups[t];
  }
  entries[0] = p->format->level[1].kind == WACO_S ? q->blocks[q->threads] : q->groups[q->threads];
  entries[1] = q->blocks[q->threads];
  const int status = waco_size_levels(p, entries);
  if (status != WACO_OK) return status;
  if (p->out->pos_bytes != 4) return kWacoNotDirect;
  return waco_allocate_levels(p->out, 0, q->threads) ? WACO_OK : WACO_OUT_OF_MEMORY;
}

/* Threads at most: each marks column blocks of its own, and no more memory goes there than to the nonzeros.
 */
static inline int64_t waco_block_threads(const struct waco_packer* p) {
  return 1 + 4 * p->nnz / (p->out->level[1].extent + 1);
}

/* Needs p->row_ptr and fewer than 2^31 nonzeros. */
static inline int waco_pack_blocks(struct waco_packer* p, int threads) {
  const int64_t groups = p->out->level[0].extent;
  if (p->out->level[1].extent > 16 * p->nnz + (1 << 16) || groups >= INT32_MAX) return kWacoNotDirect;
  const int64_t most = waco_block_threads(p);
  if (threads > most) threads = (int)most;
  struct waco_block_packer q = {p,      waco_find_block_shape(p->format), threads, groups, nullptr, nullptr,
                                nullptr};
  struct waco_block_scratch* scratch = (struct waco_block_scratch*)calloc((size_t)threads, sizeof *scratch);
  q.blocks = (int64_t*)waco_allocate(threads + 1, sizeof *q.blocks);
  q.groups = (int64_t*)waco_allocate(threads + 1, sizeof *q.groups);
  q.end = (int32_t*)waco_allocate(groups, sizeof *q.end);
  int ok = scratch && q.blocks && q.groups && q.end;
  int status = ok ? waco_size_blocks(p, &q, scratch) : WACO_OUT_OF_MEMORY;
  if (status == WACO_OK) {
    waco_begin_pos(p);
    if (!p->values) waco_zero(p->out->values, p->out->num_stored * p->out->value_bytes, threads);
    waco_parallel(threads, [&](int t) {
      if (!waco_fill_blocks(&q, &scratch[t], t)) __atomic_store_n(&ok, 0, __ATOMIC_RELAXED);
    });
    if (!ok) status = WACO_OUT_OF_MEMORY;
  }
  for (int t = 0; scratch && t < threads; ++t) waco_free_block_scratch(&scratch[t]);
  free(scratch);
  free(q.blocks);
  free(q.groups);
  free(q.end);
  return status;
}

#endif
