// What an emitted kernel does behind its C interface: pack, check that the operand fits, run, replace values.
#ifndef WACO_STANDALONE_HPP
#define WACO_STANDALONE_HPP

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "abi.hpp"
#include "interface.hpp"
#include "packer.hpp"
#include "partition.hpp"

enum waco_op { WACO_SPMV, WACO_SPMM, WACO_SDDMM, WACO_MTTKRP };
enum waco_partition_kind { WACO_NO_PARTITION, WACO_WHOLE_ROWS, WACO_MAY_CUT_ROWS };

/* A kernel, and what it was compiled for. */
struct waco_plan {
  waco_kernel_function kernel;
  struct waco_format format;
  int32_t crd_bytes[WACO_MAX_LEVELS];
  int32_t pos_bytes;
  int32_t exact[3]; /* the split divides the dimension */
  int32_t threads;
  int32_t chunk;
  int32_t prefetch;
  enum waco_partition_kind partition;
  /* Working memory of `threads` threads, which no call exceeds: this much in equal parts, one each, and this
     much for every output row (sddmm: for every stored value) in equal parts, one each but the first. */
  int64_t scratch_bytes;
  int64_t scratch_bytes_per_row;
};

// waco: default plan begin
// Emission replaces this region by the plan; as it stands it is serial CSR spmv.
#define WACO_PLAN_OP WACO_SPMV
#define WACO_PLAN_RHS 1
#define WACO_PLAN_TEXT "spmv f32 | A: i:U k:C | loop: i k | par: serial"
typedef float waco_value;
extern "C" int waco_kernel(const struct waco_storage* a, const struct waco_call* call) {
  const int32_t* pos = (const int32_t*)a->level[1].pos;
  const uint16_t* crd = (const uint16_t*)a->level[1].crd;
  for (int64_t i = 0; i < a->dim[0]; ++i) {
    float sum = 0;
    for (int32_t p = pos[i]; p < pos[i + 1]; ++p)
      sum += ((const float*)a->values)[p] * ((const float*)call->dense[0])[crd[p]];
    ((float*)call->out)[i] = sum;
  }
  return WACO_OK;
}
static const struct waco_plan waco_tuned_plan = {waco_kernel,
                                                 {2, 2, {1, 1, 1}, 1, 0, {{0, 0, WACO_U}, {1, 0, WACO_C}}},
                                                 {0, 2},
                                                 4,
                                                 {1, 1, 1},
                                                 1,
                                                 0,
                                                 0,
                                                 WACO_NO_PARTITION,
                                                 0,
                                                 0};
// waco: default plan end

enum { WACO_MAX_THREADS = 1024 }; /* of a plan, and of a handle */

/* The packed operand with what its kernel needs at every call. */
struct waco_handle {
  struct waco_storage a;
  int64_t* partition;
  void* scratch;
  int32_t threads;
};

/* Rewrites a level's pos with `to` bytes an element. Packing takes the narrowest width that fits; the kernel
   may have been compiled for a larger operand. */
static int waco_widen_pos(struct waco_storage* a, int level, int32_t to) {
  if (!a->level[level].pos || a->pos_bytes == to) return WACO_OK;
  if (a->pos_bytes > to) return WACO_UNFIT;
  const int64_t count = waco_pos_count(a, level);
  int64_t* wide = (int64_t*)waco_allocate(count, to);
  if (!wide) return WACO_OUT_OF_MEMORY;
  for (int64_t n = 0; n < count; ++n) wide[n] = waco_load_pos(a, level, n);
  free(a->level[level].pos);
  a->level[level].pos = wide;
  return WACO_OK;
}

/* Whether splits divide the dimensions as they did of the operand that the kernel was compiled for, and its
   coordinates are wide enough. */
static int waco_takes(const struct waco_plan* plan, const int64_t* dims) {
  const struct waco_format* format = &plan->format;
  for (int m = 0; m < format->order; ++m)
    if (plan->exact[m] && dims[m] > 0 && dims[m] % format->split[m] != 0) return 0;
  for (int l = 0; l < format->num_levels; ++l)
    if (format->level[l].kind != WACO_U && waco_crd_bytes(waco_extent(format, dims, l)) > plan->crd_bytes[l])
      return 0;
  return 1;
}

/* Gives pos the width that the kernel was compiled for, or says that the operand does not fit. */
static int waco_fit_pos(const struct waco_plan* plan, struct waco_storage* a) {
  for (int l = 0; l < plan->format.num_levels; ++l) {
    const int status = waco_widen_pos(a, l, plan->pos_bytes);
    if (status != WACO_OK) return status;
  }
  a->pos_bytes = plan->pos_bytes;
  return WACO_OK;
}

