// Packing: an order of a matrix's rows in which those that share columns follow each other, so that what a
// row needs of a dense operand is still in a cache. Greedy: next comes the row of whose columns the largest
// share is among those that were met last (what Gorder does for graphs, Wei, Yu, Lu, Lin, SIGMOD 2016, with
// shares in place of counts and a cache in place of a window of rows).
#ifndef WACO_PACK_CLUSTER_HPP
#define WACO_PACK_CLUSTER_HPP

#include "pack_check.hpp"
#include "pack_rows.hpp"

/* Columns met last: rows of a dense operand, of a kilobyte each, that a second-level cache holds. */
static const int64_t kWacoRecentColumns = 2048;
/* Rows are told apart by shares of this many steps. */
enum { kWacoShares = 32 };
/* Rows that learn of a column which is met or forgotten, for each nonzero that was placed: where there are
   more, columns of many rows, which say little, tell none. */
static const int64_t kWacoTold = 24;

/* A row or column: its place in a doubly linked list, where it is in one (-1 ends it), and its items, columns
   or rows: item[begin] .. up to the begin of the next one. */
struct waco_line {
  int32_t before, after;
  int32_t met;   /* rows: columns among the recent ones that told the row */
  int32_t state; /* see waco_clusters */
  int64_t begin;
};

/* A pattern by rows or by columns. */
struct waco_lines {
  struct waco_line* line; /* one more than there are, to end the last */
  int32_t* item;
};

static inline int waco_make_lines(struct waco_lines* l, int64_t lines, int64_t items) {
  l->line = (struct waco_line*)waco_allocate(lines + 2, sizeof *l->line);
  l->item = (int32_t*)waco_allocate(items, sizeof *l->item);
  if (!l->line || !l->item) return 0;
  memset(l->line, 0, (size_t)(lines + 2) * sizeof *l->line);
  return 1;
}

static inline void waco_free_lines(struct waco_lines* l) {
  free(l->line);
  free(l->item);
}

/* From counts in line[x + 2].begin: afterwards the next item of line x goes to line[x + 1].begin. */
static inline void waco_sum_lines(struct waco_lines* l, int64_t lines) {
  for (int64_t x = 0; x < lines; ++x) l->line[x + 2].begin += l->line[x + 1].begin;
}

/* The other way round; items of every line then ascend. */
static inline int waco_transpose_lines(const struct waco_lines* from, int64_t lines, struct waco_lines* to,
                                       int64_t to_lines) {
  const int64_t items = from->line[lines].begin;
  if (!waco_make_lines(to, to_lines, items)) return 0;
  for (int64_t n = 0; n < items; ++n) ++to->line[from->item[n] + 2].begin;
  waco_sum_lines(to, to_lines);
  for (int64_t x = 0; x < lines; ++x)
    for (int64_t n = from->line[x].begin; n < from->line[x + 1].begin; ++n)
      to->item[to->line[from->item[n] + 1].begin++] = (int32_t)x;
  return 1;
}

/* The items, `mode`, of every line of the other mode, in the order of the input. */
static inline int waco_input_lines(const struct waco_packer* p, int mode, struct waco_lines* lines) {
  const int64_t *item = p->coords[mode], *line = p->coords[1 - mode], count = p->dims[1 - mode];
  if (!waco_make_lines(lines, count, p->nnz)) return 0;
  for (int64_t n = 0; n < p->nnz; ++n) ++lines->line[line[n] + 2].begin;
  waco_sum_lines(lines, count);
  for (int64_t n = 0; n < p->nnz; ++n) lines->item[lines->line[line[n] + 1].begin++] = (int32_t)item[n];
  return 1;
}

/* Rows that wait for their turn, and the columns met last. A row's state is its share, the columns met in
   steps of its length, or kWacoShares + 1 once it was placed. A column's is 0: not recent, 1: recent, 2: and
   it told its rows. */
struct waco_clusters {
  struct waco_lines rows, columns;
  int32_t first[kWacoShares + 1]; /* of the waiting rows, by share; those of share 0 are in no list */
  int32_t highest;                /* no share above it has a row */
  int32_t newest, oldest;         /* recent columns */
  int64_t num_recent, told, placed, most_rows;
};

static inline void waco_link_first(struct waco_line* line, int32_t* first, int32_t item) {
  line[item].before = -1;
  line[item].after = *first;
  if (*first >= 0) line[*first].before = item;
  *first = item;
}

static inline void waco_unlink(struct waco_line* line, int32_t* first, int32_t item) {
  const int32_t before = line[item].before, after = line[item].after;
  if (before >= 0)
    line[before].after = after;
  else
    *first = after;
  if (after >= 0) line[after].before = before;
}

static inline int waco_make_clusters(const struct waco_packer* p, struct waco_clusters* c) {
  const int64_t rows = p->dims[0], columns = p->dims[1];
  memset(c, 0, sizeof *c);
  int ok = 1;
  if (waco_sorted_modes(p->coords, 2, 0, p->nnz) == 2) {
    ok = waco_input_lines(p, 1, &c->rows);
  } else {
    struct waco_lines as_given = {nullptr, nullptr};
    ok = waco_input_lines(p, 0, &as_given) && waco_transpose_lines(&as_given, columns, &c->rows, rows);
    waco_free_lines(&as_given);
  }
  for (int s = 0; s <= kWacoShares; ++s) c->first[s] = -1;
  c->newest = c->oldest = -1;
  c->most_rows = 1024;
  return ok && waco_transpose_lines(&c->rows, rows, &c->columns, columns);
}

