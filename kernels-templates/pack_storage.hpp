// Packed storage: reading and writing its arrays, its size, replacing its values, releasing it.
#ifndef WACO_PACK_STORAGE_HPP
#define WACO_PACK_STORAGE_HPP

#include "abi.hpp"
#include "pack_memory.hpp"

/* Packing moves values as integers of their size, which the caller, and the kernel, read and write as floats:
   where a compiler sees both, neither may move across this. */
static inline void waco_settle_memory(void) {
  __asm__ volatile("" ::: "memory");
}

/* Bytes of the narrowest coordinates below `extent`. */
static inline int waco_crd_bytes(int64_t extent) {
  return extent <= (int64_t)1 << 8 ? 1 : extent <= (int64_t)1 << 16 ? 2 : extent <= (int64_t)1 << 31 ? 4 : 8;
}

static inline int64_t waco_load_pos(const struct waco_storage* s, int level, int64_t i) {
  return s->pos_bytes == 4 ? ((const int32_t*)s->level[level].pos)[i]
                           : ((const int64_t*)s->level[level].pos)[i];
}

/* pos[begin .. end) = value. */
static inline void waco_fill_pos(struct waco_storage* s, int level, int64_t begin, int64_t end,
                                 int64_t value) {
  if (s->pos_bytes == 4) {
    int32_t* pos = (int32_t*)s->level[level].pos;
    for (int64_t i = begin; i < end; ++i) pos[i] = (int32_t)value;
  } else {
    int64_t* pos = (int64_t*)s->level[level].pos;
    for (int64_t i = begin; i < end; ++i) pos[i] = value;
  }
}

static inline int64_t waco_load_crd(const struct waco_level* level, int64_t i) {
  switch (level->crd_bytes) {
    case 1:
      return ((const uint8_t*)level->crd)[i];
    case 2:
      return ((const uint16_t*)level->crd)[i];
    case 4:
      return ((const uint32_t*)level->crd)[i];
    default:
      return ((const int64_t*)level->crd)[i];
  }
}

static inline void waco_store_crd(const struct waco_level* level, int64_t i, int64_t value) {
  switch (level->crd_bytes) {
    case 1:
      ((uint8_t*)level->crd)[i] = (uint8_t)value;
      break;
    case 2:
      ((uint16_t*)level->crd)[i] = (uint16_t)value;
      break;
    case 4:
      ((uint32_t*)level->crd)[i] = (uint32_t)value;
      break;
    default:
      ((int64_t*)level->crd)[i] = value;
      break;
  }
}
/* Bytes of a value, which an emitted kernel knows when it is compiled. */
static inline int waco_value_bytes(int bytes) {
#ifdef WACO_VALUE_BYTES
  (void)bytes;
  return WACO_VALUE_BYTES;
#else
  return bytes;
#endif
}

template <class T>
static inline void waco_put(T* to, int64_t value) {
  *to = (T)value;
}

/* Calls body with a pointer to the level's coordinates in their own type, of at most 32 bits. */
template <class Body>
static inline void waco_with_crd(const struct waco_level* level, const Body& body) {
  switch (level->crd_bytes) {
    case 1:
      body((uint8_t*)level->crd);
      break;
    case 2:
      body((uint16_t*)level->crd);
      break;
    default:
      body((uint32_t*)level->crd);
      break;
  }
}

/* Entries of a level's pos array; 0 for a level without one. */
static inline int64_t waco_pos_count(const struct waco_storage* s, int l) {
  if (s->format.level[l].kind == WACO_L) return s->level[0].num_positions + 1;
  if (s->format.level[l].kind != WACO_C) return 0;
  return (l > 0 ? s->level[l - 1].num_positions : 1) + 1;
}

/* Allocates the arrays of one sized level. */
static inline int waco_allocate_level(struct waco_storage* s, int l) {
  struct waco_level* level = &s->level[l];
  if (s->format.level[l].kind == WACO_U) return 1;
  level->crd = waco_allocate(level->num_positions, level->crd_bytes);
  if (waco_pos_count(s, l) > 0) level->pos = waco_allocate(waco_pos_count(s, l), s->pos_bytes);
  return level->crd && (level->pos || waco_pos_count(s, l) == 0);
}

