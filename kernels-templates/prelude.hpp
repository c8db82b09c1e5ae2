// Vector types and small helpers that generated kernels use. Compiles on its own with the defaults below;
// emission defines WACO_F64 for doubles, and WACO_POS.
#ifndef WACO_PRELUDE_HPP
#define WACO_PRELUDE_HPP

#ifndef WACO_POS
#define WACO_POS int32_t
#endif

#pragma GCC diagnostic ignored "-Wpsabi"
#if defined(__GNUC__) && !defined(__clang__)
/* Sums of products stay chains of multiply-adds: as trees they take separate additions and more registers. */
#pragma GCC optimize("no-tree-reassoc")
#endif

#ifdef WACO_F64
typedef double value_t;
typedef long long lane_t;
typedef uint8_t mask512_t; /* a bit for each lane of 512 bits */
#define WACO_X86(NAME, WIDTH) __builtin_ia32_##NAME##pd##WIDTH
#else
typedef float value_t;
typedef int32_t lane_t;
typedef uint16_t mask512_t;
#define WACO_X86(NAME, WIDTH) __builtin_ia32_##NAME##ps##WIDTH
#endif
typedef WACO_POS pos_t;

#define WACO_INLINE static inline __attribute__((always_inline, unused))

/* Before a loop: two rounds of it at a time. */
#ifdef __clang__
#define WACO_TWO_AT_A_TIME _Pragma("clang loop unroll_count(2)")
#else
#define WACO_TWO_AT_A_TIME _Pragma("GCC unroll 2")
#endif

/* vecN: N values; vecNu: the same at any address. loadN / storeN move whole vectors, load_partN / store_partN
   the first n values (0 to N of them; the rest reads as 0 and its memory is not touched), sumN adds the
   lanes. */
#define WACO_VECTOR(N)                                                                                \
  typedef value_t vec##N __attribute__((vector_size(N * sizeof(value_t))));                           \
  typedef lane_t mask##N __attribute__((vector_size(N * sizeof(value_t))));                           \
  typedef value_t vec##N##u __attribute__((vector_size(N * sizeof(value_t)), aligned(4), may_alias)); \
  WACO_INLINE vec##N load##N(const value_t* p) {                                                      \
    return *(const vec##N##u*)p;                                                                      \
  }                                                                                                   \
  WACO_INLINE void store##N(value_t* p, vec##N v) {                                                   \
    *(vec##N##u*)p = v;                                                                               \
  }

/* A loaded vector that several products share, kept in a register: GCC otherwise reads it from memory again
   for each of them, and loads run out before multiply-adds do. */
#if defined(__AVX512F__)
#define WACO_REGISTER_BYTES 64
#elif defined(__AVX__)
#define WACO_REGISTER_BYTES 32
#else
#define WACO_REGISTER_BYTES 16
#endif
template <class Vec>
WACO_INLINE Vec held(Vec v) {
  if constexpr (sizeof(Vec) >= 16 && sizeof(Vec) <= WACO_REGISTER_BYTES) {
#if defined(__SSE2__)
    __asm__("" : "+v"(v));
#elif defined(__aarch64__)
    __asm__("" : "+w"(v));
#endif
  }
  return v;
}

/* streamN: storeN past the caches, at an address aligned to the vector; waco_stream_end: before others read
 * it. */