/* Tells the rows of a column that it is met (1) or forgotten (-1). */
static inline void waco_tell_rows(struct waco_clusters* c, int32_t column, int change) {
  struct waco_line* rows = c->rows.line;
  const int64_t begin = c->columns.line[column].begin, end = c->columns.line[column + 1].begin;
  for (int64_t n = begin; n < end; ++n) {
    const int32_t row = c->columns.item[n], before = rows[row].state;
    if (before > kWacoShares) continue;
    rows[row].met += change;
    const uint32_t length = (uint32_t)(rows[row + 1].begin - rows[row].begin);
    const int32_t now = (int32_t)(kWacoShares * (uint32_t)rows[row].met / length);
    if (now == before) continue;
    if (before > 0) waco_unlink(rows, &c->first[before], row);
    if (now > 0) waco_link_first(rows, &c->first[now], row);
    rows[row].state = now;
    if (now > c->highest) c->highest = now;
  }
  c->told += end - begin;
}

static inline void waco_forget_column(struct waco_clusters* c) {
  struct waco_line* columns = c->columns.line;
  const int32_t column = c->oldest;
  c->oldest = columns[column].before;
  waco_unlink(columns, &c->newest, column);
  if (columns[column].state == 2) waco_tell_rows(c, column, -1);
  columns[column].state = 0;
  --c->num_recent;
}

static inline void waco_meet_column(struct waco_clusters* c, int32_t column) {
  struct waco_line* columns = c->columns.line;
  if (c->newest == column) return;
  if (columns[column].state > 0) {
    if (c->oldest == column) c->oldest = columns[column].before;
    waco_unlink(columns, &c->newest, column);
    waco_link_first(columns, &c->newest, column);
    return;
  }
  waco_link_first(columns, &c->newest, column);
  if (c->oldest < 0) c->oldest = column;
  columns[column].state = 1;
  ++c->num_recent;
  if (columns[column + 1].begin - columns[column].begin <= c->most_rows) {
    columns[column].state = 2;
    waco_tell_rows(c, column, 1);
  }
  if (c->num_recent > kWacoRecentColumns) waco_forget_column(c);
}

static inline void waco_place_row(struct waco_clusters* c, int32_t row) {
  struct waco_line* rows = c->rows.line;
  if (rows[row].state > 0) waco_unlink(rows, &c->first[rows[row].state], row);
  rows[row].state = kWacoShares + 1;
  for (int64_t n = rows[row].begin; n < rows[row + 1].begin; ++n) waco_meet_column(c, c->rows.item[n]);
  c->placed += rows[row + 1].begin - rows[row].begin;
  if (c->told > kWacoTold * (c->placed + 4096) && c->most_rows > 8) c->most_rows /= 2;
}

/* order[n] = the n-th row. Coordinates are in range. */
static inline int waco_cluster_rows(const struct waco_packer* p, int32_t* order) {
  struct waco_clusters c;
  const int ok = waco_make_clusters(p, &c);
  for (int64_t n = 0, next = 0; ok && n < p->dims[0]; ++n) {
    while (c.highest > 0 && c.first[c.highest] < 0) --c.highest;
    while (c.highest == 0 && c.rows.line[next].state > kWacoShares) ++next; /* nobody knows a recent column */
    order[n] = c.highest > 0 ? c.first[c.highest] : (int32_t)next;
    waco_place_row(&c, order[n]);
  }
  waco_free_lines(&c.rows);
  waco_free_lines(&c.columns);
  return ok;
}

/* Numbers the rows of a matrix anew: those of `p`, whose coordinates become stored rows, and in `row_of` for
   every stored row, up to the last whole group of `split` ones, the row or -1. */
static inline int waco_renumber_rows(struct waco_packer* p, int32_t** row_of) {
  const int64_t rows = p->dims[0], split = p->format->split[0];
  if (rows >= INT32_MAX - split || p->dims[1] >= INT32_MAX) return WACO_OUT_OF_MEMORY;
  for (int m = 0; m < 2; ++m)
    if (p->coords[m] && waco_is_out_of_range(p->coords[m], p->dims[m], 0, p->nnz)) return WACO_BAD_ARGUMENT;
  if (!waco_make_rows(p)) return WACO_OUT_OF_MEMORY;
  const int64_t padded = waco_stored_rows(p->out);
  int32_t* order = *row_of = (int32_t*)waco_allocate(padded, sizeof *order);
  int32_t* stored_of = (int32_t*)waco_allocate(rows, sizeof *stored_of);
  int64_t* renumbered = (int64_t*)waco_allocate(p->nnz, sizeof *renumbered);
  const int ok = order && stored_of && renumbered && waco_cluster_rows(p, order);
  if (ok) {
    for (int64_t n = rows; n < padded; ++n) order[n] = -1;
    for (int64_t n = 0; n < rows; ++n) stored_of[order[n]] = (int32_t)n;
    const int64_t* from = p->coords[0];
    waco_parallel(p->threads, [=](int t) {
      const int64_t end = waco_share(p->nnz, p->threads, t + 1);
      for (int64_t n = waco_share(p->nnz, p->threads, t); n < end; ++n) renumbered[n] = stored_of[from[n]];
    });
    free(p->owned);
    p->coords[0] = p->owned = renumbered;
    p->row_ptr = nullptr;
  } else {
    free(renumbered);
  }
  free(stored_of);
  return ok ? WACO_OK : WACO_OUT_OF_MEMORY;
}

#endif