/* Allocates the arrays of sized levels; `source` unless it is the identity. */
static inline int waco_allocate_levels(struct waco_storage* s, int source_is_identity, int threads) {
  int ok = 1;
  for (int l = 0; l < s->format.num_levels; ++l) ok &= waco_allocate_level(s, l);
  s->values = waco_allocate(s->num_stored, s->value_bytes);
  s->source_bytes = source_is_identity ? 0 : s->num_stored <= INT32_MAX ? 4 : 8;
  if (s->source_bytes) s->source = waco_allocate(s->num_nonzeros, s->source_bytes);
  if (!ok || !s->values || (s->source_bytes && !s->source)) return 0;
  waco_parallel(threads, [=](int t) {
    for (int l = 0; l < s->format.num_levels; ++l) {
      waco_populate(s->level[l].crd, s->level[l].num_positions * s->level[l].crd_bytes, threads, t);
      waco_populate(s->level[l].pos, waco_pos_count(s, l) * s->pos_bytes, threads, t);
    }
    waco_populate(s->values, s->num_stored * s->value_bytes, threads, t);
    waco_populate(s->source, s->num_nonzeros * s->source_bytes, threads, t);
  });
  return 1;
}

/* Calls body with a function from nonzeros of the input to positions in `values`. */
template <class Body>
static inline void waco_with_source(const struct waco_storage* s, const Body& body) {
  const int32_t* narrow = (const int32_t*)s->source;
  const int64_t* wide = (const int64_t*)s->source;
  if (!s->source)
    body([](int64_t n) { return n; });
  else if (s->source_bytes == 4)
    body([narrow](int64_t n) { return (int64_t)narrow[n]; });
  else
    body([wide](int64_t n) { return wide[n]; });
}

/* stored[source(n)] = input[n], or the inverse, for the nonzeros begin .. end-1. */
template <class To, class From>
static inline void waco_scatter(const struct waco_storage* s, const From* input, To* stored, int64_t begin,
                                int64_t end) {
  waco_with_source(s, [=](const auto& source) {
    for (int64_t n = begin; n < end; ++n) stored[source(n)] = (To)input[n];
  });
}

template <class From, class To>
static inline void waco_gather(const struct waco_storage* s, const From* stored, To* output, int64_t begin,
                               int64_t end) {
  waco_with_source(s, [=](const auto& source) {
    for (int64_t n = begin; n < end; ++n) output[n] = (To)stored[source(n)];
  });
}

/// Releases the arrays, which may be null, and forgets them.
static inline void waco_free_arrays(struct waco_storage* s) {
  for (int l = 0; l < WACO_MAX_LEVELS; ++l) {
    free(s->level[l].pos);
    free(s->level[l].crd);
    s->level[l].pos = s->level[l].crd = nullptr;
  }
  free(s->values);
  free(s->row_of);
  free(s->source);
  s->values = s->source = nullptr;
  s->row_of = nullptr;
}

/// Releases the arrays and clears the struct; safe on a cleared one.
static inline void waco_free(struct waco_storage* s) {
  waco_free_arrays(s);
  memset(s, 0, sizeof *s);
}

/// Replaces the values: `values` [num_nonzeros] in the order of the input, of s->value_bytes each. Fill stays
/// 0.
static inline void waco_store_values(struct waco_storage* s, const void* values, int threads) {
  waco_settle_memory();
  threads = waco_useful_threads(s->num_nonzeros, threads);
  waco_parallel(threads, [=](int t) {
    const int64_t begin = waco_share(s->num_nonzeros, threads, t),
                  end = waco_share(s->num_nonzeros, threads, t + 1);
    if (waco_value_bytes(s->value_bytes) == 4)
      waco_scatter(s, (const uint32_t*)values, (uint32_t*)s->values, begin, end);
    else
      waco_scatter(s, (const uint64_t*)values, (uint64_t*)s->values, begin, end);
  });
  waco_settle_memory();
}

/// The inverse: `stored` [num_stored] in storage order -> `out` [num_nonzeros] in the order of the input.
static inline void waco_take_values(const struct waco_storage* s, const void* stored, void* out,
                                    int threads) {
  waco_settle_memory();
  threads = waco_useful_threads(s->num_nonzeros, threads);
  waco_parallel(threads, [=](int t) {
    const int64_t begin = waco_share(s->num_nonzeros, threads, t),
                  end = waco_share(s->num_nonzeros, threads, t + 1);
    if (waco_value_bytes(s->value_bytes) == 4)
      waco_gather(s, (const uint32_t*)stored, (uint32_t*)out, begin, end);
    else
      waco_gather(s, (const uint64_t*)stored, (uint64_t*)out, begin, end);
  });
  waco_settle_memory();
}

/* Rows in whole groups of split[0]. */
static inline int64_t waco_stored_rows(const struct waco_storage* s) {
  const int64_t split = s->format.split[0];
  return (s->dim[0] + split - 1) / split * split;
}

#endif