#if defined(__clang__)
#define WACO_STREAM(N)                               \
  WACO_INLINE void stream##N(value_t* p, vec##N v) { \
    __builtin_nontemporal_store(v, (vec##N*)p);      \
  }
#elif defined(__SSE2__)
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
  WACO_X86(movnt, )((value_t*)p, v);
}
#ifdef __AVX__
WACO_INLINE void waco_stream(waco_ymm* p, waco_ymm v) {
  WACO_X86(movnt, 256)((value_t*)p, v);
}
#endif
#ifdef __AVX512F__
WACO_INLINE void waco_stream(waco_zmm* p, waco_zmm v) {
  WACO_X86(movnt, 512)((value_t*)p, v);
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
WACO_STREAM(2)
WACO_STREAM(4)
WACO_STREAM(8)
#ifndef WACO_F64 /* no vector holds 16 doubles */
WACO_VECTOR(16)
WACO_STREAM(16)
#endif

/* N numbers from x on. */
#define WACO_FROM2(x) x, x + 1
#define WACO_FROM4(x) WACO_FROM2(x), WACO_FROM2(x + 2)
#define WACO_FROM8(x) WACO_FROM4(x), WACO_FROM4(x + 4)
#define WACO_FROM16(x) WACO_FROM8(x), WACO_FROM8(x + 8)

/* lowN, highN: a vector's halves; joinN: a vector of two halves. */
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define WACO_HAS_SHUFFLE
#endif
#endif
#ifdef WACO_HAS_SHUFFLE
#define WACO_HALVES(N, H)                                  \
  WACO_INLINE vec##H low##N(vec##N v) {                    \
    return __builtin_shufflevector(v, v, WACO_FROM##H(0)); \
  }                                                        \
  WACO_INLINE vec##H high##N(vec##N v) {                   \
    return __builtin_shufflevector(v, v, WACO_FROM##H(H)); \
  }
#define WACO_JOIN_HALVES(N, H, low, high) __builtin_shufflevector(low, high, WACO_FROM##N(0))
#else /* GCC before 12 */
#define WACO_LANES2(v, x) v[x], v[x + 1]
#define WACO_LANES4(v, x) WACO_LANES2(v, x), WACO_LANES2(v, x + 2)
#define WACO_LANES8(v, x) WACO_LANES4(v, x), WACO_LANES4(v, x + 4)
#define WACO_HALVES(N, H)                \
  WACO_INLINE vec##H low##N(vec##N v) {  \
    return vec##H{WACO_LANES##H(v, 0)};  \
  }                                      \
  WACO_INLINE vec##H high##N(vec##N v) { \
    return vec##H{WACO_LANES##H(v, H)};  \
  }
#define WACO_JOIN_HALVES(N, H, low, high) (vec##N{WACO_LANES##H(low, 0), WACO_LANES##H(high, 0)})
#endif
#define WACO_JOINED(N, H)                               \
  WACO_INLINE vec##N join##N(vec##H low, vec##H high) { \
    return WACO_JOIN_HALVES(N, H, low, high);           \
  }
WACO_HALVES(4, 2)
WACO_HALVES(8, 4)
#ifdef WACO_F64
/* Of shuffles GCC 12 makes a move more for each. Gathers of doubles in CSR took up to 1.1 times as long. */
#if defined(__AVX__) && !defined(__clang__)
WACO_INLINE vec4 join4(vec2 low, vec2 high) {
  return __builtin_ia32_vinsertf128_pd256(__builtin_ia32_pd256_pd(low), high, 1);
}
#else
WACO_JOINED(4, 2)
#endif
#if defined(__AVX512F__) && !defined(__clang__)
WACO_INLINE vec8 join8(vec4 low, vec4 high) {
  return __builtin_ia32_insertf64x4_mask(__builtin_ia32_pd512_256pd(low), high, 1, vec8{}, (mask512_t)-1);
}
#else
WACO_JOINED(8, 4)
#endif
#else
WACO_HALVES(16, 8)
WACO_JOINED(4, 2)
WACO_JOINED(8, 4)
WACO_JOINED(16, 8)
#endif

/* pairsN: p[0] and p[1] in turn. */
WACO_INLINE vec2 pairs2(const value_t* p) {
  return load2(p);
}
#ifdef WACO_F64
WACO_INLINE vec4 pairs4(const value_t* p) {
#if defined(__AVX__) && !defined(__clang__)
  return __builtin_ia32_vbroadcastf128_pd256((const vec2*)p); /* GCC would make it of two instructions */
#else
  return join4(load2(p), load2(p));
#endif
}
#else
#define WACO_PAIRS(N)                                                          \
  WACO_INLINE vec##N pairs##N(const value_t* p) {                              \
    typedef long long pairs __attribute__((vector_size(N * sizeof(value_t)))); \
    long long pair;                                                            \
    __builtin_memcpy(&pair, p, sizeof pair);                                   \
    return (vec##N)(pairs{} + pair);                                           \
  }
