// Packing: ranks of distinct small numbers.
#ifndef WACO_PACK_MEMBERS_HPP
#define WACO_PACK_MEMBERS_HPP

#include "pack_memory.hpp"

/* Up to this many numbers are ranked by comparing all pairs, which takes no branch that depends on them. */
enum { kWacoFewMembers = 48 };

/* A set of numbers below an extent as three bitmaps, each with a bit for every word of the one below that is
   not zero; all zero between uses. */
struct waco_members {
  uint64_t *member, *word, *top;
  int32_t* base; /* of every word of `member` with members: rank of the lowest */
  int64_t num_tops;
};

static inline int waco_make_members(struct waco_members* m, int64_t extent) {
  const int64_t members = extent / 64 + 1, words = members / 64 + 1, tops = words / 64 + 1;
  m->num_tops = tops;
  m->member = (uint64_t*)waco_allocate(members + words + tops, sizeof *m->member);
  m->base = (int32_t*)waco_allocate(members, sizeof *m->base);
  if (!m->member || !m->base) return 0;
  memset(m->member, 0, (size_t)(members + words + tops) * sizeof *m->member);
  m->word = m->member + members;
  m->top = m->word + words;
  return 1;
}

static inline void waco_free_members(struct waco_members* m) {
  free(m->member);
  free(m->base);
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

static inline void waco_rank_few(const int32_t* x, int64_t count, int32_t first, int32_t* rank) {
  int32_t all[kWacoFewMembers];
  const int64_t padded = (count + 7) / 8 * 8;
  for (int64_t a = 0; a < count; ++a) all[a] = x[a];
  for (int64_t a = count; a < padded; ++a) all[a] = INT32_MAX;
  for (int64_t a = 0; a < count; ++a) {
    int32_t below = first;
    for (int64_t b = 0; b < padded; ++b) below += all[b] < x[a];
    rank[a] = below;
  }
}

static inline void waco_rank_many(struct waco_members* m, const int32_t* x, int64_t count, int32_t first,
                                  int32_t* rank) {
  for (int64_t n = 0; n < count; ++n) {
    m->member[x[n] >> 6] |= (uint64_t)1 << (x[n] & 63);
    m->word[x[n] >> 12] |= (uint64_t)1 << (x[n] >> 6 & 63);
    m->top[x[n] >> 18] |= (uint64_t)1 << (x[n] >> 12 & 63);
  }
  for (int64_t t = 0; t < m->num_tops; ++t) {
    for (uint64_t words = m->top[t]; words; words &= words - 1) {
      const int64_t w = t * 64 + __builtin_ctzll(words);
      for (uint64_t bits = m->word[w]; bits; bits &= bits - 1) {
        const int64_t at = w * 64 + __builtin_ctzll(bits);
        m->base[at] = first;
        first += waco_popcount(m->member[at]);
      }
      m->word[w] = 0;
    }
    m->top[t] = 0;
  }
  for (int64_t n = 0; n < count; ++n) {
    const uint64_t below = ((uint64_t)1 << (x[n] & 63)) - 1;
    rank[n] = m->base[x[n] >> 6] + waco_popcount(m->member[x[n] >> 6] & below);
  }
  for (int64_t n = 0; n < count; ++n) m->member[x[n] >> 6] = 0;
}

/* rank[n] = `first` + how many of the `count` distinct numbers are less than x[n]. */
static inline void waco_rank_members(struct waco_members* m, const int32_t* x, int64_t count, int32_t first,
                                     int32_t* rank) {
  if (count <= kWacoFewMembers)
    waco_rank_few(x, count, first, rank);
  else
    waco_rank_many(m, x, count, first, rank);
}

#endif