static int waco_prepare(const struct waco_plan* plan, waco_handle* handle) {
  const int status = waco_fit_pos(plan, &handle->a);
  if (status != WACO_OK) return status;
  if (plan->partition != WACO_NO_PARTITION) {
    handle->partition = (int64_t*)waco_allocate(2 * ((int64_t)handle->threads + 1), sizeof(int64_t));
    if (!handle->partition) return WACO_OUT_OF_MEMORY;
    waco_partition(&handle->a, handle->threads,
                   plan->partition == WACO_MAY_CUT_ROWS ? WACO_SHORT_ROW : INT64_MAX, handle->partition);
  }
  const int64_t rows = WACO_PLAN_OP == WACO_SDDMM ? handle->a.num_stored : handle->a.dim[0];
  int64_t scratch_bytes = plan->scratch_bytes / plan->threads * handle->threads;
  if (plan->scratch_bytes_per_row > 0) {
    const int64_t row_bytes = plan->scratch_bytes_per_row / (plan->threads - 1) * (handle->threads - 1);
    if (row_bytes > 0 && rows > kWacoMaxBytes / row_bytes) return WACO_OUT_OF_MEMORY;
    scratch_bytes += row_bytes * rows;
  }
  if (scratch_bytes > 0) {
    handle->scratch = waco_allocate(scratch_bytes, 1);
    if (!handle->scratch) return WACO_OUT_OF_MEMORY;
  }
  return WACO_OK;
}

/* Whether an operand of this size is for the kernel; told before anything is read or allocated. */
static int waco_check_size(const int64_t* dims, int64_t nnz, int32_t threads, int64_t rhs) {
  const struct waco_plan* plan = &waco_tuned_plan;
  if (threads < 0 || threads > WACO_MAX_THREADS) return WACO_BAD_ARGUMENT;
  for (int m = 0; m < plan->format.order; ++m)
    if (dims[m] < 0) return WACO_BAD_ARGUMENT;
  /* The last level has a position for each nonzero: too many are told before they are sorted. */
  const int fits = (rhs == 0 || rhs == WACO_PLAN_RHS) && waco_takes(plan, dims) &&
                   !waco_needs_wider_pos(&plan->format, nnz);
  return fits ? WACO_OK : WACO_UNFIT;
}

/* The functions of the interface call no other of theirs, but static ones: in a shared library such a call
   may get to the function of that name in another kernel. */
static void waco_release(waco_handle* handle) {
  if (!handle) return;
  waco_free(&handle->a);
  free(handle->partition);
  free(handle->scratch);
  free(handle);
}

/* Packs what waco_check_size let pass. */
static int waco_create(const struct waco_input* input, int32_t threads, waco_handle** out) {
  const struct waco_plan* plan = &waco_tuned_plan;
  waco_handle* handle = (waco_handle*)calloc(1, sizeof(waco_handle));
  if (!handle) return WACO_OUT_OF_MEMORY;
  handle->threads = threads > 0 ? threads : plan->threads;
  const int has_results_apart = plan->scratch_bytes_per_row > 0;
  if (has_results_apart && handle->threads > plan->threads) handle->threads = plan->threads;
  int status = waco_pack(&plan->format, input, (int)sizeof(waco_value), handle->threads, 1, &handle->a);
  if (status == WACO_OK) status = waco_prepare(plan, handle);
  if (status == WACO_OK)
    *out = handle;
  else
    waco_release(handle);
  return status;
}

extern "C" int waco_abi_version(void) {
  return WACO_ABI_VERSION;
}

extern "C" const char* waco_plan_text(void) {
  return WACO_PLAN_TEXT;
}

extern "C" int waco_create_coo(const int64_t* dims, int64_t nnz, const int64_t* const* coords,
                               const void* values, int32_t threads, int64_t rhs, waco_handle** handle) {
  if (!handle) return WACO_BAD_ARGUMENT;
  *handle = 0;
  if (!dims || nnz < 0 || !coords || (nnz > 0 && !values)) return WACO_BAD_ARGUMENT;
  struct waco_input input = {
      dims, nnz, {0, 0, 0}, 0, values, (int)sizeof(waco_value), waco_tuned_plan.crd_bytes};
  for (int m = 0; m < waco_tuned_plan.format.order; ++m) {
    if (nnz > 0 && !coords[m]) return WACO_BAD_ARGUMENT;
    input.coords[m] = coords[m];
  }
  const int status = waco_check_size(dims, nnz, threads, rhs);
  return status == WACO_OK ? waco_create(&input, threads, handle) : status;
}

/* Whether these arrays are a CSR matrix that the kernel is for, but for what is in col_idx. */
template <class Index>
static int waco_check_csr(int64_t rows, int64_t cols, const Index* row_ptr, const Index* col_idx,
                          const void* values, int32_t threads, int64_t rhs) {
  if (waco_tuned_plan.format.order != 2 || rows < 0 || !row_ptr || row_ptr[0] != 0) return WACO_BAD_ARGUMENT;
  /* The sign bit is set where a pointer is out of range or smaller than the one before. */
  const int64_t nnz = row_ptr[rows];
  uint64_t bad = (uint64_t)nnz;
  for (int64_t r = 0; r < rows; ++r) {
    const uint64_t next = (uint64_t)row_ptr[r + 1];
    bad |= next | ((uint64_t)nnz - next) | (next - (uint64_t)row_ptr[r]);
  }
  if (bad >> 63 || (nnz > 0 && (!col_idx || !values))) return WACO_BAD_ARGUMENT;
  const int64_t dims[3] = {rows, cols, 1};
  return waco_check_size(dims, nnz, threads, rhs);
}

