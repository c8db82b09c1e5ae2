// The C interface of an emitted kernel: declarations only, readable from C and C++.
#if !defined(WACO_INTERFACE_HPP) || defined(WACO_DECLARATIONS_ONLY)
#define WACO_INTERFACE_HPP

#include <stdint.h>

/* Two kernels in one program: compile each with its own -DWACO_PREFIX=name_ and call name_create_csr and so
   on. A file that uses several includes each for its declarations, with WACO_PREFIX set to the name_.

   Threads are OpenMP's. A library of a kernel that may be unloaded is linked with -Wl,-z,nodelete: it would
   take their code with it. A process that has run one must not fork and use it in the child. Where threads
   can't be made (ulimit -u, -v), OpenMP ends the process. */
#ifdef WACO_PREFIX
#define WACO_JOIN2(a, b) a##b
#define WACO_JOIN(a, b) WACO_JOIN2(a, b)
#define waco_abi_version WACO_JOIN(WACO_PREFIX, abi_version)
#define waco_plan_text WACO_JOIN(WACO_PREFIX, plan_text)
#define waco_create_csr WACO_JOIN(WACO_PREFIX, create_csr)
#define waco_create_csr32 WACO_JOIN(WACO_PREFIX, create_csr32)
#define waco_create_coo WACO_JOIN(WACO_PREFIX, create_coo)
#define waco_run WACO_JOIN(WACO_PREFIX, run)
#define waco_num_stored WACO_JOIN(WACO_PREFIX, num_stored)
#define waco_update_values WACO_JOIN(WACO_PREFIX, update_values)
#define waco_unpack_values WACO_JOIN(WACO_PREFIX, unpack_values)
#define waco_destroy WACO_JOIN(WACO_PREFIX, destroy)
#define waco_handle WACO_JOIN(WACO_PREFIX, handle)
#define waco_kernel WACO_JOIN(WACO_PREFIX, kernel)
#endif

/* What the functions return. Unfit is an operand that the compiled kernel is not for: indices or positions
   need another width, a split no longer divides a dimension, the dense index has another size, rows are too
   many to be sorted or clustered, or the format would store mostly zeros (WACO_MAX_FILL). Line "fits" of the
   comment at the top has the limits. Emit a kernel that fits. */
#define WACO_OK 0
#define WACO_BAD_ARGUMENT 1
#define WACO_OUT_OF_MEMORY 2
#define WACO_UNFIT 3
/* The version of this interface, which waco_abi_version() of a compiled kernel returns. */
#define WACO_ABI_VERSION 5

/* A library exports these functions whatever -fvisibility says; -DWACO_API= leaves that to the compiler. */
#ifndef WACO_API
#define WACO_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* A packed operand with the kernel's working memory. Where the kernel needs some, as its header comment says,
   one handle serves one call of waco_run at a time; otherwise as many as you like. */
typedef struct waco_handle waco_handle;

/* WACO_ABI_VERSION when the kernel was compiled. */
WACO_API int waco_abi_version(void);

/* The plan that the kernel was emitted for, as in its header comment. What stands before the first " | " is
   the op, the type of values and, but for spmv, the size of the dense index: "spmm f32 J=256 | A: ...". */
WACO_API const char* waco_plan_text(void);

/* Packs a matrix given as CSR: row_ptr [rows + 1], col_idx and values [row_ptr[rows]], 0-based; columns in
   any order within a row, none twice. The arrays may be freed afterwards. values, B, C and out are float or
   double, as the kernel's header comment says. threads: 0 = as tuned. rhs: size of the dense index, which
   must be the plan's; 0 stands for that. *handle is null where another status than 0 is returned. */
WACO_API int waco_create_csr(int64_t rows, int64_t cols, const int64_t* row_ptr, const int64_t* col_idx,
                             const void* values, int32_t threads, int64_t rhs, waco_handle** handle);

/* The same with 32-bit indices, which are widened while it packs. */
WACO_API int waco_create_csr32(int64_t rows, int64_t cols, const int32_t* row_ptr, const int32_t* col_idx,
                               const void* values, int32_t threads, int64_t rhs, waco_handle** handle);

/* The same from coordinates: coords[mode] is [nnz], 0-based, in any order, none twice; dims has 2 or 3 sizes.
 */
WACO_API int waco_create_coo(const int64_t* dims, int64_t nnz, const int64_t* const* coords,
                             const void* values, int32_t threads, int64_t rhs, waco_handle** handle);

/* Computes into out, which is overwritten. Row-major, contiguous, sddmm's C column-major:
     spmv    out[rows]      = A B           B [cols]
     spmm    out[rows, J]   = A B           B [cols, J]
     sddmm   out[stored]    = A * (B C)     B [rows, K], C [cols, K] (that is K x cols, column-major);
                                            `stored` is waco_num_stored, the order that of the packed values;
                                            padding is no part of the result: anything may stand there
     mttkrp  out[dim0, J]   = A (B (x) C)   B [dim1, J], C [dim2, J]
   C is not read by spmv and spmm and may be null. out overlaps neither B nor C. They may begin at any
   multiple of the size of a value; in tuning all began at multiples of 64 bytes. A format that stores zeros
   beside the nonzeros, as the header comment says, multiplies them by elements of B and C that no nonzero
   meets: what is infinite or not a number there gets into the result. */
WACO_API int waco_run(waco_handle* handle, const void* b, const void* c, void* out);

/* Values stored, padding included: the length of sddmm's result. */
WACO_API int64_t waco_num_stored(const waco_handle* handle);

/* Replaces the values without packing the pattern again; same order as at creation. */
WACO_API int waco_update_values(waco_handle* handle, const void* values);

/* Sddmm's result (or any array in stored order) into the order of the values at creation. The two do
   not overlap. */
WACO_API int waco_unpack_values(const waco_handle* handle, const void* stored, void* values);

/* Frees the handle; null is allowed. */
WACO_API void waco_destroy(waco_handle* handle);

#ifdef __cplusplus
}
#endif

#if defined(WACO_PREFIX) && defined(WACO_DECLARATIONS_ONLY)
#undef waco_abi_version
#undef waco_plan_text
#undef waco_create_csr
#undef waco_create_csr32
#undef waco_create_coo
#undef waco_run
#undef waco_num_stored
#undef waco_update_values
#undef waco_unpack_values
#undef waco_destroy
#undef waco_handle
#undef waco_kernel
#endif

#endif