WACO_PAIRS(4)
WACO_PAIRS(8)
#endif

/* PICK: lanes of two vectors, numbered through. */
#ifdef WACO_HAS_SHUFFLE
#define WACO_PICK(N, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define WACO_PICK(N, a, b, ...) __builtin_shuffle(a, b, mask##N{__VA_ARGS__})
#endif
#define WACO_PICK2(...) WACO_PICK(2, __VA_ARGS__)
#define WACO_PICK4(...) WACO_PICK(4, __VA_ARGS__)
#define WACO_PICK8(...) WACO_PICK(8, __VA_ARGS__)
#define WACO_PICK16(...) WACO_PICK(16, __VA_ARGS__)

/* Parts go in halves, or by a mask where that saves moves: never by way of memory, where a vector that is
   read after pieces of it were written waits for them. */
#define WACO_PART(N, H)                                             \
  WACO_INLINE vec##N load_part##N(const value_t* p, int64_t n) {    \
    if (n == N) return load##N(p);                                  \
    if (n <= H) return join##N(load_part##H(p, n), vec##H{});       \
    return join##N(load##H(p), load_part##H(p + H, n - H));         \
  }                                                                 \
  WACO_INLINE void store_part##N(value_t* p, vec##N v, int64_t n) { \
    if (n == N) return store##N(p, v);                              \
    if (n <= H) return store_part##H(p, low##N(v), n);              \
    store##H(p, low##N(v));                                         \
    store_part##H(p + H, high##N(v), n - H);                        \
  }
#define WACO_PART_MASKED(N, H, LOAD, STORE)                                              \
  WACO_INLINE vec##N load_part##N(const value_t* p, int64_t n) {                         \
    if (__builtin_constant_p(n) && n == N) return load##N(p);                            \
    if (__builtin_constant_p(n) && n <= H) return join##N(load_part##H(p, n), vec##H{}); \
    return LOAD;                                                                         \
  }                                                                                      \
  WACO_INLINE void store_part##N(value_t* p, vec##N v, int64_t n) {                      \
    if (__builtin_constant_p(n) && n == N) return store##N(p, v);                        \
    if (__builtin_constant_p(n) && n <= H) return store_part##H(p, low##N(v), n);        \
    STORE;                                                                               \
  }
#if defined(__AVX512VL__) && !defined(__clang__)
/* GCC would store half of a vector by a masked vextract, which unlike a masked move touches all of its
   memory. */