/* Packs what waco_check_csr let pass. */
static int waco_pack_csr(int64_t rows, int64_t cols, const int64_t* row_ptr, const int64_t* col_idx,
                         const void* values, int32_t threads, waco_handle** handle) {
  const int64_t dims[3] = {rows, cols, 1};
  const struct waco_input input = {dims,   row_ptr[rows],           {0, col_idx, 0},          row_ptr,
                                   values, (int)sizeof(waco_value), waco_tuned_plan.crd_bytes};
  return waco_create(&input, threads, handle);
}

extern "C" int waco_create_csr(int64_t rows, int64_t cols, const int64_t* row_ptr, const int64_t* col_idx,
                               const void* values, int32_t threads, int64_t rhs, waco_handle** handle) {
  if (!handle) return WACO_BAD_ARGUMENT;
  *handle = 0;
  const int status = waco_check_csr(rows, cols, row_ptr, col_idx, values, threads, rhs);
  return status == WACO_OK ? waco_pack_csr(rows, cols, row_ptr, col_idx, values, threads, handle) : status;
}

/* [n] the same numbers wider, to be freed; null when memory runs out. */
static int64_t* waco_widened(const int32_t* narrow, int64_t n, int32_t threads) {
  int64_t* wide = (int64_t*)waco_allocate_briefly(n, sizeof *wide);
  if (!wide) return 0;
  const int parts = waco_useful_threads(n, threads > 0 ? threads : waco_tuned_plan.threads);
  waco_parallel(parts, [=](int t) {
    const int64_t begin = waco_share(n, parts, t), end = waco_share(n, parts, t + 1);
    for (int64_t i = begin; i < end; ++i) wide[i] = narrow[i];
  });
  return wide;
}

extern "C" int waco_create_csr32(int64_t rows, int64_t cols, const int32_t* row_ptr, const int32_t* col_idx,
                                 const void* values, int32_t threads, int64_t rhs, waco_handle** handle) {
  if (!handle) return WACO_BAD_ARGUMENT;
  *handle = 0;
  int status = waco_check_csr(rows, cols, row_ptr, col_idx, values, threads, rhs);
  if (status != WACO_OK) return status;
  int64_t* wide_row_ptr = waco_widened(row_ptr, rows + 1, threads);
  int64_t* wide_col_idx = waco_widened(col_idx, row_ptr[rows], threads);
  status = WACO_OUT_OF_MEMORY;
  if (wide_row_ptr && wide_col_idx)
    status = waco_pack_csr(rows, cols, wide_row_ptr, wide_col_idx, values, threads, handle);
  free(wide_row_ptr);
  free(wide_col_idx);
  return status;
}

extern "C" int waco_run(waco_handle* handle, const void* b, const void* c, void* out) {
  if (!handle) return WACO_BAD_ARGUMENT;
  const struct waco_plan* plan = &waco_tuned_plan;
  /* Operands of an empty matrix, and an empty result, may be null. */
  const int reads_c = WACO_PLAN_OP == WACO_SDDMM || WACO_PLAN_OP == WACO_MTTKRP;
  const int reads = handle->a.num_stored > 0,
            writes = WACO_PLAN_OP == WACO_SDDMM ? reads : handle->a.dim[0] > 0;
  if ((reads && (!b || (reads_c && !c))) || (writes && !out)) return WACO_BAD_ARGUMENT;
  if (writes && (out == b || (reads_c && out == c))) return WACO_BAD_ARGUMENT;
  if (!writes) return WACO_OK;
  if (!reads) { /* a kernel may load a row of an operand before it finds that nothing meets it */
    memset(out, 0, (size_t)(handle->a.dim[0] * WACO_PLAN_RHS) * sizeof(waco_value));
    return WACO_OK;
  }
  struct waco_call call;
  memset(&call, 0, sizeof call);
  call.dense[0] = b;
  call.dense[1] = c;
  call.out = out;
  call.rhs = WACO_PLAN_RHS;
  call.threads = handle->threads;
  call.chunk = plan->chunk;
  call.prefetch = plan->prefetch;
  call.partition = handle->partition;
  call.scratch = handle->scratch;
  return plan->kernel(&handle->a, &call);
}

extern "C" int64_t waco_num_stored(const waco_handle* handle) {
  return handle ? handle->a.num_stored : 0;
}

extern "C" int waco_update_values(waco_handle* handle, const void* values) {
  if (!handle || (!values && handle->a.num_nonzeros > 0)) return WACO_BAD_ARGUMENT;
  waco_store_values(&handle->a, values, handle->threads);
  return WACO_OK;
}

extern "C" int waco_unpack_values(const waco_handle* handle, const void* stored, void* values) {
  if (!handle) return WACO_BAD_ARGUMENT;
  if (handle->a.num_nonzeros > 0 && (!stored || !values || stored == values)) return WACO_BAD_ARGUMENT;
  waco_take_values(&handle->a, stored, values, handle->threads);
  return WACO_OK;
}

extern "C" void waco_destroy(waco_handle* handle) {
  waco_release(handle);
}

#endif
