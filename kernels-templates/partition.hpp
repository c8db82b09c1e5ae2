// Cutting packed storage into contiguous ranges of equal work.
#ifndef WACO_PARTITION_HPP
#define WACO_PARTITION_HPP

#include "pack_storage.hpp"

/* First stored value below position `at` of `level` (level 0: of a whole slice, for E and L). */
static inline int64_t waco_first_value(const struct waco_storage* s, int level, int64_t at) {
  for (int l = level + 1; l < s->format.num_levels; ++l) {
    switch (s->format.level[l].kind) {
      case WACO_U:
        at *= s->level[l].extent;
        break;
      case WACO_C:
        at = waco_load_pos(s, l, at);
        break;
      case WACO_S:
        break;
      case WACO_E:
        at *= s->level[l].width;
        break;
      default:
        at = waco_load_pos(s, l, at / s->level[1].extent) * s->level[1].extent;
    }
  }
  return at;
}

static inline int64_t waco_first_child(const struct waco_storage* s, int64_t x) {
  if (s->format.num_levels == 1) return x;
  switch (s->format.level[1].kind) {
    case WACO_U:
      return x * s->level[1].extent;
    case WACO_C:
      return waco_load_pos(s, 1, x);
    default:
      return x;
  }
}

/* Stored values and iterations before iteration x of level 0. */
static inline int64_t waco_work_before(const struct waco_storage* s, int64_t x) {
  return waco_first_value(s, 0, x) + x;
}

/* The largest position q of [low, high] with waco_first_value(level, q) + extra * q <= target; low when none.
 */
static inline int64_t waco_last_within(const struct waco_storage* s, int level, int extra, int64_t low,
                                       int64_t high, int64_t target) {
  const auto is_beyond = [=](int64_t q) { return waco_first_value(s, level, q) + extra * q > target; };
  return waco_find_first(low + 1, high + 1, is_beyond) - 1;
}

/* The nearest place to cut at or after x: between different first coordinates. */
static inline int64_t waco_next_cut(const struct waco_storage* s, int64_t x) {
  const int64_t all = s->level[0].num_positions;
  if (x <= 0 || x >= all || s->format.level[0].kind == WACO_U) return x < all ? x : all;
  const int64_t first = waco_load_crd(&s->level[0], x - 1);
  return waco_find_first(x, all, [=](int64_t at) { return waco_load_crd(&s->level[0], at) > first; });
}

/* The nearest place to cut at or before x. */
static inline int64_t waco_previous_cut(const struct waco_storage* s, int64_t x) {
  const int64_t all = s->level[0].num_positions;
  if (x <= 0 || x >= all || s->format.level[0].kind == WACO_U) return x < all ? x : all;
  const int64_t first = waco_load_crd(&s->level[0], x);
  return waco_find_first(0, x, [=](int64_t at) { return waco_load_crd(&s->level[0], at) >= first; });
}

/* Work of an iteration that is not worth cutting: that saves less than the barrier costs behind which its
 * pieces are added up. */
#define WACO_SHORT_ROW 128

/// Cuts level 0 into `threads` contiguous ranges of equal work: stored values plus one per iteration of level
/// 0. `bounds` [2 * (threads + 1)] receives pairs (x, q): x an iteration of level 0 (U: coordinate, otherwise
/// position), q the first level-1 position of the range that begins there (x itself below a tuple or a single
/// level). Thread t owns iterations x_t .. x_{t+1}, the last one only when q_{t+1} is greater than its first
/// child position, and of those the level-1 positions [q_t, q_{t+1}). A boundary may fall inside an
/// iteration of more work than `short_row` (INT64_MAX: nowhere) and than a 32nd of a range's, when level 0 is
/// U and level 1 is C. A level 0 of several coordinates is cut only where the first of them changes.
static inline void waco_partition(const struct waco_storage* s, int threads, int64_t short_row,
                                  int64_t* bounds) {
  const int64_t all = s->level[0].num_positions, total = waco_work_before(s, all);
  const int cut =
      s->format.num_levels > 1 && s->format.level[0].kind == WACO_U && s->format.level[1].kind == WACO_C;
  for (int t = 0; t <= threads; ++t) {
    const int64_t target = t == threads ? total : total / threads * t + total % threads * t / threads;
    int64_t x = t == 0 ? 0 : waco_last_within(s, 0, 1, 0, all, target);
    int64_t q = waco_first_child(s, x);
    const int64_t work = x < all ? waco_work_before(s, x + 1) - waco_work_before(s, x) : 0;
    if (t > 0 && cut && work > short_row && work > total / threads / 32) {
      const int64_t end = waco_first_child(s, x + 1);
      q = waco_last_within(s, 1, 0, q, end, target - x);
      x += q == end;
    } else if (t > 0 && x < all) {
      const int64_t before = waco_previous_cut(s, x), after = waco_next_cut(s, x + 1);
      x = target - waco_work_before(s, before) <= waco_work_before(s, after) - target ? before : after;
      q = waco_first_child(s, x);
    }
    bounds[2 * t] = x;
    bounds[2 * t + 1] = q;
  }
}

#endif
