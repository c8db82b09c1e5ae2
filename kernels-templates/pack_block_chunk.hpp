// Packing in blocks: which formats are, and the walk over chunks of nonzeros that finds their blocks.
#ifndef WACO_PACK_BLOCK_CHUNK_HPP
#define WACO_PACK_BLOCK_CHUNK_HPP

#include "pack_members.hpp"
#include "pack_rows.hpp"

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
static inline struct waco_block_shape waco_find_block_shape(const struct waco_format* f) {
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
  int64_t num_groups;
  int64_t* blocks; /* [threads + 1] blocks before the rows of a thread */
  int64_t* groups; /* [threads + 1] groups with nonzeros before them */
  int32_t* end;    /* [num_groups] end of the blocks of a group, counted from the first of its thread */
};

/* The group that met a column block last, from 1 on, and the block's place in the list of blocks met. */
struct waco_block_mark {
  uint32_t group;
  int32_t place;
};

/* A thread's scratch. Nonzeros are walked in chunks of whole groups, with loops over all of a chunk: loops
   over a group or a row end too soon to be predicted. */
struct waco_block_scratch {
  struct waco_block_mark* mark; /* [column blocks] */
  struct waco_members members;
  int64_t room;        /* nonzeros of the longest chunk so far */
  int64_t* row;        /* [room], where the input gives row pointers only */
  int32_t* met;        /* [room + 1] column blocks of the chunk's groups in the order of meeting */
  int32_t* number;     /* [room + 1] of those: the block */
  const int64_t* rows; /* of nonzero n of the chunk: rows[n], n from the start of the input */
};

/* Nonzeros of a chunk, unless a group has more. */
enum { kWacoBlockChunk = 4096 };

static inline int waco_make_block_scratch(struct waco_block_scratch* c, int64_t column_blocks) {
  c->mark = (struct waco_block_mark*)waco_allocate(column_blocks, sizeof *c->mark);
  if (!c->mark) return 0;
  memset(c->mark, 0, (size_t)column_blocks * sizeof *c->mark);
  return waco_make_members(&c->members, column_blocks);
}

static inline void waco_free_block_scratch(struct waco_block_scratch* c) {
  free(c->mark);
  free(c->row);
  free(c->met);
  free(c->number);
  waco_free_members(&c->members);
}

/* Room for the chunk of nonzeros begin .. end-1, and their rows. */
static inline int waco_begin_chunk(const struct waco_packer* p, struct waco_block_scratch* c, int64_t begin,
                                   int64_t end) {
  if (end - begin > c->room) {
    c->room = end - begin > kWacoBlockChunk ? (end - begin) * 2 : (int64_t)kWacoBlockChunk;
    free(c->row);
    free(c->met);
    free(c->number);
    c->row = p->coords[0] ? nullptr : (int64_t*)waco_allocate(c->room, sizeof *c->row);
    c->met = (int32_t*)waco_allocate(c->room + 1, sizeof *c->met);
    c->number = (int32_t*)waco_allocate(c->room + 1, sizeof *c->number);
    if ((!c->row && !p->coords[0]) || !c->met || !c->number) return 0;
  }
  c->rows = p->coords[0];
  if (c->rows) return 1;
  waco_expand_rows(p, begin, end, c->row - begin);
  c->rows = c->row - begin;
  return 1;
}

/* The end of the chunk of whole groups that begins with group g: as many as fit, at least one. */
static inline int64_t waco_chunk_end(const struct waco_packer* p, int64_t rows, int64_t g, int64_t last) {
  const int64_t begin = waco_row_begin(p, g * rows);
  for (++g; g < last && waco_row_begin(p, (g + 1) * rows) - begin <= kWacoBlockChunk; ++g) {
  }
  return g;
}

/* Meets the blocks of nonzeros begin .. end-1 for the first time after `count` others, in groups that are
   marked from `mark` on. With `place`, every nonzero learns its block's place in c->met; without, the groups'
   ends are counted. Returns the count; no branch depends on the pattern. */
template <bool kCount, bool kSkewed>
static inline int64_t waco_meet_arranged(const struct waco_block_packer* q, struct waco_block_scratch* c,
                                         int64_t begin, int64_t end, uint32_t mark, int64_t count,
                                         int32_t* place) {
  const struct waco_divider of_row = q->p->divider[0], of_column = q->p->divider[1];
  const int64_t *columns = q->p->coords[1], *rows = c->rows;
  struct waco_block_mark* const marks = c->mark;
  int32_t *met = c->met, *ends = q->end;
  for (int64_t n = begin; n < end; ++n) {
    const int64_t column = kSkewed ? waco_skewed_column(q->p->dims[0], rows[n], columns[n]) : columns[n];
    const int64_t group = waco_divide(&of_row, rows[n]), block = waco_divide(&of_column, column);
    const struct waco_block_mark before = marks[block];
    const uint32_t now = mark + (uint32_t)group;
    const int fresh = before.group != now;
    marks[block].group = now;
    if (!kCount) {
      marks[block].place = place[n] = fresh ? (int32_t)count : before.place;
      met[count] = (int32_t)block;
    }
    count += fresh;
    if (kCount) ends[group] = (int32_t)count;
  }
  return count;
}

template <bool kCount>
static inline int64_t waco_meet_blocks(const struct waco_block_packer* q, struct waco_block_scratch* c,
                                       int64_t begin, int64_t end, uint32_t mark, int64_t count,
                                       int32_t* place) {
  return q->p->format->arrangement == WACO_SKEWED
             ? waco_meet_arranged<kCount, true>(q, c, begin, end, mark, count, place)
             : waco_meet_arranged<kCount, false>(q, c, begin, end, mark, count, place);
}

#endif
