// Packing: a sparse set of small numbers, most of them added several times, that lists them in order and is
// emptied in the time of its members.
#ifndef WACO_PACK_MEMBERS_HPP
#define WACO_PACK_MEMBERS_HPP

#include "pack_memory.hpp"

/* Additions only mark a byte and append; the bitmaps, each with a bit for every word of the one below that is
   not zero, see every member once. */
struct waco_members {
  uint8_t* seen;                 /* [extent] */
  int32_t* added;                /* [num_added] members in the order of addition */
  int64_t num_added, room;       /* room: length of `added`, less one */
  uint64_t *member, *word, *top; /* all zero between uses, but `member` from listing to clearing */
  int32_t* base;                 /* of every word of `member` with members: rank of the lowest */
  int64_t num_tops;
};

/* For numbers below `extent`. */
static inline int waco_make_members(struct waco_members* m, int64_t extent) {
  const int64_t members = extent / 64 + 1, words = members / 64 + 1, tops = words / 64 + 1;
  m->num_tops = tops;
  m->seen = (uint8_t*)waco_allocate(extent, 1);
  m->member = (uint64_t*)waco_allocate(members + words + tops, sizeof *m->member);
  m->base = (int32_t*)waco_allocate(members, sizeof *m->base);
  if (!m->seen || !m->member || !m->base) return 0;
  memset(m->seen, 0, (size_t)extent);
  memset(m->member, 0, (size_t)(members + words + tops) * sizeof *m->member);
  m->word = m->member + members;
  m->top = m->word + words;
  return 1;
}

static inline void waco_free_members(struct waco_members* m) {
  free(m->seen);
  free(m->added);
  free(m->member);
  free(m->base);
}

/* Room for `count` additions to the empty set; 0 when memory runs out. */
static inline int waco_reserve_members(struct waco_members* m, int64_t count) {
  if (count <= m->room) return 1;
  free(m->added);
  m->room = count * 2;
  m->added = (int32_t*)waco_allocate(m->room + 1, sizeof *m->added);
  if (!m->added) m->room = 0;
  return m->added != nullptr;
}

static inline int waco_popcount(uint64_t x) {
#if defined(__POPCNT__) || defined(__aarch64__)
  return __builtin_popcountll(x);
#else
  x -= x >> 1 & 0x5555555555555555u;
  x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
  return (int)(((x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu) * 0x0101010101010101u >> 56);
#endif
}

/* Writes the members in ascending order to members[rank] and so on, their ranks from then on; returns the
   rank after the last. */
template <class T>
static inline int32_t waco_list_members(struct waco_members* m, int32_t rank, T* members) {
  for (int64_t n = 0; n < m->num_added; ++n) {
    const int64_t x = m->added[n];
    m->member[x >> 6] |= (uint64_t)1 << (x & 63);
    m->word[x >> 12] |= (uint64_t)1 << (x >> 6 & 63);
    m->top[x >> 18] |= (uint64_t)1 << (x >> 12 & 63);
  }
  for (int64_t t = 0; t < m->num_tops; ++t) {
    for (uint64_t words = m->top[t]; words; words &= words - 1) {
      const int64_t w = t * 64 + __builtin_ctzll(words);
      for (uint64_t bits = m->word[w]; bits; bits &= bits - 1) {
        const int64_t x = w * 64 + __builtin_ctzll(bits);
        m->base[x] = rank;
        for (uint64_t left = m->member[x]; left; left &= left - 1)
          members[rank++] = (T)(x * 64 + __builtin_ctzll(left));
      }
      m->word[w] = 0;
    }
    m->top[t] = 0;
  }
  return rank;
}

/* The rank of a listed member. */
static inline int32_t waco_rank(const struct waco_members* m, int64_t x) {
  const uint64_t below = ((uint64_t)1 << (x & 63)) - 1;
  return m->base[x >> 6] + waco_popcount(m->member[x >> 6] & below);
}

/* Empties the set. */
static inline void waco_clear_members(struct waco_members* m) {
  for (int64_t n = 0; n < m->num_added; ++n) {
    m->seen[m->added[n]] = 0;
    m->member[m->added[n] >> 6] = 0;
  }
  m->num_added = 0;
}

#endif
