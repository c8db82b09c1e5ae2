// Packing: an order of a matrix's rows in which those that share columns follow each other, so that what a
// row needs of a dense operand is still in a cache. Greedy: next comes the row of whose columns the largest
// share is among those that were met last (what Gorder does for graphs, Wei, Yu, Lu, Lin, SIGMOD 2016, with
// shares in place of counts and a cache in place of a window of rows).
#ifndef WACO_PACK_CLUSTER_HPP
#define WACO_PACK_CLUSTER_HPP

#include "pack_check.hpp"
#include "pack_rows.hpp"

/* Columns met last: rows of a dense operand, of a kilobyte each, that a second-level cache holds. */
static const int32_t kWacoRecentColumns = 2048;
/* Rows are told apart by shares of this many steps. */
enum { kWacoShares = 32, kWacoPlaced = kWacoShares + 1 };
/* Rows that learn of a column which is met or forgotten, for each nonzero that was placed: where there are
   more, columns of many rows, which say little, tell none. */
static const int64_t kWacoTold = 24;
/* Rows, columns and nonzeros are numbered in 32 bits, entries of lists too. */
static const int64_t kWacoMostClustered = (int64_t)1 << 30;

/* A row; its columns are column_of[begin] .. up to the begin of the next row. */
struct waco_row {
  int32_t begin;
  int32_t met;    /* columns among the recent ones that told the row */
  int32_t enough; /* with so many it belongs to another list */
  int32_t list;   /* where its last entry is: the share met then, in steps of its length; or kWacoPlaced */
};

/* A column; its rows are row_of[begin] .. up to the begin of the next column. */
struct waco_column {
  int32_t begin;
  int32_t last; /* when it was met last: nonzeros that were placed by then; 0: never */
};

/* Of a list of rows; one whose row is by now in another list counts for nothing. */
struct waco_entry {
  int32_t row, after; /* after: -1 ends the list */
};

/* Rows that wait for their turn, and the columns met last. Lists are of rows whose share was as high when
   they were put there: one that has fallen since is found out when its turn comes. */
struct waco_clusters {
  int32_t num_rows, num_columns, num_entries;
  struct waco_row* row;       /* two more than there are: the end of the last, and room to count; the
                                 other arrays lie behind it, in the same memory */
  struct waco_column* column; /* the same */
  int32_t *column_of, *row_of;
  struct waco_entry* entry;
  int32_t first[kWacoShares + 1]; /* entries by share; rows of share 0 are in no list */
  int32_t unused;                 /* first of the other entries */
  int32_t highest;                /* no list above it has a row */
  int32_t time, num_recent, most_rows;
  int64_t told;
  /* Met at time `forgotten` or before: no longer recent. The nonzero after that is place `oldest` of the row
     that was placed as number oldest_row. */
  int32_t forgotten, oldest, oldest_row;
  int32_t* order; /* of the rows that were placed */
};

/* From counts in line[x + 2].begin: afterwards the next item of line x goes to line[x + 1].begin. */
template <class Line>
static inline void waco_sum_lines(Line* line, int32_t lines) {
  for (int32_t x = 0; x < lines; ++x) line[x + 2].begin += line[x + 1].begin;
}

/* From the items of lines of one kind those of the other; they then ascend. */
template <class From, class To>
static inline void waco_turn_lines(const From* from, const int32_t* items, int32_t lines, To* to,
                                   int32_t* to_items, int32_t to_lines) {
  for (int32_t x = 0; x < to_lines + 2; ++x) to[x].begin = 0;
  for (int32_t n = 0; n < from[lines].begin; ++n) ++to[items[n] + 2].begin;
  waco_sum_lines(to, to_lines);
  for (int32_t x = 0; x < lines; ++x)
    for (int32_t n = from[x].begin; n < from[x + 1].begin; ++n) to_items[to[items[n] + 1].begin++] = x;
}

