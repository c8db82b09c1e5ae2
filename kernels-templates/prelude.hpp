// Vector types and small helpers that generated kernels use. Compiles on its own with the defaults below;
// emission defines WACO_F64 for doubles, and WACO_POS.
#ifndef WACO_PRELUDE_HPP
#define WACO_PRELUDE_HPP

#ifndef WACO_POS
#define WACO_POS int32_t
#endif

#pragma GCC diagnostic ignored "-Wpsabi"

#ifdef WACO_F64
typedef double value_t;
typedef int64_t lane_t;
#else
typedef float value_t;
typedef int32_t lane_t;
#endif
typedef WACO_POS pos_t;

#define WACO_INLINE static inline __attribute__((always_inline, unused))

/* vecN: N values; vecNu: the same at any address. loadN / storeN move whole vectors, load_partN / store_partN
   the first n values (the rest reads as 0), sumN adds the lanes. */
#define WACO_VECTOR(N)                                                                                \
  typedef value_t vec##N __attribute__((vector_size(N * sizeof(value_t))));                           \
  typedef lane_t mask##N __attribute__((vector_size(N * sizeof(value_t))));                           \
  typedef value_t vec##N##u __attribute__((vector_size(N * sizeof(value_t)), aligned(4), may_alias)); \
  WACO_INLINE vec##N load##N(const value_t* p) {                                                      \
    return *(const vec##N##u*)p;                                                                      \
  }                                                                                                   \
  WACO_INLINE void store##N(value_t* p, vec##N v) {                                                   \
    *(vec##N##u*)p = v;                                                                               \
  }                                                                                                   \
  WACO_INLINE vec##N load_part##N(const value_t* p, int64_t n) {                                      \
    vec##N v = {};                                                                                    \
    __builtin_memcpy(&v, p, (uint64_t)n * sizeof(value_t));                                           \
    return v;                                                                                         \
  }                                                                                                   \
  WACO_INLINE void store_part##N(value_t* p, vec##N v, int64_t n) {                                   \
    __builtin_memcpy(p, &v, (uint64_t)n * sizeof(value_t));                                           \
  }

/* streamN: storeN past the caches, at an address aligned to the vector; waco_stream_end: before others read
 * it. */
#if defined(__clang__)
#define WACO_STREAM(N)                               \
  WACO_INLINE void stream##N(value_t* p, vec##N v) { \
    __builtin_nontemporal_store(v, (vec##N*)p);      \
  }
#elif defined(__SSE2__)
#ifdef WACO_F64
#define WACO_MOVNT(WIDTH) __builtin_ia32_movntpd##WIDTH
#else
#define WACO_MOVNT(WIDTH) __builtin_ia32_movntps##WIDTH
#endif
typedef value_t waco_xmm __attribute__((vector_size(16)));
typedef value_t waco_ymm __attribute__((vector_size(32)));
typedef value_t waco_zmm __attribute__((vector_size(64)));
#define WACO_STREAM(N)                               \
  WACO_INLINE void stream##N(value_t* p, vec##N v) { \
    waco_stream((vec##N*)p, v);                      \
  }
template <class Vec>
WACO_INLINE void waco_stream(Vec* p, Vec v) {
  *p = v;
}
WACO_INLINE void waco_stream(waco_xmm* p, waco_xmm v) {
  WACO_MOVNT()((value_t*)p, v);
}
#ifdef __AVX__
WACO_INLINE void waco_stream(waco_ymm* p, waco_ymm v) {
  WACO_MOVNT(256)((value_t*)p, v);
}
#endif
#ifdef __AVX512F__
WACO_INLINE void waco_stream(waco_zmm* p, waco_zmm v) {
  WACO_MOVNT(512)((value_t*)p, v);
}
#endif
#else
#define WACO_STREAM(N)                               \
  WACO_INLINE void stream##N(value_t* p, vec##N v) { \
    *(vec##N*)p = v;                                 \
  }
#endif
WACO_INLINE void waco_stream_end(void) {
#ifdef __SSE2__
  __builtin_ia32_sfence();
#endif
}

WACO_VECTOR(2)
WACO_VECTOR(4)
WACO_VECTOR(8)
WACO_VECTOR(16)
WACO_STREAM(2)
WACO_STREAM(4)
WACO_STREAM(8)
WACO_STREAM(16)

WACO_INLINE value_t sum2(vec2 v) {
  return v[0] + v[1];
}
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define WACO_HAS_SHUFFLE
#endif
#endif
#ifdef WACO_HAS_SHUFFLE
WACO_INLINE value_t sum4(vec4 v) {
  v += __builtin_shufflevector(v, v, 2, 3, 0, 1);
  v += __builtin_shufflevector(v, v, 1, 0, 3, 2);
  return v[0];
}
WACO_INLINE value_t sum8(vec8 v) {
  return sum4(__builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7));
}
WACO_INLINE value_t sum16(vec16 v) {
  return sum8(__builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
              __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15));
}
#else /* GCC before 12 */
WACO_INLINE value_t sum4(vec4 v) {
  return (v[0] + v[2]) + (v[1] + v[3]);
}
WACO_INLINE value_t sum8(vec8 v) {
  return sum4(vec4{v[0] + v[4], v[1] + v[5], v[2] + v[6], v[3] + v[7]});
}
WACO_INLINE value_t sum16(vec16 v) {
  return sum8(vec8{v[0] + v[8], v[1] + v[9], v[2] + v[10], v[3] + v[11], v[4] + v[12], v[5] + v[13],
                   v[6] + v[14], v[7] + v[15]});
}
#endif

