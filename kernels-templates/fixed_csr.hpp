// The baseline kernels: TACO's default loops over CSR (CSF for 3-D tensors) with OpenMP dynamic chunks.
// Compiles on its own with the defaults below; emission defines WACO_OP_*, WACO_RHS and the types.
#include <omp.h>
#include <stdint.h>

#include "kernels-templates/abi.hpp"

#if !defined(WACO_OP_SPMV) && !defined(WACO_OP_SPMM) && !defined(WACO_OP_SDDMM) && !defined(WACO_OP_MTTKRP)
#define WACO_OP_SPMV
#endif
#ifndef WACO_RHS
#define WACO_RHS 1
#define WACO_VALUE float
#define WACO_POS int32_t
#define WACO_CRD0 int32_t
#define WACO_CRD1 int32_t
#define WACO_CRD2 int32_t
#endif

typedef WACO_VALUE value_t;
typedef WACO_POS pos_t;

extern "C" int waco_kernel(const struct waco_storage* a, const struct waco_call* call) {
  const int64_t rows = a->dim[0];
  const int64_t J = WACO_RHS;
  const value_t* __restrict__ const vals = (const value_t*)a->values;
  const value_t* __restrict__ const B = (const value_t*)call->dense[0];
  value_t* __restrict__ const out = (value_t*)call->out;
  const int chunk = call->chunk;
  (void)J;
  (void)rows;
#ifdef WACO_OP_MTTKRP
  const value_t* __restrict__ const C = (const value_t*)call->dense[1];
  const pos_t *pos0 = (const pos_t*)a->level[0].pos, *pos1 = (const pos_t*)a->level[1].pos,
              *pos2 = (const pos_t*)a->level[2].pos;
  const WACO_CRD0* crd0 = (const WACO_CRD0*)a->level[0].crd;
  const WACO_CRD1* crd1 = (const WACO_CRD1*)a->level[1].crd;
  const WACO_CRD2* crd2 = (const WACO_CRD2*)a->level[2].crd;
#pragma omp parallel num_threads(call->threads)
  {
#pragma omp for schedule(static)
    for (int64_t x = 0; x < rows * J; ++x) out[x] = 0;
#pragma omp for schedule(dynamic, chunk)
    for (int64_t ip = pos0[0]; ip < (int64_t)pos0[1]; ++ip) {
      const int64_t i = crd0[ip];
      for (pos_t kp = pos1[ip]; kp < pos1[ip + 1]; ++kp) {
        const int64_t k = crd1[kp];
        for (pos_t lp = pos2[kp]; lp < pos2[kp + 1]; ++lp) {
          const int64_t l = crd2[lp];
          for (int64_t j = 0; j < J; ++j)
            out[i * J + j] = out[i * J + j] + vals[lp] * B[k * J + j] * C[l * J + j];
        }
      }
    }
  }
#else
  const pos_t* const pos = (const pos_t*)a->level[1].pos;
  const WACO_CRD1* const crd = (const WACO_CRD1*)a->level[1].crd;
#ifdef WACO_OP_SDDMM
  const value_t* __restrict__ const C = (const value_t*)call->dense[1];
#endif
#pragma omp parallel for schedule(dynamic, chunk) num_threads(call->threads)
  for (int64_t i = 0; i < rows; ++i) {
#ifdef WACO_OP_SPMV
    value_t sum = 0;
    for (pos_t p = pos[i]; p < pos[i + 1]; ++p) sum += vals[p] * B[crd[p]];
    out[i] = sum;
#endif
#ifdef WACO_OP_SPMM
    for (int64_t j = 0; j < J; ++j) out[i * J + j] = 0;
    for (pos_t p = pos[i]; p < pos[i + 1]; ++p) {
      const int64_t k = crd[p];
      for (int64_t j = 0; j < J; ++j) out[i * J + j] = out[i * J + j] + vals[p] * B[k * J + j];
    }
#endif
#ifdef WACO_OP_SDDMM
    for (pos_t p = pos[i]; p < pos[i + 1]; ++p) {
      const int64_t j = crd[p];
      value_t sum = 0;
      for (int64_t k = 0; k < J; ++k) sum += B[i * J + k] * C[j * J + k];
      out[p] = vals[p] * sum;
    }
#endif
  }
#endif
  return WACO_OK;
}