/* The pattern by rows and by columns. */
static inline void waco_index_pattern(const struct waco_packer* p, struct waco_clusters* c) {
  const int64_t *rows = p->coords[0], *columns = p->coords[1];
  if (p->sorted_modes == 2) {
    for (int64_t n = 0; n < p->nnz; ++n) {
      ++c->row[rows[n] + 1].begin;
      c->column_of[n] = (int32_t)columns[n];
    }
    for (int32_t r = 0; r < c->num_rows; ++r) c->row[r + 1].begin += c->row[r].begin;
  } else {
    for (int64_t n = 0; n < p->nnz; ++n) ++c->column[columns[n] + 2].begin;
    waco_sum_lines(c->column, c->num_columns);
    for (int64_t n = 0; n < p->nnz; ++n) c->row_of[c->column[columns[n] + 1].begin++] = (int32_t)rows[n];
    waco_turn_lines(c->column, c->row_of, c->num_columns, c->row, c->column_of, c->num_rows);
  }
  waco_turn_lines(c->row, c->column_of, c->num_rows, c->column, c->row_of, c->num_columns);
}

/* Empties the lists. */
static inline void waco_clear_lists(struct waco_clusters* c) {
  for (int s = 0; s <= kWacoShares; ++s) c->first[s] = -1;
  for (int32_t e = 0; e < c->num_entries; ++e) c->entry[e].after = e + 1;
  c->entry[c->num_entries - 1].after = -1;
  c->unused = 0;
}

static inline void waco_list_row(struct waco_clusters* c, int32_t row) {
  const int32_t e = c->unused;
  int32_t* first = &c->first[c->row[row].list];
  c->unused = c->entry[e].after;
  c->entry[e].row = row;
  c->entry[e].after = *first;
  *first = e;
}

/* Where entries that count for nothing have taken all: there are more entries than rows. */
static inline void waco_list_rows_anew(struct waco_clusters* c) {
  waco_clear_lists(c);
  for (int32_t r = c->num_rows - 1; r >= 0; --r)
    if (c->row[r].list > 0 && c->row[r].list < kWacoPlaced) waco_list_row(c, r);
}

static inline int32_t waco_share_of(const struct waco_clusters* c, int32_t row) {
  const uint32_t length = (uint32_t)(c->row[row + 1].begin - c->row[row].begin);
  return (int32_t)((uint64_t)kWacoShares * (uint32_t)c->row[row].met / length);
}

/* Puts a row that has columns into the list of its share. */
static inline void waco_sort_in(struct waco_clusters* c, int32_t row) {
  struct waco_row* r = &c->row[row];
  const int64_t length = r[1].begin - r->begin;
  r->list = waco_share_of(c, row);
  r->enough = (int32_t)(((r->list + 1) * length + kWacoShares - 1) / kWacoShares);
  if (r->list == 0) return;
  if (c->unused >= 0)
    waco_list_row(c, row);
  else
    waco_list_rows_anew(c);
  if (r->list > c->highest) c->highest = r->list;
}

static inline int waco_make_clusters(const struct waco_packer* p, int32_t* order, struct waco_clusters* c) {
  memset(c, 0, sizeof *c);
  c->order = order;
  c->num_rows = (int32_t)p->dims[0];
  c->num_columns = (int32_t)p->dims[1];
  c->num_entries = c->num_rows + c->num_rows / 2 + 2;
  c->most_rows = 1024;
  const int64_t lines =
      (p->dims[0] + 2) * (int64_t)sizeof *c->row + (p->dims[1] + 2) * (int64_t)sizeof *c->column;
  const int64_t entries = c->num_entries * (int64_t)sizeof *c->entry,
                items = p->nnz * (int64_t)sizeof(int32_t);
  c->row = (struct waco_row*)waco_allocate_briefly(lines + entries + 2 * items, 1);
  if (!c->row) return 0;
  c->column = (struct waco_column*)(c->row + c->num_rows + 2);
  c->entry = (struct waco_entry*)(c->column + c->num_columns + 2);
  c->column_of = (int32_t*)(c->entry + c->num_entries);
  c->row_of = c->column_of + p->nnz;
  memset(c->row, 0, (size_t)lines);
  waco_index_pattern(p, c);
  waco_clear_lists(c);
  for (int32_t r = 0; r < c->num_rows; ++r)
    c->row[r].enough = (c->row[r + 1].begin - c->row[r].begin + kWacoShares - 1) / kWacoShares;
  return 1;
}