template <class Vec>
WACO_INLINE Vec waco_in_register(Vec v) {
  __asm__("" : "+v"(v));
  return v;
}
#define WACO_PART256(N, H)                                                                 \
  WACO_PART_MASKED(N, H, WACO_X86(loadu, 256_mask)(p, vec##N{}, (uint8_t)((1u << n) - 1)), \
                   WACO_X86(storeu, 256_mask)(p, waco_in_register(v), (uint8_t)((1u << n) - 1)))
#elif defined(__AVX__)
#define WACO_PART256(N, H)                                                                                \
  WACO_PART_MASKED(N, H, WACO_X86(maskload, 256)((const vec##N*)p, mask##N{WACO_FROM##N(0)} < (lane_t)n), \
                   WACO_X86(maskstore, 256)((vec##N*)p, mask##N{WACO_FROM##N(0)} < (lane_t)n, v))
#else
#define WACO_PART256(N, H) WACO_PART(N, H)
#endif
#ifdef __AVX512F__
#define WACO_PART512(N, H)                                                                   \
  WACO_PART_MASKED(N, H, WACO_X86(loadu, 512_mask)(p, vec##N{}, (mask512_t)((1u << n) - 1)), \
                   WACO_X86(storeu, 512_mask)(p, v, (mask512_t)((1u << n) - 1)))
#else
#define WACO_PART512(N, H) WACO_PART(N, H)
#endif
WACO_INLINE vec2 load_part2(const value_t* p, int64_t n) {
  return vec2{n > 0 ? p[0] : 0, n > 1 ? p[1] : 0};
}
WACO_INLINE void store_part2(value_t* p, vec2 v, int64_t n) {
  if (n > 0) p[0] = v[0];
  if (n > 1) p[1] = v[1];
}
#ifdef WACO_F64
WACO_PART256(4, 2)
WACO_PART512(8, 4)
#else
WACO_PART(4, 2)
WACO_PART256(8, 4)
WACO_PART512(16, 8)
#endif

WACO_INLINE value_t sum2(vec2 v) {
  return v[0] + v[1];
}
#ifdef WACO_HAS_SHUFFLE
WACO_INLINE value_t sum4(vec4 v) {
  v += __builtin_shufflevector(v, v, 2, 3, 0, 1);
  v += __builtin_shufflevector(v, v, 1, 0, 3, 2);
  return v[0];
}
#else
WACO_INLINE value_t sum4(vec4 v) {
  return (v[0] + v[2]) + (v[1] + v[3]);
}
#endif
WACO_INLINE value_t sum8(vec8 v) {
  return sum4(low8(v) + high8(v));
}

/* Scalar loads are as fast as AMD's gathers from L1, and faster beyond. (GCC 12 takes Zen 4 for znver3.) */
#if defined(__AVX512F__) && !defined(__clang__) && __GNUC__ >= 9 && !defined(__znver3__) && \
    !defined(__znver4__) && !defined(__znver5__)
#define WACO_HAS_GATHERS
#endif

/* Four values of x, put together one by one: of an initializer list GCC first loads all coordinates, runs out
   of registers and keeps them in vector registers, which took up to 1.8 times as long. */
WACO_INLINE vec4 pick4(const value_t* x, int64_t a, int64_t b, int64_t c, int64_t d) {
#if defined(__SSE4_1__) && !defined(WACO_F64)
  vec4 v = {x[a], 0, 0, 0};
  v = __builtin_ia32_insertps128(v, vec4{x[b], 0, 0, 0}, 0x10);
  v = __builtin_ia32_insertps128(v, vec4{x[c], 0, 0, 0}, 0x20);
  return __builtin_ia32_insertps128(v, vec4{x[d], 0, 0, 0}, 0x30);
#else
  return join4(vec2{x[a], x[b]}, vec2{x[c], x[d]});
#endif
}

/* gatherN: x[c[0]], x[c[1]], ... for coordinates of any width; with n < N only the first n are read (at least
   one), for what c holds after them may lie outside of x, and the other lanes hold anything. */
template <class Crd>
WACO_INLINE vec2 gather2(const value_t* x, const Crd* c, int64_t n = 2) {
  return vec2{x[c[0]], x[c[n > 1 ? 1 : 0]]};
}
template <class Crd>
WACO_INLINE vec4 gather4(const value_t* x, const Crd* c, int64_t n = 4) {
#ifdef __x86_64__ /* one load of coordinates, not four: loads are what takes the time */
  if (sizeof(Crd) == 2 && __builtin_constant_p(n) && n == 4) {
    uint64_t word;
    __builtin_memcpy(&word, c, sizeof word);
    return pick4(x, word & 0xffff, word >> 16 & 0xffff, word >> 32 & 0xffff, word >> 48);
  }
#endif
  return pick4(x, c[0], c[n > 1 ? 1 : 0], c[n > 2 ? 2 : 0], c[n > 3 ? 3 : 0]);
}
template <class Crd>
WACO_INLINE vec8 gather8(const value_t* x, const Crd* c, int64_t n = 8) {
#if defined(WACO_F64) && defined(WACO_HAS_GATHERS)
  if (sizeof(Crd) <= 4) {
    typedef Crd crd8 __attribute__((vector_size(8 * sizeof(Crd)), aligned(1), may_alias));
    typedef int idx8 __attribute__((vector_size(32)));
    typedef double val8 __attribute__((vector_size(64)));
    const val8 zero = {};
    return (vec8)__builtin_ia32_gathersiv8df(zero, x, __builtin_convertvector(*(const crd8*)c, idx8),
                                             (char)(n < 8 ? (1 << n) - 1 : -1), 8);
  }
#endif
  if (n <= 4) return join8(gather4(x, c, n), vec4{});
  return join8(gather4(x, c), gather4(x, c + 4, n - 4));
}

/* firstN: v with every lane from n on set to 0 (a select, so that what those lanes held does not matter). */
WACO_INLINE vec2 first2(vec2 v, int64_t n) {
  return mask2{WACO_FROM2(0)} < (lane_t)n ? v : vec2{};
}
WACO_INLINE vec4 first4(vec4 v, int64_t n) {
  return mask4{WACO_FROM4(0)} < (lane_t)n ? v : vec4{};
}
WACO_INLINE vec8 first8(vec8 v, int64_t n) {
  return mask8{WACO_FROM8(0)} < (lane_t)n ? v : vec8{};
}

#ifndef WACO_F64
WACO_INLINE value_t sum16(vec16 v) {
  return sum8(low16(v) + high16(v));
}
template <class Crd>
WACO_INLINE vec16 gather16(const value_t* x, const Crd* c, int64_t n = 16) {
#ifdef WACO_HAS_GATHERS
  if (sizeof(Crd) <= 4) {
    typedef Crd crd16 __attribute__((vector_size(16 * sizeof(Crd)), aligned(1), may_alias));
    typedef int idx16 __attribute__((vector_size(64)));
    typedef float val16 __attribute__((vector_size(64)));
    const val16 zero = {};
    return (vec16)__builtin_ia32_gathersiv16sf(zero, x, __builtin_convertvector(*(const crd16*)c, idx16),
                                               (short)(n < 16 ? (1 << n) - 1 : -1), 4);
  }
#endif
  if (n <= 8) return join16(gather8(x, c, n), vec8{});
  return join16(gather8(x, c), gather8(x, c + 8, n - 8));
}
WACO_INLINE vec16 first16(vec16 v, int64_t n) {
  return mask16{WACO_FROM16(0)} < (lane_t)n ? v : vec16{};
}
#endif

/* dotN<vectors, bounded>: sums, to be added up, of the products of n values with what their coordinates pick
   of x, `vectors` vectors at a time. The last ones are computed and dropped: where c goes on after n, with
   coordinates that may lie outside of x, `bounded` keeps to the n. A function of its own where vectors are
   put together value by value, which takes all registers. */
#ifdef WACO_HAS_GATHERS
#define WACO_DOT_INLINE WACO_INLINE
#else
#define WACO_DOT_INLINE static __attribute__((noinline, unused))
#endif
#define WACO_DOT(N)                                                                                        \
  template <int vectors, bool bounded, class Crd>                                                          \
  WACO_DOT_INLINE vec##N dot##N(const value_t* values, const Crd* c, const value_t* x, int64_t n) {        \
    vec##N sums[vectors] = {};                                                                             \
    int64_t p = 0;                                                                                         \
    for (; p + vectors * N <= n; p += vectors * N)                                                         \
      for (int v = 0; v < vectors; ++v)                                                                    \
        sums[v] += load##N(values + p + v * N) * gather##N(x, c + p + v * N);                              \
    for (; vectors > 1 && p + N <= n; p += N) sums[0] += load##N(values + p) * gather##N(x, c + p);        \
    if (p < n) sums[0] += first##N(load##N(values + p) * gather##N(x, c + p, bounded ? n - p : N), n - p); \
    for (int v = 1; v < vectors; ++v) sums[0] += sums[v];                                                  \
    return sums[0];                                                                                        \
  }
WACO_DOT(2)
WACO_DOT(4)
WACO_DOT(8)
#ifndef WACO_F64
WACO_DOT(16)
#endif

/* Values in a cache line. */
#define WACO_LINE ((int64_t)(64 / sizeof(value_t)))

/* Whether the range that `bounds` begins with (see waco_partition) begins inside a row and is not empty. */
WACO_INLINE bool waco_begins_inside(const int64_t* bounds, int64_t rows, const pos_t* pos) {
  if (bounds[0] >= rows || bounds[1] <= (int64_t)pos[bounds[0]]) return false;
  return bounds[0] != bounds[2] || bounds[1] != bounds[3];
}

WACO_INLINE int64_t waco_min(int64_t a, int64_t b) {
  return a < b ? a : b;
}
WACO_INLINE int64_t waco_max(int64_t a, int64_t b) {
  return a > b ? a : b;
}

#endif
