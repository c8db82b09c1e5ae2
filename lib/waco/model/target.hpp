// Code compiled for one instruction set more than the build's, in the words of GCC and of clang.
#pragma once

// WACO_TARGET_AVX2 or WACO_TARGET_AVX512, functions, WACO_TARGET_END. Not templates, which neither reaches.
// WACO_UNROLL(n): the loop that follows is unrolled up to n times.
#if defined(__clang__)
#define WACO_TARGET_AVX2 \
  _Pragma("clang attribute push(__attribute__((target(\"avx2,fma\"))), apply_to = function)")
// clang-format off
#define WACO_TARGET_AVX512 \
  _Pragma("clang attribute push(__attribute__((target(\"avx512f,avx512vl,avx512dq,avx2,fma\"))), apply_to = function)")
// clang-format on
#define WACO_TARGET_END _Pragma("clang attribute pop")
#define WACO_UNROLL(n) _Pragma("clang loop unroll(full)")
#else
#define WACO_TARGET_AVX2 _Pragma("GCC push_options") _Pragma("GCC target(\"avx2,fma\")")
#define WACO_TARGET_AVX512 \
  _Pragma("GCC push_options") _Pragma("GCC target(\"avx512f,avx512vl,avx512dq,fma\")")
#define WACO_TARGET_END _Pragma("GCC pop_options")
#define WACO_UNROLL_TEXT(text) _Pragma(#text)
#define WACO_UNROLL(n) WACO_UNROLL_TEXT(GCC unroll n)
#endif