static inline int32_t waco_rows_in(const struct waco_clusters* c, int32_t column) {
  return c->column[column + 1].begin - c->column[column].begin;
}

/* Tells the rows of a column that it is met. */
static inline void waco_tell_met(struct waco_clusters* c, int32_t column) {
  const int32_t end = c->column[column + 1].begin;
  for (int32_t n = c->column[column].begin; n < end; ++n) {
    const int32_t row = c->row_of[n];
    if (++c->row[row].met >= c->row[row].enough) waco_sort_in(c, row);
  }
}

static inline void waco_tell_forgotten(struct waco_clusters* c, int32_t column) {
  const int32_t end = c->column[column + 1].begin;
  for (int32_t n = c->column[column].begin; n < end; ++n) --c->row[c->row_of[n]].met;
}

/* The next nonzero in the order of the placed rows was met last when there were `forgotten` of them: returns
   its column when that has not been met since, else -1. */
static inline int32_t waco_forget_nonzero(struct waco_clusters* c) {
  while (c->oldest == c->row[c->order[c->oldest_row] + 1].begin)
    c->oldest = c->row[c->order[++c->oldest_row]].begin;
  const int32_t column = c->column_of[c->oldest++];
  return c->column[column].last == ++c->forgotten ? column : -1;
}

static inline void waco_meet_column(struct waco_clusters* c, int32_t column) {
  const int is_recent = c->column[column].last > c->forgotten;
  c->column[column].last = ++c->time;
  if (is_recent) return;
  if (waco_rows_in(c, column) <= c->most_rows) {
    waco_tell_met(c, column);
    c->told += waco_rows_in(c, column);
  }
  if (++c->num_recent <= kWacoRecentColumns) return;
  int32_t oldest = -1;
  while (oldest < 0) oldest = waco_forget_nonzero(c);
  --c->num_recent;
  if (waco_rows_in(c, oldest) <= c->most_rows) {
    waco_tell_forgotten(c, oldest);
    c->told += waco_rows_in(c, oldest);
  }
}

/* From now on columns of more than half as many rows tell none: what they have told is taken back. */
static inline void waco_tell_less(struct waco_clusters* c) {
  const int32_t before = c->most_rows;
  c->most_rows /= 2;
  struct waco_clusters walk = *c; /* over the recent columns */
  while (walk.forgotten < walk.time) {
    const int32_t column = waco_forget_nonzero(&walk);
    if (column < 0 || waco_rows_in(c, column) <= c->most_rows || waco_rows_in(c, column) > before) continue;
    waco_tell_forgotten(c, column);
  }
}

/* Its place is in the order already. */
static inline void waco_place_row(struct waco_clusters* c, int32_t row) {
  c->row[row].list = kWacoPlaced;
  c->row[row].enough = INT32_MAX;
  for (int32_t n = c->row[row].begin; n < c->row[row + 1].begin; ++n) waco_meet_column(c, c->column_of[n]);
  if (c->told > kWacoTold * ((int64_t)c->time + 4096) && c->most_rows > 8) waco_tell_less(c);
}

/* The first row of the highest list, or -1 when all lists are empty. */
static inline int32_t waco_take_row(struct waco_clusters* c) {
  while (c->highest > 0) {
    const int32_t e = c->first[c->highest];
    if (e < 0) {
      --c->highest;
      continue;
    }
    const int32_t row = c->entry[e].row;
    c->first[c->highest] = c->entry[e].after;
    c->entry[e].after = c->unused;
    c->unused = e;
    if (c->row[row].list != c->highest) continue;
    if (waco_share_of(c, row) == c->highest) return row;
    waco_sort_in(c, row);
  }
  return -1;
}