template <class Vec, class Crd>
WACO_INLINE Vec gather_first(const value_t* x, const Crd* c, int64_t n) {
  Vec v = {};
  for (int64_t lane = 0; lane < n; ++lane) v[lane] = x[c[lane]];
  return v;
}
/* gatherN: x[c[0]], x[c[1]], ... for coordinates of any width; with n < N only the first n are read, and the
   others are 0: what c holds there may lie outside of x. */
template <class Crd>
WACO_INLINE vec2 gather2(const value_t* x, const Crd* c, int64_t n = 2) {
  return vec2{x[c[0]], n > 1 ? x[c[1]] : 0};
}
template <class Crd>
WACO_INLINE vec4 gather4(const value_t* x, const Crd* c, int64_t n = 4) {
  if (n < 4) return gather_first<vec4>(x, c, n);
  return vec4{x[c[0]], x[c[1]], x[c[2]], x[c[3]]};
}
template <class Crd>
WACO_INLINE vec8 gather8(const value_t* x, const Crd* c, int64_t n = 8) {
#if defined(WACO_F64) && defined(__AVX512F__) && !defined(__clang__)
  if (sizeof(Crd) <= 4) {
    typedef Crd crd8 __attribute__((vector_size(8 * sizeof(Crd)), aligned(1), may_alias));
    typedef int idx8 __attribute__((vector_size(32)));
    typedef double val8 __attribute__((vector_size(64)));
    const val8 zero = {};
    return (vec8)__builtin_ia32_gathersiv8df(zero, x, __builtin_convertvector(*(const crd8*)c, idx8),
                                             (char)(n < 8 ? (1 << n) - 1 : -1), 8);
  }
#endif
  if (n < 8) return gather_first<vec8>(x, c, n);
  return vec8{x[c[0]], x[c[1]], x[c[2]], x[c[3]], x[c[4]], x[c[5]], x[c[6]], x[c[7]]};
}
template <class Crd>
WACO_INLINE vec16 gather16(const value_t* x, const Crd* c, int64_t n = 16) {
#if !defined(WACO_F64) && defined(__AVX512F__) && !defined(__clang__)
  if (sizeof(Crd) <= 4) {
    typedef Crd crd16 __attribute__((vector_size(16 * sizeof(Crd)), aligned(1), may_alias));
    typedef int idx16 __attribute__((vector_size(64)));
    typedef float val16 __attribute__((vector_size(64)));
    const val16 zero = {};
    return (vec16)__builtin_ia32_gathersiv16sf(zero, x, __builtin_convertvector(*(const crd16*)c, idx16),
                                               (short)(n < 16 ? (1 << n) - 1 : -1), 4);
  }
#endif
  if (n < 16) return gather_first<vec16>(x, c, n);
  return vec16{x[c[0]], x[c[1]], x[c[2]],  x[c[3]],  x[c[4]],  x[c[5]],  x[c[6]],  x[c[7]],
               x[c[8]], x[c[9]], x[c[10]], x[c[11]], x[c[12]], x[c[13]], x[c[14]], x[c[15]]};
}

/* firstN: v with every lane from n on set to 0 (a select, so that what those lanes held does not matter). */
WACO_INLINE vec2 first2(vec2 v, int64_t n) {
  return mask2{0, 1} < (lane_t)n ? v : vec2{};
}
WACO_INLINE vec4 first4(vec4 v, int64_t n) {
  return mask4{0, 1, 2, 3} < (lane_t)n ? v : vec4{};
}
WACO_INLINE vec8 first8(vec8 v, int64_t n) {
  return mask8{0, 1, 2, 3, 4, 5, 6, 7} < (lane_t)n ? v : vec8{};
}
WACO_INLINE vec16 first16(vec16 v, int64_t n) {
  return mask16{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15} < (lane_t)n ? v : vec16{};
}

WACO_INLINE int64_t waco_min(int64_t a, int64_t b) {
  return a < b ? a : b;
}
WACO_INLINE int64_t waco_max(int64_t a, int64_t b) {
  return a > b ? a : b;
}

#endif