static inline int waco_too_many_to_cluster(const int64_t* dims, int64_t nnz) {
  return dims[0] > kWacoMostClustered || dims[1] > kWacoMostClustered || nnz > kWacoMostClustered;
}

/* Rows of the first window of the matrix come first, and so on, those of each in the order they have. Of the
   row's and the entries' arrays, which are no longer needed, one counts and the other holds the old order. */
static inline void waco_part_windows(struct waco_clusters* c, int32_t window) {
  for (int32_t w = 0; w <= (c->num_rows - 1) / window; ++w) c->row[w].begin = w * window;
  for (int32_t n = 0; n < c->num_rows; ++n) c->entry[n].row = c->order[n];
  for (int32_t n = 0; n < c->num_rows; ++n)
    c->order[c->row[c->entry[n].row / window].begin++] = c->entry[n].row;
}

/* order[n] = the n-th row, in windows of so many rows (0: of all). Coordinates were checked, and are not too
   many; 0 where memory runs out. */
static inline int waco_cluster_rows(const struct waco_packer* p, int64_t window, int32_t* order) {
  struct waco_clusters c;
  const int ok = waco_make_clusters(p, order, &c);
  for (int32_t n = 0, next = 0; ok && n < c.num_rows; ++n) {
    order[n] = waco_take_row(&c);
    if (order[n] < 0) { /* nobody knows a recent column */
      while (c.row[next].list == kWacoPlaced) ++next;
      order[n] = next;
    }
    if (n == 0) c.oldest = c.row[order[0]].begin;
    waco_place_row(&c, order[n]);
  }
  if (ok && window > 0 && window < c.num_rows) waco_part_windows(&c, (int32_t)window);
  free(c.row);
  return ok;
}

/* The nonzeros of a matrix with its rows clustered, as an input of its own, without values; and what takes
   their place meanwhile. */
struct waco_moved {
  int32_t* row_of; /* of every stored row, up to the last whole group of split[0] ones; -1: no row */
  int64_t* row_ptr;
  int64_t* columns;
  const int64_t *given_rows, *given_row_ptr, *given_columns;
  const void* given_values;
  int threads; /* that may move nonzeros: one, unless those of a row follow each other */
};

static inline void waco_free_moved(struct waco_moved* m) {
  free(m->row_of);
  free(m->row_ptr);
  free(m->columns);
}

/* Sets row_ptr; 0 where memory runs out. */
static inline int waco_point_to_moved_rows(const struct waco_packer* p, struct waco_moved* m) {
  const int64_t rows = p->dims[0];
  int64_t* length = (int64_t*)waco_allocate_briefly(rows, sizeof *length);
  m->row_ptr = (int64_t*)waco_allocate_briefly(rows + 1, sizeof *m->row_ptr);
  const int ok = length && m->row_ptr;
  if (ok) {
    memset(length, 0, (size_t)rows * sizeof *length);
    for (int64_t n = 0; n < p->nnz; ++n) ++length[p->coords[0][n]];
    m->row_ptr[0] = 0;
    for (int64_t r = 0; r < rows; ++r) m->row_ptr[r + 1] = m->row_ptr[r] + length[m->row_of[r]];
  }
  free(length);
  return ok;
}

/* Calls body(n, place) for every nonzero of the given input and its place among the moved ones. Nonzeros of a
   row keep their order. 0 where memory runs out. */
template <class Body>
static inline int waco_walk_moved(const struct waco_packer* p, const struct waco_moved* m, const Body& body) {
  const int64_t rows = p->dims[0], nnz = p->nnz, *row = p->coords[0];
  int64_t* next = (int64_t*)waco_allocate_briefly(rows, sizeof *next);
  if (!next) return 0;
  for (int64_t r = 0; r < rows; ++r) next[m->row_of[r]] = m->row_ptr[r];
  /* No two threads share a row. */
  waco_parallel(m->threads, [=](int t) {
    const int64_t end = waco_next_row(row, nnz, waco_share(nnz, m->threads, t + 1));
    for (int64_t n = waco_next_row(row, nnz, waco_share(nnz, m->threads, t)); n < end; ++n)
      body(n, next[row[n]]++);
  });
  free(next);
  return 1;
}

/* Lets `p` pack the moved nonzeros in place of the given ones. */
static inline int waco_cluster_input(struct waco_packer* p, struct waco_moved* m) {
  if (waco_too_many_to_cluster(p->dims, p->nnz)) return WACO_UNFIT;
  const int64_t padded = waco_stored_rows(p->out);
  m->given_rows = p->coords[0];
  m->given_row_ptr = p->row_ptr;
  m->given_columns = p->coords[1];
  m->given_values = p->values;
  if (!waco_make_rows(p)) return WACO_OUT_OF_MEMORY;
  if (!waco_check_coordinates(p)) return WACO_BAD_ARGUMENT;
  m->threads = p->sorted_modes > 0 ? p->threads : 1;
  m->row_of = (int32_t*)waco_allocate(padded, sizeof *m->row_of);
  if (!m->row_of || !waco_cluster_rows(p, p->format->cluster_window, m->row_of)) return WACO_OUT_OF_MEMORY;
  for (int64_t n = p->dims[0]; n < padded; ++n) m->row_of[n] = -1;
  /* What clustering took is free again. */
  m->columns = (int64_t*)waco_allocate_briefly(p->nnz, sizeof *m->columns);
  if (!m->columns || !waco_point_to_moved_rows(p, m)) return WACO_OUT_OF_MEMORY;
  int64_t* columns = m->columns;
  if (!waco_walk_moved(p, m, [=](int64_t n, int64_t place) { columns[place] = m->given_columns[n]; }))
    return WACO_OUT_OF_MEMORY;
  free(p->owned);
  p->owned = nullptr;
  p->coords[0] = nullptr;
  p->coords[1] = m->columns;
  p->row_ptr = m->row_ptr;
  p->values = nullptr;
  return WACO_OK;
}

/* source[n] = where the n-th nonzero of the given input is stored, without `stored` its place among the
   moved ones; 0 where memory runs out. */
template <class Index>
static inline int waco_find_sources(const struct waco_packer* p, const struct waco_moved* m,
                                    const Index* stored, Index* source) {
  return waco_walk_moved(
      p, m, [=](int64_t n, int64_t place) { source[n] = stored ? stored[place] : (Index)place; });
}

/* Once the moved nonzeros are packed: the storage is to tell of the given ones, and to have their values. */
static inline int waco_tell_of_input(struct waco_packer* p, struct waco_moved* m) {
  struct waco_storage* s = p->out;
  free(m->columns);
  free(p->owned);
  m->columns = p->owned = nullptr;
  p->coords[0] = m->given_rows;
  p->coords[1] = m->given_columns;
  p->row_ptr = m->given_row_ptr;
  p->values = m->given_values;
  if (!waco_make_rows(p)) return WACO_OUT_OF_MEMORY;
  const int wide = s->source_bytes == 8;
  void* source = waco_allocate(p->nnz, wide ? 8 : 4);
  if (!source) return WACO_OUT_OF_MEMORY;
  const int ok = wide ? waco_find_sources(p, m, (const int64_t*)s->source, (int64_t*)source)
                      : waco_find_sources(p, m, (const int32_t*)s->source, (int32_t*)source);
  free(s->source);
  s->source = source;
  s->source_bytes = wide ? 8 : 4;
  if (!ok) return WACO_OUT_OF_MEMORY;
  waco_parallel(p->threads, [=](int t) {
    waco_place_values(p, waco_share(p->nnz, p->threads, t), waco_share(p->nnz, p->threads, t + 1));
  });
  if (s->row_of) { /* rows were sorted after that */
    for (int64_t n = 0; n < waco_stored_rows(s); ++n)
      if (s->row_of[n] >= 0) s->row_of[n] = m->row_of[s->row_of[n]];
  } else {
    s->row_of = m->row_of;
    m->row_of = nullptr;
  }
  return WACO_OK;
}

#endif
